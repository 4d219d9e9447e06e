"""The augmented Lagrangian method, as an oracle and by itself."""

import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from equipoise import solve
from equipoise._problem import Facts
from equipoise._status import Status
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._merit import AugmentedLagrangianMerit as Merit
from equipoise.problems._merit import MeritProblem
from equipoise.problems._proximal import ProximalProblem
from equipoise.sets._box import Box
from equipoise.sets._l2_ball import L2Ball
from equipoise.sets._whole_space import WholeSpace
from equipoise.solvers import (
    AcceleratedProjectedGradient,
    AugmentedLagrangian,
    Backtracking,
    UnsuitableSolverError,
)

PAPER = AugmentedLagrangian(penalty=10.0, growth=3.0, progress=0.0)


def stages(problem, solver, x0, most=100_000):
    """The outer states after every loop, until the verdict."""
    state, outers = solver.init(problem, x0), []
    for t in range(most):
        if solver.verdict(state) is not None:
            break
        before, state = state.stage, solver.step(problem, state, t, None)
        if state.stage > before:
            outers.append(state.outer)
    return outers, solver.verdict(state)


def starts(problem, count):
    rng, found = np.random.default_rng(5), []
    while len(found) < count:
        x = rng.uniform(-3, 3, size=problem.dim)
        if problem.domain.contains(x):
            found.append(x)
    return found


