"""The edges of steps of single-loop methods, each rule from both sides."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import FunctionProblem, Status, sets
from equipoise.certificate import Residuals
from equipoise.solvers import PLADA, SPLM, ProxyLagrangian
from equipoise.solvers._methods import plada as plada_module
from equipoise.solvers._methods import proxy_lagrangian as proxy_module
from equipoise.solvers._methods import sp_lm as sp_lm_module
from equipoise.solvers._parts.dual_and_centre_steps import CentreStep, DualStep

from .lines import Fixed, line

# ------------------------------------------------------------------ SP-LM


@pytest.mark.parametrize("step_size", [None, 0.05])
@pytest.mark.parametrize("cap", [math.inf, 0.6])
def test_a_step_of_sp_lm(step_size, cap):
    problem = FunctionProblem(
        lambda x: (x[0] ** 2 - x[1], np.array([2 * x[0], -1.0])),
        [
            lambda x: (x[0] + x[1] ** 2 - 1, np.array([1.0, 2 * x[1]])),
            lambda x: (x[1] - 9, np.eye(2)[1]),
        ],
        domain=sets.Box(-2, 2, dim=2),
    )
    solver = SPLM(
        smoothness=2.0, prox=5.0, dual_step=0.5, centre_step=0.25, step_size=step_size, cap=cap
    )
    start = solver.init(problem, np.array([1.2, 0.9]))
    lam0 = np.array([0.3, 0.7])
    state = replace(start, z=np.array([0.4, 0.1]), lam=lam0, centre=CentreStep(0.25, 3))
    after = solver.step(problem, state, 7, None)
    point = problem.at(state.x)
    lam = np.clip(lam0 + 0.5 * point.constraints, 0.0, cap)
    n = step_size or 1 / (2.0 * (1 + lam.sum()) + 5.0)
    uphill = point.vjp(np.append(1.0, lam))
    x = np.clip(state.x - n * (uphill + 5.0 * (state.x - state.z)), -2, 2)
    np.testing.assert_allclose(after.lam, lam, rtol=1e-12)
    np.testing.assert_allclose(after.x, x, rtol=1e-12)
    np.testing.assert_allclose(after.z, state.z + 0.25 * (x - state.z), rtol=1e-12)
    assert after.centre == state.centre
    assert after.best.residual == Residuals.at(problem, point, lam).largest
    np.testing.assert_array_equal(after.best.x, state.x)


@pytest.mark.parametrize(
    ("t", "slope", "measured"),
    [
        (sp_lm_module.MEASURE_EVERY, 2.0, True),
        (sp_lm_module.MEASURE_EVERY + 1, 2.0, False),
        (sp_lm_module.MEASURE_EVERY + 1, 0.0, True),
    ],
)
def test_slopes_are_measured_now_and_then(t, slope, measured):
    problem = line([1.0], [[4.0]], [1.0])
    solver = SPLM(smoothness=2.0, prox=5.0)
    state = replace(solver.init(problem, np.zeros(1)), dual=DualStep(0.125, slope))
    after = solver.step(problem, state, t, None)
    if measured:
        assert after.dual.slope == 4.0
        assert after.dual.tau == pytest.approx(0.25 * state.constants.mu / 16.0)
    else:
        assert after.dual == state.dual
    assert after.lam[0] == pytest.approx(after.dual.tau * 1.0)


# ------------------------------------------------------------------ PLADA


def test_iterates_are_ranked_by_violation_and_then_by_objective():
    allowed = plada_module.FEASIBLE
    for excess, score in ((allowed, 0.0), (2 * allowed, 2 * allowed), (-1.0, 0.0)):
        point = line([3.0], [[0.0]], [excess]).at(np.ones(1))
        assert plada_module._score(point) == (score, 3.0)


@pytest.mark.parametrize(("number", "drawn"), [(0.24, 1.0), (0.26, 9.0)])
def test_a_step_of_plada_moves_slacks_and_multipliers(number, drawn):
    problem = line([1.0], [[2.0], [-1.0]], [-1.0, -0.5], domain=sets.Box(-4, 4, dim=1))
    solver = PLADA(tau=0.01, alpha=4.0, beta=0.25, kappa=3.0, gamma=0.9, u_max=5.0, stop=1e-3)
    state = solver.init(problem, np.ones(1))
    u, mu = np.array([0.5, 0.002]), np.array([0.1, 0.3])
    state = replace(state, u=u, mu=mu, drawn=np.full(1, 9.0))
    after = solver.step(problem, state, 3, Fixed(number))
    G = np.array([1.0, -1.5])
    lam = mu + 2.0 * (G + u)
    gap = lam - mu
    np.testing.assert_allclose(after.lam, lam, rtol=1e-12)
    np.testing.assert_allclose(after.u, np.clip(u - 0.01 * lam, 0.0, 5.0), rtol=1e-12)
    gamma = min(0.9, 2.0 * (3.0 / 4) / (gap @ gap + 1))
    np.testing.assert_allclose(after.mu, mu + gamma / 2.0 * gap, rtol=1e-12)
    assert after.apart == pytest.approx(np.linalg.norm(gap))
    moved = abs(after.x[0] - 1.0) + np.linalg.norm(after.u - u)
    assert after.moved == pytest.approx(moved)
    assert after.drawn[0] == drawn
    assert (after.best[0], after.score) == (1.0, (1.0, 1.0))
    np.testing.assert_array_equal(solver.output(after)[1], np.maximum(lam, 0.0))
    still = replace(after, moved=1e-3, apart=1e-3)
    assert solver.verdict(still) is Status.CONVERGED
    assert solver.verdict(replace(still, moved=1.1e-3)) is None
    assert solver.verdict(replace(still, apart=1.1e-3)) is None


def test_the_first_multipliers_of_plada_follow_the_constraints():
    problem = line([1.0], [[2.0]], [-0.5], domain=sets.Box(-4, 4, dim=1))
    solver = PLADA(tau=0.01, alpha=12.0, beta=0.25, u_max=5.0, multipliers=(0.25,))
    state = solver.init(problem, np.ones(1))
    assert state.lam.tolist() == [0.25 + 3.0 * 1.5]
    assert state.mu.tolist() == [0.25]
    assert state.u.tolist() == [0.0]
    assert state.u_max.tolist() == [5.0]


# ------------------------------------------------------------------ the proxy-Lagrangian


def test_snapshots_are_thinned_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(proxy_module, "MAX_SNAPSHOTS", 3)
    problem = line([1.0], [[1.0]], [-1.0])
    kept = ProxyLagrangian().init(problem, np.zeros(1)).candidates
    for k in range(3):
        kept = proxy_module._snapped(kept, np.array([float(k)]), np.array([k, -k]))
    assert (kept.x.ravel().tolist(), kept.every) == ([0.0, 1.0, 2.0], 1)
    kept = proxy_module._snapped(kept, np.array([3.0]), np.array([3.0, -3.0]))
    assert (kept.x.ravel().tolist(), kept.every) == ([0.0, 2.0], 2)
    assert kept.table.tolist() == [[0.0, 0.0], [2.0, -2.0]]


def test_candidates_are_ranked_by_what_exceeds_the_slack():
    solver = ProxyLagrangian(slack=0.25)
    assert solver._rank(np.array([7.0, 0.5, 0.75])) == (0.5, 7.0)
    assert solver._rank(np.array([7.0, 0.25, -1.0])) == (0.0, 7.0)
    assert solver._rank(np.array([7.0])) == (0.0, 7.0)


@pytest.mark.parametrize(
    ("smoothness", "t", "eta"), [(None, 3, 0.05), (4.0, 3, 0.05), (40.0, 3, 0.025)]
)
def test_steps_of_the_proxy_lagrangian_shrink(smoothness, t, eta):
    problem = SimpleNamespace(facts=SimpleNamespace(smoothness=smoothness))
    assert ProxyLagrangian()._eta(problem, t) == pytest.approx(eta)
