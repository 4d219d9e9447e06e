"""Single steps by hand: details of the boxes that a long run does not show."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Problem, Status, certify, sets
from equipoise.solvers import (
    IQRC,
    PLADA,
    SPLM,
    AugmentedLagrangian,
    Constant,
    ExactPenalty,
    FeasibilityPhase,
    InverseSqrt,
    MultiplierModel,
    ProxyLagrangian,
    SwitchingSubgradient,
    YuNeelyWei,
)
from equipoise.solvers._parts.stopping import gap_bound
from equipoise.solvers._penalty.linearised_penalty import LinearisedPenalty, LinearProgramError


class Fixed:
    """A generator of random numbers that draws one number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


def line(excess, slope=1.0, **facts):
    """min -x  s.t.  slope x + excess <= 0: the constraint has the value `excess` at the start 0."""
    return FunctionProblem(
        lambda x: (-x[0], np.array([-1.0])),
        [lambda x: (slope * x[0] + excess, np.array([slope]))],
        domain=sets.Box(-10, 10, dim=1),
        facts=Facts(smooth=True, convex=True, convex_constraints=True, weak_convexity=0.0, **facts),
    )


class Batches(Problem):
    """The problem of `line` where mini-batches have another slope of the constraint."""

    def __init__(self, whole, batch):
        self.whole, self.batch, self.facts = whole, batch, replace(whole.facts, stochastic=True)
        self.dim, self.n_constraints, self.names = 1, 1, whole.names
        self.domain = whole.domain

    def at(self, x):
        return self.whole.at(x)

    def sample(self, rng):
        return self.batch


# ------------------------------------------------------------------ where a start counts as feasible


@pytest.mark.parametrize(("excess", "feasible"), [(0.0099, True), (0.0101, None), (0.09, None)])
def test_iqrc_starts_at_points_within_the_square_of_eps_hat(excess, feasible):
    solver = IQRC(eps_hat=Constant(0.1))
    assert solver.begin(line(excess), np.zeros(1)).feasible is feasible


@pytest.mark.parametrize(("t", "excess", "x"), [(0, 0.9, 1.0), (0, 1.1, -1.0), (3, 0.49, 1.0)])
def test_switching_takes_the_slack_of_its_own_step(t, excess, x):
    """The slack of step t is ``1 / sqrt(t + 1)``; that of the step after is smaller than 0.9 and 0.49."""
    solver = SwitchingSubgradient(step_size=Constant(1.0), slack=InverseSqrt(1.0))
    state = solver.step(line(excess), solver.init(line(excess), np.zeros(1)), t, Fixed(0.0))
    assert state.x[0] == x


def test_switching_takes_the_length_of_its_own_step():
    solver = SwitchingSubgradient(step_size=InverseSqrt(1.0), slack=Constant(1.0))
    state = solver.step(line(0.0), solver.init(line(0.0), np.zeros(1)), 3, Fixed(0.0))
    assert state.x[0] == 0.5


# ------------------------------------------------------------------ random outputs


@pytest.mark.parametrize(("number", "drawn"), [(0.33, 0.0), (0.34, 7.0)])
def test_switching_draws_in_proportion_to_the_lengths(number, drawn):
    """A step of length 0.5 after steps of length 1 in all: drawn with probability 1/3."""
    solver = SwitchingSubgradient(step_size=Constant(0.5), slack=Constant(1.0))
    state = replace(solver.init(line(0.0), np.zeros(1)), drawn=np.array([7.0]), weight=1.0)
    after = solver.step(line(0.0), state, 5, Fixed(number))
    assert (after.drawn[0], after.weight) == (drawn, 1.5)


def test_switching_does_not_draw_where_a_constraint_is_descended():
    solver = SwitchingSubgradient(step_size=Constant(0.5), slack=Constant(0.1))
    state = replace(solver.init(line(0.2), np.zeros(1)), drawn=np.array([7.0]), weight=1.0)
    after = solver.step(line(0.2), state, 5, Fixed(0.0))
    assert (after.drawn[0], after.weight, after.feasible) == (7.0, 1.0, None)


