"""The feasibility phase."""

import numpy as np
import pytest

from equipoise import Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.solvers import FeasibilityPhase, InverseSqrt


def above_zero():
    """g = x'Bx/2 + 1 with the B of the Simple Example: needs |x2| >= 0.632."""
    return QuadraticProblem(
        P=[np.zeros((2, 2)), np.diag([50.0, -5.0])],
        q=np.zeros((2, 2)),
        c=[0.0, 1.0],
        domain=sets.L1Ball(1.0),
        names=["g"],
    )


def nowhere():
    """g = x^2 + 1 on [-2, 2]."""
    return QuadraticProblem(
        P=[[[0.0]], [[2.0]]],
        q=np.zeros((2, 1)),
        c=[0.0, 1.0],
        domain=sets.Box(-2, 2, dim=1),
        names=["x^2 + 1"],
    )


def test_t2_6_finds_a_feasible_point_in_21_steps():
    solver = FeasibilityPhase(step_size=InverseSqrt(0.05))
    result = solve(above_zero(), solver, [0.3, 0.1])
    assert result.status is Status.FEASIBLE
    assert result.success
    assert result.maxcv == 0.0
    hit = solve(above_zero(), solver, [0.3, 0.1], max_steps=21)
    np.testing.assert_allclose(hit.state.x, [0.0, 0.636], atol=2e-3)
    assert above_zero().at(hit.state.x).excess <= 0
    before = solve(above_zero(), solver, [0.3, 0.1], max_steps=20)
    assert above_zero().at(before.state.x).excess > 0


def test_t2_6_infeasible_ends_with_a_verdict():
    for solver in (FeasibilityPhase(), FeasibilityPhase(step_size=InverseSqrt(0.05))):
        result = solve(nowhere(), solver, [1.7], max_steps=2000)
        assert result.status is Status.INFEASIBLE
        assert not result.success
        assert abs(result.x[0]) < 0.01
        assert result.maxcv == pytest.approx(1.0, abs=1e-3)
        assert result.blocking == {"x^2 + 1": pytest.approx(1.0)}
        assert result.proof.check(nowhere())
        assert "x^2 + 1" in result.message


def test_a_budget_that_ends_on_the_way_is_not_called_infeasible():
    result = solve(
        above_zero(), FeasibilityPhase(step_size=InverseSqrt(0.001)), [0.3, 0.1], max_steps=5
    )
    assert result.status is Status.MAX_STEPS


def test_naive_twin():
    problem, x, expected = above_zero(), np.array([0.3, 0.1]), []
    for t in range(50):
        g = np.array([50 * x[0], -5 * x[1]])
        x = problem.domain.project(x - 0.01 / np.sqrt(t + 1) * g)
        expected.append(x)
    actual, solver = [], FeasibilityPhase(step_size=InverseSqrt(0.01))
    state, rng = solver.init(problem, np.array([0.3, 0.1])), np.random.default_rng(0)
    for t in range(50):
        state = solver.step(problem, state, t, rng)
        actual.append(state.x)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_davis_drusvyatskiy_bound_on_the_drawn_iterate():
    """E |grad envelope|^2 <= 2 (g_0 - min g + rho M^2 gamma^2) / (gamma sqrt(T + 1)) with constant
    steps gamma / sqrt(T + 1); on the infeasible problem rho may be taken as 2, M = 4."""
    problem, T, gamma, rho, M = nowhere(), 400, 0.25, 2.0, 4.0
    from equipoise.solvers import Constant

    solver = FeasibilityPhase(step_size=Constant(gamma / np.sqrt(T + 1)))
    squares = []
    for seed in range(40):
        drawn = solve(problem, solver, [1.7], max_steps=T, seed=seed).state.drawn[0]
        # envelope of x^2 + 1 with parameter 1/(2 rho): prox = 2 rho x / (2 rho + 2)
        prox = 2 * rho * drawn / (2 * rho + 2)
        squares.append((2 * rho * (drawn - prox)) ** 2)
    g_0 = 1.7**2 + 1
    bound = 2 * (g_0 - 1.0 + rho * M**2 * gamma**2) / (gamma * np.sqrt(T + 1))
    assert np.mean(squares) <= bound


@pytest.mark.parametrize("name", ["active", "bilinear", "convex", "simple", "auc"])
def test_defaults_find_feasible_points_from_random_starts(name):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(0)
    for _ in range(20):
        start = reference.problem.domain.project(3 * rng.normal(size=reference.problem.dim))
        start = 0.9 * start + 0.02  # off the edge x1 = 0 of `active`, which is stationary for g
        result = solve(reference.problem, "feasibility", start)
        assert result.success, result.message
        assert result.maxcv == 0.0


def test_slack_and_bad_input():
    result = solve(above_zero(), FeasibilityPhase(slack=0.5), [0.3, 0.1])
    assert result.status is Status.FEASIBLE
    assert 0 < result.maxcv <= 0.5
    assert not result.success  # a violated constraint is never a success at tol = 0
    with pytest.raises(ValueError, match="`slack` must be non-negative"):
        FeasibilityPhase(slack=-1.0)
