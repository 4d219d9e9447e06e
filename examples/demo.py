"""The library in one page: solve a problem with hard constraints, and read the certificate."""

import numpy as np

from equipoise import FunctionProblem, certify, near_stationarity, sets, solve
from equipoise.problems import REFERENCES
from equipoise.solvers import Constant, SwitchingSubgradient


def main() -> None:
    """Solve a non-convex problem, an infeasible one, and examine a point from elsewhere."""
    print(
        "1. min x1  s.t.  x1^2 + x2^2 >= 1,  x in [0, 3] x [-0.5, 0.5]   (non-convex constraint)\n"
    )
    problem = FunctionProblem(
        objective=lambda x: (x[0], np.array([1.0, 0.0])),
        constraints=[lambda x: (1 - x @ x, -2 * x)],
        names=["outside the disc"],
        domain=sets.Box([0.0, -0.5], [3.0, 0.5]),
    )
    solver = SwitchingSubgradient(step_size=Constant(1e-3), slack=Constant(1e-3))
    result = solve(problem, solver, [2.0, 0.2], max_steps=20_000, tol=5e-3)
    print(result, f"\n              x: {result.x.round(4)}   exact: [0.866, 0.5]\n")
    print(result.certificate)
    near = near_stationarity(REFERENCES["active"]().problem, result.x, rho_hat=4.0)
    print(f"\nnear-stationarity {near.distance:.2e} +- {near.error:.0e}")

    print("\n2. x <= -1 and x >= 1: infeasible problems get a verdict\n")
    impossible = FunctionProblem(
        objective=lambda x: (x[0] ** 2, 2 * x),
        constraints=[
            lambda x: (x[0] + 1, np.array([1.0])),
            lambda x: (1 - x[0], np.array([-1.0])),
        ],
        names=["at most -1", "at least 1"],
        domain=sets.Box(-3, 3, dim=1),
    )
    print(solve(impossible, "feasibility", [2.0], max_steps=3000).message)

    print("\n3. a point from anywhere can be examined\n")
    print(certify(REFERENCES["convex"]().problem, np.array([1.0, 0.001])))


if __name__ == "__main__":
    main()
