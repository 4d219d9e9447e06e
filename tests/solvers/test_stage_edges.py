"""The edges of stages: what a method makes of its subproblem's answer, each rule from both sides."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from equipoise import FunctionProblem, Status, sets
from equipoise.certificate import Residuals
from equipoise.solvers import (
    IPPP,
    IQRC,
    ExactPenalty,
    FeasibilityPhase,
    IMELa,
)
from equipoise.solvers._methods import exact_penalty as penalty_module
from equipoise.solvers._parts.best_pair import BestPair
from equipoise.solvers._parts.dual_and_centre_steps import CentreStep, DualStep
from equipoise.solvers._parts.steps import Constant, StepRule

from .lines import Fixed, Inner, line

# ------------------------------------------------------------------ exact penalty


def penalty_state(**changes):
    problem = line([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], [0.5, -3.0])
    solver = ExactPenalty(eps=1e-3, xi=0.1)
    return solver, problem, replace(solver.init(problem, np.zeros(2)), **changes)


def test_the_exact_penalty_counts_violations_only():
    assert penalty_module._phi(np.array([2.0, 0.5, -3.0, 1.0]), 4.0) == 8.0
    assert penalty_state()[2].violation == 0.5


@pytest.mark.parametrize(
    ("psi", "theta", "p", "violation", "verdict"),
    [
        (1e-3, 1.0, 10.0, 0.5, Status.CONVERGED),
        (1.001e-3, 1e-3, 1.0, 0.5, None),
        (5e-3, 1e-3, 50.0, 0.5, Status.LOCALLY_INFEASIBLE),
        (5.1e-3, 1e-3, 50.0, 0.5, None),
        (5e-3, 1.1e-3, 50.0, 0.5, None),
        (5e-3, 1e-3, 50.0, 1e-2, None),
        (1e-3, 1e-3, 50.0, 1e-2, Status.CONVERGED),
        (1e-3, 1e-3, 50.0, 1.1e-2, Status.LOCALLY_INFEASIBLE),
    ],
)
def test_the_measures_at_which_the_penalty_method_ends(psi, theta, p, violation, verdict):
    solver, _, state = penalty_state(
        psi=psi, theta=theta, p=p, values=np.array([0.0, violation, -3.0]), radius=1.0
    )
    assert solver.verdict(state) is verdict


def test_a_radius_may_become_too_small():
    least = penalty_module.SMALLEST_RADIUS
    solver, _, state = penalty_state(psi=9.0, radius=least)
    assert solver.verdict(state) is None
    assert solver.verdict(replace(state, radius=0.9 * least)) is Status.STALLED


@pytest.mark.parametrize(
    ("share", "factor", "moves"),
    [(0.049, 0.3, False), (0.051, 1.0, True), (0.69, 1.0, True), (0.71, 4.0, True)],
)
def test_the_radius_follows_the_share_of_the_promise_that_is_kept(share, factor, moves):
    """Along ``x`` a step of length 1 promises 1; the function falls by a share of it."""
    problem = FunctionProblem(lambda x: (share * x[0], np.ones(1)), dim=1)
    solver = ExactPenalty(
        radius=1.0, accept=0.05, good=0.7, shrink=0.3, grow=4.0, products=0, penalty=10.0
    )
    after = solver.step(problem, solver.init(problem, np.zeros(1)), 0, None)
    assert after.radius == pytest.approx(factor)
    assert after.x[0] == pytest.approx(-1.0 if moves else 0.0)


@pytest.mark.parametrize(("low", "grows"), [(-0.985, False), (-0.995, True)])
def test_the_radius_grows_where_the_step_has_reached_it(low, grows):
    problem = line([1.0], domain=sets.Box(low, 1.0, dim=1))
    solver = ExactPenalty(radius=1.0, products=0, grow=4.0)
    after = solver.step(problem, solver.init(problem, np.zeros(1)), 0, None)
    assert after.radius == (4.0 if grows else 1.0)


# ------------------------------------------------------------------ the feasibility phase


def test_the_least_excess_is_kept_and_a_draw_replaces_the_last():
    problem = line([1.0], [[3.0]], [0.0])
    solver = FeasibilityPhase(step_size=Constant(0.5), slack=0.25, steps=4)
    state = solver.init(problem, np.ones(1))
    assert (state.excess, state.weight, state.slope) == (3.0, 0.0, 0.0)
    state = replace(state, weight=1.5, drawn=np.array([9.0]))
    for number, drawn in ((0.25, 1.0), (0.26, 9.0)):
        after = solver.step(problem, state, 0, Fixed(number))
        assert after.x[0] == -0.5
        assert after.drawn[0] == drawn
        assert (after.weight, after.slope, after.t) == (2.0, 3.0, 1)
        assert (after.best[0], after.excess) == (1.0, 3.0)
    later = solver.step(problem, after, 1, Fixed(0.0))
    assert (later.best[0], later.excess) == (-0.5, -1.5)
    same = replace(later, x=later.best.copy(), best=np.array([7.0]))
    assert solver.step(problem, same, 2, Fixed(0.0)).best[0] == 7.0
    assert solver.verdict(replace(later, excess=0.25)) is Status.FEASIBLE
    assert solver.verdict(replace(later, excess=0.26, t=3)) is None
    assert solver.verdict(replace(later, excess=0.26, t=4)) is Status.MAX_STEPS
    assert FeasibilityPhase().verdict(replace(later, excess=0.26, t=10**9)) is None


def test_steps_of_the_feasibility_phase_shrink_with_the_largest_slope():
    problem = line([1.0], [[4.0]], [0.0])
    solver = FeasibilityPhase()
    state = replace(solver.init(problem, np.ones(1)), slope=8.0)
    assert solver.step(problem, state, 0, Fixed(0.5)).x[0] == pytest.approx(1 - 4.0 / 8.0)
    assert solver.step(problem, state, 3, Fixed(0.5)).x[0] == pytest.approx(1 - 4.0 / 8.0 / 2.0)
    flat = line([1.0], [[0.0]], [1.0])
    assert solver.step(flat, solver.init(flat, np.ones(1)), 0, Fixed(0.5)).x[0] == 1.0


# ------------------------------------------------------------------ iMELa and its parts


def test_dual_steps_follow_the_largest_slope():
    problem = line([1.0], [[4.0]], [0.0])
    point, lam = problem.at(np.zeros(1)), np.ones(1)
    found = DualStep(0.0, 0.0).measured(point, lam, 8.0)
    assert (found.tau, found.slope) == (0.5, 4.0)
    found = DualStep(0.0, 100.0).measured(point, lam, 8.0)
    assert (found.tau, found.slope) == (pytest.approx(0.08), 100.0)
    flat = line([1.0], [[0.0]], [0.0])
    assert DualStep().measured(flat.at(np.zeros(1)), lam, 8.0) == DualStep(0.0, 0.0)


def test_centre_steps_are_halved_where_nothing_is_gained():
    step = CentreStep(0.4, stale=2)
    assert step.after(0.89, 1.0, 4, 0.1) == CentreStep(0.4, 0)
    assert step.after(0.9, 1.0, 4, 0.1) == CentreStep(0.4, 3)
    assert step.after(0.9, 1.0, 3, 0.1) == CentreStep(0.2, 0)
    assert step.after(0.9, 1.0, 3, 0.3) == CentreStep(0.3, 0)
    best = BestPair(np.zeros(1), np.zeros(0), 1.0)
    assert best.or_better(np.ones(1), np.zeros(0), 1.0) is best
    assert best.or_better(np.ones(1), np.zeros(0), 0.9).x[0] == 1.0


@pytest.mark.parametrize(("dual_step", "centre_step"), [(0.25, 0.5), (0.25, None), (None, 0.5)])
def test_a_stage_of_imela(dual_step, centre_step):
    problem = line([1.0, -1.0], [[3.0, 0.0], [0.0, 2.0]], [0.0, -5.0])
    solver = IMELa(smoothness=2.0, prox=3.0, dual_step=dual_step, centre_step=centre_step)
    state = replace(
        solver.begin(problem, np.zeros(2)),
        z=np.array([1.0, 2.0]),
        ahead=np.array([0.5, 0.25]),
        lam=np.array([7.0, 8.0]),
        t=4,
    )
    x = np.array([0.2, -0.4])
    inner = Inner(x)
    after = solver.absorb(problem, state, inner, inner, None)
    theta = state.centre.theta
    assert theta == (centre_step or theta)
    np.testing.assert_allclose(after.z, [1 + theta * (0.2 - 1), 2 + theta * (-0.4 - 2)])
    np.testing.assert_array_equal(after.lam, state.ahead)
    f = np.array([0.6, -5.8])
    tau = dual_step or after.dual.tau
    assert tau > 0
    np.testing.assert_allclose(after.ahead, np.maximum(state.ahead + tau * f, 0.0))
    assert (after.t, after.n) == (5, 0.125)
    residual = Residuals.at(problem, problem.at(x), state.ahead).largest
    assert after.best.residual == residual
    method = solver.inner(problem, state)
    assert method.tol == min(1.0, solver.inner_tol / 5)
    K = state.constants.L * (1 + 0.75) + state.constants.p
    assert method.step_size == pytest.approx(1 / K)


# ------------------------------------------------------------------ IPPP


@pytest.mark.parametrize(
    ("x", "b", "turn", "doubled"),
    [
        ([0.55, 0.0], 4.0, None, True),
        ([0.55, 0.0], 4.0, [0.1, 0.2], True),
        ([0.55, 0.0], 1e9, [0.1, 0.2], False),
        ([0.01, 0.0], 4.0, [0.1, 0.2], False),
    ],
)
def test_a_stage_of_ippp(x, b, turn, doubled):
    """``-x_0`` under ``x_0 <= 0``, whose penalty leaves 0.55 with the multiplier 2.2."""
    problem = line([-1.0, 0.0], [[1.0, 0.0]], [0.0], domain=sets.Box(-9, 0.6, dim=2))
    solver = IPPP(smoothness=1.0, prox=2.0, penalty=4.0)
    turn = None if turn is None else np.array(turn)
    state = replace(solver.begin(problem, np.zeros(2)), b=b, turn=turn, t=2)
    inner = Inner(x)
    after = solver.absorb(problem, state, inner, inner, None)
    lam = b * x[0]
    assert after.lam.tolist() == [lam]
    stationarity, left = abs(lam - 1), max(x[0], lam * x[0])
    assert (left > stationarity and b < 1e9) == doubled
    assert after.b == (2 * b if doubled else b)
    if doubled:
        assert after.turn.tolist() == x
        beyond = x if turn is None else np.minimum(x + 0.5 * (x - turn), 0.6)
        np.testing.assert_allclose(after.z, beyond)
    else:
        assert after.turn is turn
        assert after.z.tolist() == x
    assert after.tol == pytest.approx(min(1.0, 0.1 * max(stationarity, left)))
    assert after.t == 3


def test_tolerances_of_ippp_have_ends():
    problem = line([0.0], [[1.0]], [-1.0])
    solver = IPPP(smoothness=1.0, prox=2.0, penalty=4.0)
    state = solver.begin(problem, np.zeros(1))
    inner = Inner([0.0])
    assert solver.absorb(problem, state, inner, inner, None).tol == 1e-11
    steep = line([1e3], [[1.0]], [-1.0])
    assert solver.absorb(steep, state, inner, inner, None).tol == 1.0
    even = line([0.0], [[0.0]], [0.0])
    assert solver.absorb(even, state, inner, inner, None).b == 4.0


# ------------------------------------------------------------------ IQRC


@pytest.mark.parametrize(("number", "drawn"), [(0.24, 0.0), (0.25, 9.0)])
def test_a_stage_of_iqrc(number, drawn):
    problem = line([1.0, 0.0])
    solver = IQRC(rho_hat=9.0, rho=1.0, eps_hat=Constant(0.5), eps=6.0)
    state = replace(solver.begin(problem, np.zeros(2)), t=3, drawn=np.full(2, 9.0))
    assert state.feasible
    inner = Inner([3.0, 4.0])
    after = solver.absorb(problem, state, inner, inner, Fixed(number))
    assert after.distance == pytest.approx(5.0 + 0.5 * math.sqrt(2 / 8.0))
    assert after.drawn[0] == drawn
    assert (after.t, after.before.tolist(), after.x.tolist()) == (4, [0.0, 0.0], [3.0, 4.0])
    assert solver.finished(replace(after, distance=6.0)) is Status.CONVERGED
    assert solver.finished(replace(after, distance=6.01)) is None
    assert solver.answer(replace(after, distance=6.0))[0].tolist() == [0.0, 0.0]
    assert solver.answer(replace(after, distance=6.01))[0].tolist() == [3.0, 4.0]
    assert solver.finished(replace(after, feasible=False)) is Status.LOCALLY_INFEASIBLE


@dataclass(frozen=True)
class Rising(StepRule):
    """Grows by 1 a step."""

    first: float

    def __call__(self, t, gap=None, g=None):
        return self.first + t


def test_the_first_accuracy_of_iqrc_is_positive():
    with pytest.raises(ValueError, match=r"IQRC: `eps_hat\(0\)` must be positive"):
        IQRC(eps_hat=Rising(0.0))
    assert IQRC(eps_hat=Rising(0.5)).eps_hat(0) == 0.5


@pytest.mark.parametrize(("excess", "feasible"), [(0.25, True), (0.26, None)])
def test_a_start_of_iqrc_is_feasible_but_for_the_square_of_its_accuracy(excess, feasible):
    problem = line([1.0], [[1.0]], [excess])
    solver = IQRC(rho_hat=3.0, rho=1.0, eps_hat=Constant(0.5))
    state = solver.begin(problem, np.zeros(1))
    assert state.feasible is feasible
    assert solver.subproblem(problem, state) is problem or feasible
    if not feasible:
        assert solver.inner(problem, state).slack == 0.25