@pytest.mark.parametrize(("number", "drawn"), [(0.33, 0.0), (0.34, 7.0)])
def test_the_feasibility_phase_draws_in_proportion_to_the_lengths(number, drawn):
    solver = FeasibilityPhase(step_size=Constant(0.5))
    state = replace(solver.init(line(2.0), np.zeros(1)), drawn=np.array([7.0]), weight=1.0)
    after = solver.step(line(2.0), state, 5, Fixed(number))
    assert (after.drawn[0], after.weight, after.x[0]) == (drawn, 1.5, -0.5)


# ------------------------------------------------------------------ candidates


def test_candidates_of_the_multiplier_model_are_judged_on_the_whole_problem():
    """The constraint is 0.75 there, and fulfilled on the mini-batch that the step is made with."""
    problem, solver = Batches(line(0.5), line(-3.0)), MultiplierModel(every=1)
    begun = solver.init(problem, np.array([0.25]))
    assert solver.step(problem, begun, 0, np.random.default_rng(0)).score == (0.75, -0.25)


@pytest.mark.parametrize(("excess", "counted"), [(0.2, 0.2), (0.1, 0.5), (0.0, 0.5)])
def test_a_mini_batch_within_the_slack_is_no_proof_of_feasibility(excess, counted):
    """Then the whole problem says how large the excess is; beyond the slack it is not evaluated."""
    problem, solver = Batches(line(0.5), line(excess)), FeasibilityPhase(slack=0.1)
    begun = replace(solver.init(problem, np.zeros(1)), excess=9.0)
    assert solver.step(problem, begun, 0, Fixed(0.0)).excess == counted


# ------------------------------------------------------------------ multipliers and gaps


def test_the_gap_bound_adds_what_complementarity_and_the_inexact_minimiser_cost():
    box, lam, f = sets.Box(0, 2, dim=1), np.array([1.0, 3.0]), np.array([-0.5, 0.1])
    assert gap_bound(box, 0.0, lam, f, 0.25) == pytest.approx(0.5 + 0.3 + 2 * 0.25)
    assert gap_bound(box, 4.0, lam, f, 0.25) == pytest.approx(0.5 + 0.3 + 0.25**2 / 8)
    assert gap_bound(box, 0.01, lam, f, 0.25) == pytest.approx(0.5 + 0.3 + 2 * 0.25)
    assert gap_bound(sets.WholeSpace(), 0.0, lam, f, 0.25) == math.inf


def loop(problem, x, lam, b):
    """The augmented Lagrangian after one more loop, whose minimiser was `x`."""
    solver = AugmentedLagrangian()
    outer = solver.begin(problem, np.zeros(1))
    outer = replace(outer, restoring=False, lam=np.array([lam]), b=b)
    minimiser = SimpleNamespace(output=lambda state: (np.array([x]), None))
    return solver.absorb(problem, outer, minimiser, SimpleNamespace(n=outer.n), Fixed(0.0))


def test_the_gap_of_the_augmented_lagrangian_takes_the_multipliers_before_its_loop():
    """From lam = 0 the new multiplier costs nothing; it does in the loop after."""
    first = loop(line(0.0), 0.5, lam=0.0, b=2.0)
    assert (first.lam[0], first.gap) == (1.0, 0.0)  # 0 + 2 * 0.5 makes it stationary exactly
    second = loop(line(0.0), 0.5, lam=1.0, b=2.0)
    assert second.gap == pytest.approx(0.5 + 20 * 1.0)  # |1 * 0.5|, and the diameter times |-1 + 2|


def test_multipliers_of_the_augmented_lagrangian_are_neither_negative_nor_endless():
    assert loop(line(0.0), -0.5, lam=0.25, b=2.0).lam[0] == 0.0
    assert loop(line(0.0), 0.5, lam=0.0, b=1e12).lam[0] == 1e10


def test_multipliers_stay_between_0_and_the_cap():
    for excess, lam in ((-1.0, 0.0), (1.0, 0.25)):
        solver = SPLM(dual_step=1.0, cap=0.25, step_size=0.1, smoothness=1.0, prox=2.0)
        problem = line(excess)
        state = solver.step(problem, solver.init(problem, np.zeros(1)), 0, Fixed(0.0))
        assert state.lam[0] == lam