def strongly_convex(seed, dim=6, m=3, domain=None):
    """Random quadratics with eigenvalues in [1, 6], strictly feasible at 0, and the solution."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m + 1, dim, dim))
    P = np.array([np.eye(dim) + 5 * a @ a.T / np.linalg.norm(a @ a.T, 2) for a in A])
    q = 3 * rng.normal(size=(m + 1, dim))
    c = np.concatenate(([0.0], -rng.uniform(0.1, 1.0, size=m)))
    domain = L2Ball(2.0) if domain is None else domain
    y = cp.Variable(dim)
    f = [0.5 * cp.quad_form(y, cp.psd_wrap(P[i])) + q[i] @ y + c[i] for i in range(m + 1)]
    extra = [cp.norm(y) <= 2.0] if isinstance(domain, L2Ball) else []
    model = cp.Problem(cp.Minimize(f[0]), [f[i] <= 0 for i in range(1, m + 1)] + extra)
    model.solve(solver=cp.CLARABEL)
    return QuadraticProblem(P, q, c, domain), model.value


# -- acceptance ---------------------------------------------------------------------------------


def test_oracle_on_a_proximal_subproblem():
    """Multipliers 0.4426, 0.4937, 0.49574, 0.495767; F gap 5e-8 and G 1e-7 after 4 loops."""
    base = REFERENCES["active"]().problem
    problem = ProximalProblem(base, np.array([1.0, 0.05]), 4.0)
    oracle = PAPER.tuned(mu=2.0, accuracy=1e-6, multipliers=None)
    outers, verdict = stages(problem, oracle, np.array([1.0, 0.05]))
    assert verdict is Status.CONVERGED
    lam = [float(outer.lam[0]) for outer in outers]
    np.testing.assert_allclose(lam, [0.4426, 0.4937, 0.49574, 0.495767], atol=5e-5)
    assert lam[-1] == pytest.approx(0.495767, abs=1e-6)
    assert [outer.b for outer in outers] == [30.0, 90.0, 270.0, 810.0]
    point = problem.at(outers[-1].x)
    exact = stages(problem, replace(oracle, accuracy=1e-13), np.array([1.0, 0.05]))[0][-1]
    least = problem.at(exact.x).objective
    np.testing.assert_allclose(exact.x, [0.998304, 0.059932], atol=1e-6)
    assert exact.lam[0] == pytest.approx(0.49577, abs=1e-5)
    assert least == pytest.approx(0.998507, abs=1e-6)
    assert abs(point.objective - least) == pytest.approx(5e-8, abs=1e-8)
    assert point.excess == pytest.approx(1e-7, abs=1e-8)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("progress", [0.0, 0.25])
def test_both_oracle_inequalities(accuracy, progress):
    """Against the optimum of an interior-point solver; also on the whole space."""
    for seed in range(6):
        domain = L2Ball(2.0) if seed % 2 else WholeSpace()
        problem, least = strongly_convex(seed, domain=domain)
        solver = replace(PAPER, progress=progress)
        oracle = solver.tuned(mu=1.0, accuracy=accuracy, multipliers=None)
        outers, verdict = stages(problem, oracle, np.zeros(6))
        assert verdict is Status.CONVERGED
        point = problem.at(outers[-1].x)
        assert point.objective - least <= accuracy + 1e-8
        assert point.excess <= accuracy
        assert domain.contains(outers[-1].x, atol=1e-12)


def test_the_gap_is_bounded_after_every_loop():
    """F_0(y) - F_0* <= sum |lam_i F_i| + min(D dist, dist^2 / (2 mu)), lam before the update."""
    informative = 0
    for seed in range(6):
        problem, least = strongly_convex(seed)
        oracle = PAPER.tuned(mu=1.0, accuracy=1e-8, multipliers=None)
        for outer in stages(problem, oracle, np.zeros(6))[0]:
            gap = problem.at(outer.x).objective - least
            assert gap <= outer.gap + 1e-8
            informative += outer.gap < 10
    assert informative > 10


def test_multipliers_of_the_last_subproblem_save_loops():
    problem, _ = strongly_convex(1)
    cold = PAPER.tuned(mu=1.0, accuracy=1e-6, multipliers=None)
    outers, _ = stages(problem, cold, np.zeros(6))
    warm = PAPER.tuned(mu=1.0, accuracy=1e-6, multipliers=outers[-1].lam)
    again, _ = stages(problem, warm, outers[-1].x)
    assert len(again) == 1 < len(outers)


# -- naive twin ---------------------------------------------------------------------------------


def test_twin_of_the_outer_loop():
    """The box, written out, around the inner method: all pairs of the loops agree."""
    problem, _ = strongly_convex(2)
    oracle = replace(PAPER, loops=5).tuned(mu=1.0, accuracy=1e-12, multipliers=None)
    D = problem.domain.diameter
    x, lam, b, n, naive = np.zeros(6), np.zeros(3), 10.0, None, []
    for _ in range(5):
        inner = AcceleratedProjectedGradient(
            step_size=Backtracking(n), tol=1e-12 / (10 * D), steps=oracle.steps
        )
        merit = MeritProblem(problem, Merit(lam, b))
        state, t = inner.init(merit, x), 0
        while inner.verdict(state) is None:
            state, t = inner.step(merit, state, t, None), t + 1
        x, n = inner.output(state)[0], state.n
        lam = np.maximum(lam + b * problem.at(x).values[1:], 0)
        b = 3 * b
        naive.append((x, lam))
    outers, _ = stages(problem, oracle, np.zeros(6))
    assert len(outers) == 5
    for outer, (x, lam) in zip(outers, naive):
        np.testing.assert_allclose(outer.x, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outer.lam, lam, rtol=0, atol=1e-12)


# -- reduces to ---------------------------------------------------------------------------------


def test_without_constraints_it_is_the_inner_method():
    problem = QuadraticProblem([np.diag([1.0, 4.0])], [[-3.0, 1.0]], [0.0], Box(-1, 1, dim=2))
    result = solve(problem, AugmentedLagrangian(), [0.0, 0.0], tol=1e-8)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, -0.25], atol=1e-8)


def test_a_feasible_start_skips_the_restoration():
    problem = REFERENCES["convex"]().problem
    solver = AugmentedLagrangian()
    assert not solver.init(problem, np.array([0.1, 0.2])).outer.restoring
    state = solver.init(problem, np.array([2.0, 2.0]))
    assert state.outer.restoring
    t = 0
    while state.stage == 0:
        state, t = solver.step(problem, state, t, None), t + 1
    point = problem.at(state.outer.x)
    assert point.violation <= 1e-3
    np.testing.assert_array_equal(state.outer.lam, [0.0])


# -- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["simple", "active", "bilinear", "bilinear_small", "convex", "auc"]
)
def test_defaults_from_random_starts(name):
    reference = REFERENCES[name]()
    for x0 in starts(reference.problem, 20):
        result = solve(reference.problem, AugmentedLagrangian(), x0, max_steps=1000, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5
        assert reference.distance(result.x) <= 1e-4


def test_to_high_accuracy():
    for name in ("active", "bilinear", "convex", "auc"):
        reference = REFERENCES[name]()
        result = solve(
            reference.problem, AugmentedLagrangian(tol=1e-12), reference.start, tol=1e-11
        )
        assert result.success
        assert reference.distance(result.x) <= 1e-9


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_constraints_of_any_scale(scale):
    reference = REFERENCES["bilinear"]()
    base = reference.problem
    factors = np.array([1.0, scale])
    problem = QuadraticProblem(
        base.P * factors[:, None, None], base.q * factors[:, None], base.c * factors, base.domain
    )
    result = solve(problem, AugmentedLagrangian(), reference.start, tol=1e-5)
    assert result.success
    assert reference.distance(result.x) <= 1e-4


def test_random_problems_end_in_a_status():
    """Non-convex quadratics: feasible ones are solved, infeasible ones never a success."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d, m = 4, 2
        A = rng.normal(size=(m + 1, d, d))
        P, q = A + A.transpose(0, 2, 1), rng.normal(size=(m + 1, d))
        feasible = seed % 2 == 0
        c = np.array([0.0, -0.5, -0.5 if feasible else 80.0])
        problem = QuadraticProblem(P, q, c, Box(-1.5, 1.5, dim=d))
        x0 = rng.uniform(-1.5, 1.5, size=d)
        result = solve(problem, AugmentedLagrangian(), x0, max_steps=5000, tol=1e-5)
        assert result.success == feasible
        if not feasible:
            assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
            assert result.certificate.violation > 1


