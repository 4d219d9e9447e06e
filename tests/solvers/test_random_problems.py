"""100 random small problems: smooth and not, convex and not, feasible and not.

No method ever reports success with a violation above its tolerance; smooth methods agree with
SLSQP from the same start, or end at another certified KKT point.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve
from equipoise.problems import QuadraticProblem
from equipoise.solvers import SOLVERS, UnsuitableSolverError

KINDS = ("convex", "nonconvex", "kinks", "infeasible")
BUDGET = {"exact_penalty": 60, "augmented_newton": 300, "augmented_lagrangian": 1500}


def quadratic(rng, convex, feasible=True):
    d, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    P = rng.normal(size=(m + 1, d, d))
    P = P @ P.transpose(0, 2, 1) if convex else (P + P.transpose(0, 2, 1)) / 2
    q = rng.normal(size=(m + 1, d))
    c = np.concatenate(([0.0], -rng.uniform(0.2, 1.0, size=m)))
    if not feasible:  # the last constraint and its opposite exclude each other
        P = np.concatenate((P, -P[-1:]))
        q = np.concatenate((q, -q[-1:]))
        c = np.concatenate((c, -c[-1:] + 0.5))
    return QuadraticProblem(P, q, c, sets.Box(-1.5, 1.5, dim=d))


def kinks(rng):
    """min |A x - b|_1 + |x|^2/2  s.t.  |a'x| <= r: convex, a kink at most solutions."""
    d = int(rng.integers(2, 6))
    A, b, a = rng.normal(size=(d + 1, d)), rng.normal(size=d + 1), rng.normal(size=d)

    def objective(x):
        residual = A @ x - b
        return np.abs(residual).sum() + 0.5 * x @ x, A.T @ np.sign(residual) + x

    def slab(x):
        return abs(a @ x) - 0.1, np.sign(a @ x) * a

    facts = Facts(smooth=False, convex=True, convex_constraints=True, weak_convexity=0.0)
    return FunctionProblem(objective, [slab], domain=sets.Box(-1.5, 1.5, dim=d), facts=facts)


def problem(i):
    rng = np.random.default_rng(1000 + i)
    kind = KINDS[i % 4]
    if kind == "kinks":
        return kind, kinks(rng)
    return kind, quadratic(rng, convex=kind != "nonconvex", feasible=kind != "infeasible")


def start(i, dim):
    return np.random.default_rng(i).uniform(-1.4, 1.4, size=dim)


@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "apg"])
def test_success_is_never_claimed_with_a_violation(method):
    ran = 0
    for i in range(100):
        kind, instance = problem(i)
        tol = 1e-2
        try:
            result = solve(
                instance,
                method,
                start(i, instance.dim),
                max_steps=BUDGET.get(method, 400),
                tol=tol,
            )
        except UnsuitableSolverError:
            continue
        ran += 1
        measured = instance.at(result.x).violation
        assert result.maxcv == pytest.approx(measured)
        if result.success:
            assert measured <= tol, (i, kind)
            assert kind != "infeasible", i
        assert isinstance(result.status, Status)
        assert np.isfinite(result.x).all()
    assert ran >= 25


SMOOTH = {
    # method: (kinds it claims, share of problems it must certify at 1e-5, steps)
    "augmented_newton": (("convex", "nonconvex"), 1.0, 500),
    "augmented_lagrangian": (("convex", "nonconvex"), 0.95, 5_000),
    "level_set": (("convex",), 0.95, 5_000),
    "imela": (("convex",), 0.9, 10_000),
    "sp_lm": (("convex",), 0.8, 10_000),
}


@pytest.mark.parametrize("method", SMOOTH)
def test_smooth_methods_against_slsqp(method):
    kinds, share, steps = SMOOTH[method]
    certified, same, count = 0, 0, 0
    for i in range(100):
        kind, instance = problem(i)
        if kind not in kinds:
            continue
        count += 1
        x0 = start(i, instance.dim)
        result = solve(instance, method, x0, max_steps=steps, tol=1e-5)
        if not result.success:
            assert result.status is not Status.CONVERGED
            continue
        certified += 1
        theirs = slsqp(instance, x0)
        agrees = theirs.success and abs(theirs.fun - result.fun) <= 1e-4 * max(1, abs(theirs.fun))
        same += agrees
        if not agrees:  # another KKT point, or SLSQP failed
            assert kind == "nonconvex" or not theirs.success, (i, theirs.fun, result.fun)
            assert certify(instance, result.x, result.multipliers).residual <= 1e-5
    assert certified >= share * count, f"{certified} of {count}"
    assert same >= 0.5 * count


def slsqp(instance, x0):
    m = instance.n_constraints
    return minimize(
        lambda x: instance.at(x).values[0],
        x0,
        jac=lambda x: instance.at(x).gradient(0),
        method="SLSQP",
        bounds=[(-1.5, 1.5)] * instance.dim,
        constraints={
            "type": "ineq",
            "fun": lambda x: -instance.at(x).values[1:],
            "jac": lambda x: -np.array([instance.at(x).gradient(i + 1) for i in range(m)]),
        },
        options={"ftol": 1e-12, "maxiter": 500},
    )
