"""Near-stationarity: the proximal point, with an error bound that is kept."""

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Facts, FunctionProblem, near_stationarity, sets
from equipoise.certificate import near_within
from equipoise.certificate._cutting_planes import minimise_with_kinks
from equipoise.problems import REFERENCES, ProximalProblem, QuadraticProblem


def slsqp(problem, x, rho_hat):
    sub = ProximalProblem(problem, x, rho_hat)
    answer = minimize(
        lambda y: sub.at(y).values[0],
        x,
        jac=lambda y: sub.at(y).gradient(0),
        method="SLSQP",
        bounds=list(zip(problem.domain.lower, problem.domain.upper)),
        constraints={
            "type": "ineq",
            "fun": lambda y: -sub.at(y).values[1:],
            "jac": lambda y: (
                -np.array([sub.at(y).gradient(i + 1) for i in range(problem.n_constraints)])
            ),
        },
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return answer.x


def test_subproblem_with_a_known_solution():
    near = near_stationarity(REFERENCES["active"]().problem, np.array([1.0, 0.05]), 4.0)
    np.testing.assert_allclose(near.witness, [0.998304, 0.059932], atol=1e-6)
    assert near.multipliers[0] == pytest.approx(0.49577, abs=1e-5)
    assert near.error <= 1e-6
    assert near.solvable


def test_interior_rule_of_the_simple_example():
    """x_hat = (6 x1 / 16, 6 x2 / 5) while inside; the exact prox path from (0, 0.5)."""
    problem = REFERENCES["simple"]().problem
    near = near_stationarity(problem, np.array([0.3, -0.2]), 6.0)
    np.testing.assert_allclose(near.witness, [0.1125, -0.24], atol=1e-6)
    x = np.array([0.0, 0.5])
    for expected in (0.6, 0.72, 0.864, 1.0, 1.0):
        x = near_stationarity(problem, x, 6.0).witness
        np.testing.assert_allclose(x, [0.0, expected], atol=1e-5)
    assert near_stationarity(problem, np.array([0.0, 1.0]), 6.0).bound <= 1e-6


def test_the_error_bound_holds_on_random_problems():
    rng = np.random.default_rng(5)
    for trial in range(25):
        d, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        P = rng.normal(size=(m + 1, d, d))
        problem = QuadraticProblem(
            P=(P + P.transpose(0, 2, 1)) / 2,
            q=rng.normal(size=(m + 1, d)),
            c=np.concatenate(([0.0], -rng.uniform(0.1, 0.5, size=m))),
            domain=sets.Box(-1.0, 1.0, dim=d),
        )
        rho_hat = 2 * problem.facts.weak_convexity + 1
        x = np.zeros(d)
        near = near_stationarity(problem, x, rho_hat)
        assert near.error <= 1e-5
        exact = slsqp(problem, x, rho_hat)
        assert np.linalg.norm(exact - near.witness) <= near.error + 1e-6
        if trial >= 6:
            continue
        rho = problem.facts.weak_convexity
        cut = minimise_with_kinks(ProximalProblem(problem, x, rho_hat), rho, 1e-4)
        assert np.linalg.norm(exact - cut[0]) <= cut[2] + 1e-6


def test_works_at_kinks_where_subgradients_do_not():
    """min |x1| + x2^2 s.t. |x2 - 1| <= 0.5: the solution (0, 0.5) sits on two kinks."""
    problem = FunctionProblem(
        lambda x: (abs(x[0]) + x[1] ** 2, np.array([np.sign(x[0]), 2 * x[1]])),
        [lambda x: (abs(x[1] - 1) - 0.5, np.array([0.0, np.sign(x[1] - 1)]))],
        domain=sets.Box(-2.0, 2.0, dim=2),
        facts=Facts(smooth=False, weak_convexity=0.0, convex=True, convex_constraints=True),
    )
    at_solution = near_stationarity(problem, np.array([1e-9, 0.5]), 1.0)
    assert at_solution.bound <= 1e-4
    away = near_stationarity(problem, np.array([0.4, 0.8]), 1.0)
    assert away.distance - away.error > 0.1


def test_a_point_too_far_from_feasible_has_no_witness():
    problem = QuadraticProblem(
        P=[np.zeros((1, 1)), np.zeros((1, 1))],
        q=[[0.0], [-1.0]],
        c=[0.0, 2.0],  # x >= 2
        domain=sets.Box(-3.0, 3.0, dim=1),
    )
    assert not near_stationarity(problem, np.array([-3.0]), 10.0).solvable
    assert near_stationarity(problem, np.array([2.5]), 10.0).solvable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho_hat": 1.0}, "`rho_hat` must exceed the weak-convexity constant 2, got 1"),
        ({"rho_hat": -1.0}, "`rho_hat` must be positive"),
        ({"rho_hat": 4.0, "rho": -1.0}, "`rho` must be non-negative"),
        ({"rho_hat": 4.0, "tol": 0.0}, "`tol` must be positive"),
        ({"rho_hat": 4.0, "x": [1.0]}, r"`x` must have shape \(2,\)"),
    ],
)
def test_bad_input(options, message):
    arguments = {"x": np.array([1.0, 0.05])} | options
    with pytest.raises(ValueError, match=message):
        near_stationarity(REFERENCES["active"]().problem, **arguments)


def test_a_step_that_rounding_errors_hide_proves_nothing():
    """At 1e300 the proximal point of a line is the point itself, but for rounding."""
    facts = Facts(smooth=False, convex=True, weak_convexity=0.0)
    line = FunctionProblem(lambda x: (-x[0], np.array([-1.0])), dim=1, facts=facts)
    assert near_within(line, np.array([1e300]), 1e-6, 20) is None
    flat = FunctionProblem(lambda x: (0.0, np.zeros(1)), dim=1, facts=facts)
    assert near_within(flat, np.array([1.0]), 1e-6, 20) is not None