def test_loops_run_out():
    problem = REFERENCES["convex"]().problem
    solver = AugmentedLagrangian(loops=1)
    outers, verdict = stages(problem, solver, np.zeros(2))
    assert verdict is Status.STALLED
    assert len(outers) == 1


# -- refusals -----------------------------------------------------------------------------------


def test_kinks_are_refused():
    problem = REFERENCES["convex"]().problem
    problem.facts = Facts(smooth=False)
    with pytest.raises(UnsuitableSolverError, match="differentiable"):
        solve(problem, AugmentedLagrangian(), np.zeros(2))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"penalty": 0.0}, "penalty"),
        ({"growth": 1.0}, "growth"),
        ({"progress": 1.5}, "progress"),
        ({"tol": -1.0}, "tol"),
        ({"loops": 0}, "loops"),
        ({"steps": 0}, "steps"),
        ({"mu": -1.0}, "mu"),
        ({"accuracy": 0.0}, "accuracy"),
    ],
)
def test_bad_hyperparameters(options, parameter):
    with pytest.raises(ValueError, match=f"AugmentedLagrangian: `{parameter}`"):
        AugmentedLagrangian(**options)


def test_multipliers_of_another_length():
    with pytest.raises(ValueError, match="AugmentedLagrangian: `multipliers`"):
        solve(REFERENCES["convex"]().problem, AugmentedLagrangian(multipliers=(1.0, 2.0)))


def test_begin_of_an_oracle_on_an_unbounded_domain_has_a_finite_tolerance():
    problem, _ = strongly_convex(0, domain=WholeSpace())
    oracle = PAPER.tuned(mu=1.0, accuracy=1e-4, multipliers=None)
    state = oracle.init(problem, np.zeros(6))
    tol = oracle.inner(problem, state.outer).tol
    assert tol == pytest.approx(math.sqrt(0.2 * 1e-4))