def test_negative_multipliers_of_plada_are_not_returned():
    solver = PLADA(eta=0.1, tau=0.01)
    state = solver.step(line(-1.0), solver.init(line(-1.0), np.zeros(1)), 0, Fixed(0.0))
    assert state.lam[0] < 0
    assert solver.output(state)[1][0] == 0.0


# ------------------------------------------------------------------ mini-batches


def test_plada_takes_its_tau_on_mini_batches_only():
    """``u <- clip(-tau lam, 0, u_max)`` with lam = -rho and tau = 0.9 / (3 rho): u = 0.3."""
    whole, solver = line(-1.0), PLADA(eta=0.1, u_max=10.0)
    problem = Batches(whole, line(-1.0))
    state = solver.step(problem, solver.init(problem, np.zeros(1)), 0, Fixed(0.0))
    assert state.u[0] == pytest.approx(0.3)
    exact = solver.step(whole, solver.init(whole, np.zeros(1)), 0, Fixed(0.0))
    assert exact.u[0] == pytest.approx(1.0)  # the minimiser, -G


def test_yu_neely_wei_weighs_by_the_root_of_the_steps():
    """V = sqrt(K) and alpha = K: from lam = 0 the first step is ``V g / (2 alpha)``."""
    solver, problem = YuNeelyWei(steps=100), line(-1.0)
    state = solver.step(problem, solver.init(problem, np.zeros(1)), 0, Fixed(0.0))
    assert state.z[0] == pytest.approx(10 / 200)
    assert solver.output(replace(state, Q=np.array([5.0])))[1][0] == pytest.approx(0.5)


def test_yu_neely_wei_does_not_bound_mini_batches_by_the_slope_of_the_whole():
    """The whole has the slope 0.01, the batch 100: its queue is filled by the step all the same."""
    solver = YuNeelyWei(steps=4)
    problem = Batches(line(-1.0, 0.01, lipschitz=0.01), line(-1.0, 100.0))
    state = solver.step(problem, solver.init(problem, np.zeros(1)), 0, Fixed(0.0))
    assert state.Q[0] == pytest.approx(-1.0 + 100 * 2 / 8)


# ------------------------------------------------------------------ candidates


def test_a_violation_within_the_slack_does_not_count_against_a_candidate():
    solver = ProxyLagrangian(slack=0.1)
    better, worse = np.array([0.0, 0.09]), np.array([1.0, -1.0])
    assert solver._rank(better) < solver._rank(worse)
    beyond = np.array([0.0, 0.11])
    assert solver._rank(beyond) > solver._rank(worse)
    assert solver._rank(beyond) < solver._rank(np.array([-1.0, 0.12]))


# ------------------------------------------------------------------ the certificate


def test_a_point_outside_the_domain_violates_it():
    problem = FunctionProblem(lambda x: (0.0, 0 * x), domain=sets.Box(0, 1, dim=2))
    certificate = certify(problem, np.array([1.5, 0.5]))
    assert certificate.violation == pytest.approx(0.5)
    assert certificate.outside == pytest.approx(0.5)
    assert certify(problem, np.array([1.0, 0.5])).violation == 0.0


def test_a_single_step_may_be_asked_for():
    assert YuNeelyWei(steps=1).steps == 1


def test_a_step_whose_linear_program_fails_is_the_last(monkeypatch):
    def fails(*_):
        raise LinearProgramError("The numbers are too far apart.")

    solver, problem = ExactPenalty(), line(1.0)
    begun = solver.init(problem, np.zeros(1))
    assert solver.verdict(begun) is None
    monkeypatch.setattr(LinearisedPenalty, "minimise", fails)
    assert solver.verdict(solver.step(problem, begun, 0, Fixed(0.0))) is Status.STALLED


def test_a_method_that_does_not_look_calls_no_function_smooth():
    assert not SwitchingSubgradient().looks_smooth(None)
