"""100 random small problems: smooth and not, convex and not, feasible and not.

No method ever reports success with a violation above its tolerance; smooth methods agree with
SLSQP from the same start, or end at another certified KKT point.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Facts, FunctionProblem, Status, certify, sets, solve
from equipoise.problems import QuadraticProblem
from equipoise.solvers import SOLVERS, UnsuitableSolverError, ipp_conex, ipp_ssg

KINDS = ("convex", "nonconvex", "kinks", "infeasible")


def quadratic(rng, kind):
    d, m = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    A = rng.normal(size=(m + 1, d, d))
    bent = {"nonconvex": slice(None), "mixed": slice(1)}.get(kind, slice(0))  # which are not convex
    P = A @ A.transpose(0, 2, 1)
    P[bent] = (A[bent] + A[bent].transpose(0, 2, 1)) / 2
    q = rng.normal(size=(m + 1, d))
    c = np.concatenate(([0.0], -rng.uniform(0.2, 1.0, size=m)))
    if kind == "infeasible":  # the last constraint and its opposite exclude each other
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
    kind = KINDS[i % 4] if i < 100 else "mixed"
    return kind, kinks(rng) if kind == "kinks" else quadratic(rng, kind)


def start(i, dim):
    return np.random.default_rng(i).uniform(-1.4, 1.4, size=dim)


# method: (tol, steps, problems, the least share of successes on the kinds it claims); a method that is
# not listed claims nothing here, but must not claim a success that is none
NOTHING = (1e-1, 400, 100, {})
CLAIMED = {
    "switching": (1e-1, 400, 100, {"convex": 0.7, "nonconvex": 0.4}),
    "feasibility": (1e-2, 400, 100, {"convex": 1.0, "nonconvex": 1.0, "kinks": 1.0}),
    "iqrc": (1e-1, 4000, 100, {"convex": 0.9, "nonconvex": 0.2, "kinks": 1.0}),
    "ipp_ssg": (1e-1, 5000, 100, {"convex": 0.9, "nonconvex": 0.2, "kinks": 1.0}),
    "ipp_conex": (1e-1, 4000, 100, {"convex": 0.5, "nonconvex": 0.3, "kinks": 1.0}),
    "strong_switching": (1e-1, 400, 100, {"convex": 0.7}),
    "yu_neely_wei": (1e-1, 400, 100, {"convex": 0.5}),
    "conex": (1e-1, 5000, 100, {"convex": 0.5, "kinks": 1.0}),
    "augmented_lagrangian": (1e-2, 600, 100, {"convex": 1.0, "nonconvex": 0.9}),
    "augmented_newton": (1e-2, 100, 100, {"convex": 1.0, "nonconvex": 0.9}),
    "smoothing": (1e-2, 100, 100, {"convex": 1.0, "nonconvex": 0.9}),
    "constrained_bundle": (1e-2, 400, 100, {"convex": 1.0, "kinks": 1.0}),
    "level_set": (1e-2, 400, 100, {"convex": 0.9}),
    "exact_penalty": (1e-2, 40, 100, {"convex": 1.0, "nonconvex": 1.0}),
    "sqp": (1e-2, 40, 100, {"convex": 1.0, "nonconvex": 1.0}),
    "plada": (1e-2, 600, 100, {"convex": 0.9, "nonconvex": 0.9}),
    "imela": (1e-2, 400, 100, {"convex": 0.9}),
    "ippp": (1e-2, 400, 100, {"convex": 0.9}),
    "sp_lm": (1e-2, 400, 100, {"convex": 0.9}),
    "proxy_lagrangian": (1e-1, 300, 100, {"convex": 0.6}),
}
# shorter stages than by default, so that the steps are enough for some of them
STAGES = {"ipp_ssg": ipp_ssg(steps=500), "ipp_conex": ipp_conex(steps=300)}


@pytest.mark.parametrize("method", [name for name in SOLVERS if name != "apg"])
def test_success_is_never_claimed_with_a_violation(method):
    tol, steps, problems, shares = CLAIMED.get(method, NOTHING)
    ran, solved = Counter(), Counter()
    for i in range(problems):
        kind, instance = problem(i)
        try:
            result = solve(
                instance,
                STAGES.get(method, method),
                start(i, instance.dim),
                max_steps=steps,
                tol=tol,
            )
        except UnsuitableSolverError:
            continue
        ran[kind] += 1
        solved[kind] += result.success
        measured = instance.at(result.x).violation
        assert result.maxcv == pytest.approx(measured)
        if result.success:
            assert measured <= tol, (i, kind)
            assert kind != "infeasible", i
        assert isinstance(result.status, Status)
        assert np.isfinite(result.x).all()
    for kind, share in shares.items():
        assert ran[kind] == problems // 4
        assert solved[kind] >= share * ran[kind], f"{kind}: {solved[kind]} of {ran[kind]}"


SMOOTH = {
    # method: (kinds it claims, share of problems it must certify at 1e-5, steps)
    "augmented_newton": (("convex", "nonconvex"), 1.0, 500),
    "augmented_lagrangian": (("convex", "nonconvex", "mixed"), 1.0, 5_000),
    "level_set": (("convex",), 1.0, 5_000),
    "exact_penalty": (("convex", "nonconvex", "mixed"), 1.0, 100),
    "sqp": (("convex", "nonconvex", "mixed"), 1.0, 60),
    "plada": (("convex", "nonconvex", "mixed"), 1.0, 5_000),
    "imela": (("convex", "mixed"), 1.0, 10_000),
    "ippp": (("convex", "mixed"), 1.0, 20_000),
    "sp_lm": (("convex", "mixed"), 1.0, 10_000),
}


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # SLSQP before SciPy 1.16
@pytest.mark.parametrize("method", SMOOTH)
def test_smooth_methods_against_slsqp(method):
    kinds, share, steps = SMOOTH[method]
    certified, same, count = 0, 0, 0
    for i in range(125):  # 25 more: a non-convex objective with convex constraints
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
            assert kind != "convex" or not theirs.success, (i, theirs.fun, result.fun)
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
