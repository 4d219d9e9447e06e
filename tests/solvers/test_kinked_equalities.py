"""Convex kinks under equations, each written as two inequalities: `auto` against other solvers."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise import Facts, FunctionProblem, Status, sets, solve

FACTS = Facts(smooth=False, convex=True, convex_constraints=True)


def pair(a, b):
    """``a'x = b`` as two inequalities."""
    return [lambda x: (a @ x - b, a), lambda x: (b - a @ x, -a)]


def check(result, problem, best, tol=1e-6):
    """The judge looks at values alone."""
    assert result.success, result
    assert problem.at(result.x).violation <= tol
    assert problem.domain.contains(result.x, atol=1e-9)
    assert problem.at(result.x).objective == pytest.approx(best, rel=1e-5, abs=1e-5)
    if result.near is not None:
        assert result.near.measured(problem).residual <= tol


def test_two_absolute_values_on_a_line():
    """The multipliers were once 2.7e16 each, and the objective 1.188 a success."""
    c = np.array([0.61, 0.55])
    problem = FunctionProblem(
        lambda x: (np.abs(x + c).sum(), np.sign(x + c)),
        pair(np.array([-0.6, 0.95]), 0.1),
        domain=sets.Box(-2, 2, dim=2),
        facts=FACTS,
    )
    result = solve(problem, tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(0.27, abs=1e-9)
    assert result.near.measured(problem).residual <= 1e-6
    assert result.multipliers.max() < 10
    assert solve(problem, tol=1e-9).success


@pytest.mark.parametrize("seed", range(12))
def test_absolute_values_and_maxima_against_linear_programs(seed):
    """min |Cx - c|_1 + max(Dx), some pairs in units of 1e+-6 or twice, a kinked inequality, a box or none."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([2, 5, 12, 30]))
    q, n, k = int(rng.integers(1, max(2, d // 2))), 2 * d, 3
    C, c, D = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(k, d))
    z = rng.uniform(-1, 1, size=d)
    A, G = rng.normal(size=(q, d)), rng.normal(size=(2, d))
    h = G @ z + rng.uniform(0.05, 0.5, size=2)

    def objective(x):
        r, j = C @ x - c, int(np.argmax(D @ x))
        return np.abs(r).sum() + D[j] @ x, C.T @ np.sign(r) + D[j]

    def largest(x):
        r = G @ x - h
        return r.max(), G[r.argmax()]

    units = 10.0 ** rng.choice([-6, 0, 0, 6], size=q)
    rows = [f for a, unit in zip(A, units) for f in pair(unit * a, unit * (a @ z))]
    rows += rows[:2] if seed % 3 == 0 else []
    domain = sets.WholeSpace() if seed % 2 else sets.Box(-2, 2, dim=d)
    problem = FunctionProblem(objective, [*rows, largest], dim=d, domain=domain, facts=FACTS)
    cost = np.concatenate((np.zeros(d), np.ones(n + 1)))
    one = np.ones((k, 1))
    above = np.block(
        [
            [C, -np.eye(n), np.zeros((n, 1))],
            [-C, -np.eye(n), np.zeros((n, 1))],
            [D, np.zeros((k, n)), -one],
            [G, np.zeros((2, n + 1))],
        ]
    )
    limits = np.concatenate((c, -c, np.zeros(k), h))
    edge = (None, None) if seed % 2 else (-2, 2)
    bounds = [edge] * d + [(None, None)] * (n + 1)
    answer = linprog(cost, above, limits, np.hstack((A, np.zeros((q, n + 1)))), A @ z, bounds)
    check(solve(problem, tol=1e-6), problem, answer.fun)


SETS = {
    "simplex": (lambda d: sets.Simplex(1.0), lambda x: [x >= 0, cp.sum(x) == 1]),
    "ball": (lambda d: sets.L2Ball(2.0), lambda x: [cp.norm(x) <= 2]),
    "box": (lambda d: sets.Box(-1, 1, dim=d), lambda x: [cp.abs(x) <= 1]),
    "whole": (lambda d: sets.WholeSpace(), lambda x: []),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_norms_and_largest_quadratics_against_cvxpy(name, seed):
    """min |x - c|_2 + max_i |x - c_i|^2 + 3 |x|_1  s.t.  a'x = a'z, |x - z|_2 <= 1."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([3, 6, 15]))
    c, centers = rng.normal(size=d), rng.normal(size=(3, d))
    make, inside = SETS[name]
    domain = make(d)
    z, a = domain.project(0.3 * rng.normal(size=d)), rng.normal(size=d)

    def objective(x):
        distances = ((x - centers) ** 2).sum(axis=1)
        i, length = int(np.argmax(distances)), np.linalg.norm(x - c)
        value = length + distances[i] + 3 * np.abs(x).sum()
        return value, (x - c) / max(length, 1e-300) + 2 * (x - centers[i]) + 3 * np.sign(x)

    def near(x):
        length = np.linalg.norm(x - z)
        return length - 1, (x - z) / max(length, 1e-300)

    rows = [*pair(a, a @ z), near]
    problem = FunctionProblem(objective, rows, dim=d, domain=domain, facts=FACTS)
    x = cp.Variable(d)
    quadratics = cp.max(cp.hstack([cp.sum_squares(x - center) for center in centers]))
    goal = cp.norm(x - c) + quadratics + 3 * cp.norm1(x)
    limits = [a @ x == a @ z, cp.norm(x - z) <= 1, *inside(x)]
    best = cp.Problem(cp.Minimize(goal), limits).solve(solver=cp.CLARABEL)
    result = solve(problem, tol=1e-5)
    assert result.maxcv <= 1e-5
    assert result.fun == pytest.approx(best, rel=1e-5)
    if result.success:
        check(result, problem, best, 1e-5)


@pytest.mark.parametrize("gap", [1e-2, 1.0])
def test_equations_that_exclude_each_other_are_proved_to(gap):
    a = np.array([1.0, -2.0])
    rows = [*pair(a, 0.0), *pair(2 * a, gap)]
    problem = FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)), rows, domain=sets.Box(-2, 2, dim=2), facts=FACTS
    )
    result = solve(problem, tol=1e-6)
    assert result.status is Status.INFEASIBLE
    assert result.proof.check(problem)
    assert not result.success
