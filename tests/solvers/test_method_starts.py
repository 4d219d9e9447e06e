"""What methods begin with, what they are set up with as a part of others, and what they return then."""

import inspect
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import FunctionProblem, Status, sets
from equipoise.solvers import (
    SOLVERS,
    AugmentedNewton,
    ConstrainedBundle,
    ExactPenalty,
    IMELa,
    LevelSet,
    MultiplierModel,
    Smoothing,
)
from equipoise.solvers._methods import exact_penalty
from equipoise.solvers._methods.augmented_newton import PENALTY_WITH_MULTIPLIERS
from equipoise.solvers._methods.level_set import FEASIBILITY_ACCURACY, SHARE_OF_ACCURACY
from equipoise.solvers._methods.smoothing import (
    FIRST_WIDTH,
    LEAST_WIDTH,
    LEAST_WIDTH_IN_ROUNDINGS,
    WARM_WIDTH,
)
from equipoise.solvers._multiplier_model.network import MultiplierNetwork
from equipoise.solvers._newton.first_penalty import first_penalty_beside
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._parts import backtracking
from equipoise.solvers._penalty.linearised_penalty import LinearProgramError
from equipoise.solvers._penalty.steering import Add
from equipoise.solvers._wrappers import best_certified

from .lines import line


def flat(m, height=-1.0):
    """An objective that is 3 everywhere, under m constraints that are the same everywhere."""
    constraint = lambda x: (height, 0.0 * x)  # noqa: E731
    return FunctionProblem(
        lambda x: (3.0, 0.0 * x), [constraint] * m, domain=sets.Box(-1, 1, dim=2)
    )


# ------------------------------------------------------------------ level sets


@pytest.mark.parametrize(("accuracy", "expected"), [(0.1, 1e-5), (1e-6, SHARE_OF_ACCURACY * 1e-6)])
def test_an_oracle_of_levels_ends_far_below_its_accuracy(accuracy, expected):
    solver = LevelSet(eps_opt=1e-5).tuned(mu=2.0, accuracy=accuracy, multipliers=None)
    assert (solver.mu, solver.gap) == (2.0, accuracy)
    assert solver.eps_opt == pytest.approx(expected)


@pytest.mark.parametrize("accuracy", [0.1 * FEASIBILITY_ACCURACY, 10 * FEASIBILITY_ACCURACY])
def test_without_a_level_any_feasible_point_will_do(accuracy):
    solver, problem = LevelSet(accuracy=accuracy, mu=0.5, eps_opt=1e-6), flat(1)
    outer = SimpleNamespace(level=math.inf, retries=2)
    first = solver.inner(problem, outer)
    assert (first.accuracy, first.target) == (min(accuracy, FEASIBILITY_ACCURACY), 0.0)
    later = solver.inner(problem, SimpleNamespace(level=3.0, retries=0))
    assert (later.accuracy, later.target) == (accuracy, -math.inf)
    assert (later.mu, later.smallest, first.budget) == (0.5, 1e-6, 4 * later.budget)


# ------------------------------------------------------------------ the multiplier model


@pytest.mark.parametrize("m", [1, 2, 5])
def test_multipliers_are_those_of_a_mean_over_the_constraints(m):
    solver, rng = MultiplierModel(features=np.ones((m, 2)), hidden=[3]), np.random.default_rng(0)
    assert solver.hidden == (3,)
    problem, x0 = flat(m), np.zeros(2)
    state = solver.step(problem, solver.init(problem, x0), 0, rng)
    network = MultiplierNetwork((2, 3, 1))
    phi = network.start(np.random.default_rng(0))
    np.testing.assert_allclose(state.multipliers, np.abs(network.at(phi, np.ones((m, 2)))) / m)
    assert state.score == (0.0, 3.0)


def test_a_hidden_layer_may_have_one_unit():
    assert MultiplierModel(hidden=(1, 2)).hidden == (1, 2)
    with pytest.raises(ValueError, match="MultiplierModel: `hidden`"):
        MultiplierModel(hidden=(0,))


def test_no_squares_of_gradients_are_known_at_the_start():
    solver, x0 = MultiplierModel(features=np.ones((2, 3)), hidden=(4,)), np.array([3.0, -2.0])
    state = solver.init(flat(2), x0)
    assert not state.x_squares.any()
    assert not state.phi_squares.any()
    assert state.phi_squares.size == MultiplierNetwork((3, 4, 1)).dim
    assert (state.score, state.phi) == ((math.inf, math.inf), None)


def test_of_equal_candidates_the_first_is_kept():
    solver, problem, rng = MultiplierModel(every=2), flat(2), np.random.default_rng(0)
    state = replace(solver.init(problem, np.zeros(2)), score=(0.0, 3.0), best="first")
    assert solver.step(problem, state, 2, rng).best == "first"
    worse = replace(state, score=(0.0, np.nextafter(3.0, 4)))
    assert solver.step(problem, worse, 1, rng).best == "first"
    assert solver.step(problem, worse, 2, rng).best is worse.x
    violated = solver.step(flat(2, height=0.5), replace(worse, score=(1.0, 0.0)), 4, rng)
    assert violated.score == (0.5, 3.0)


# ------------------------------------------------------------------ the bundle


def test_a_bundle_begins_with_a_plane_of_each_function():
    problem = line([3.0, 4.0], [[1.0, 0.0]], [-2.0])
    state = ConstrainedBundle().init(problem, np.array([1.0, 1.0]))
    assert state.planes.weights.tolist() == [1.0, 0.0]
    assert state.planes.owners.tolist() == [0, 1]
    assert (state.L, state.fall, state.residual) == (5.0, 5.0, math.inf)
    assert state.p.tolist() == [0.0]
    still = ConstrainedBundle().init(flat(1), np.zeros(2))
    assert (still.L, still.fall) == (1.0, 1.0)


def test_a_bundle_counts_the_steps_that_have_nothing_to_win():
    solver, problem = ConstrainedBundle(), flat(1)
    state, idle = solver.init(problem, np.zeros(2)), []
    for t in range(3):
        state = solver.step(problem, state, t, np.random.default_rng(0))
        idle.append(state.idle)
    assert idle == [1, 2, 3]
    steep = line([1.0, 0.0], [[0.0, 1.0]], [-9.0], domain=problem.domain)
    later = replace(solver.init(steep, np.zeros(2)), idle=7)
    assert solver.step(steep, later, 0, np.random.default_rng(0)).idle == 0


@pytest.mark.parametrize(
    ("height", "status"), [(1e-3, Status.STALLED), (1.1e-3, Status.LOCALLY_INFEASIBLE)]
)
def test_planes_that_exclude_each_other_tell_of_a_violation_beyond_the_tolerance(height, status):
    solver = ConstrainedBundle(tol=1e-3)
    state = replace(solver.init(flat(1, height), np.zeros(2)), excluded=True)
    assert solver.verdict(state) is status


# ------------------------------------------------------------------ IMELa


@pytest.mark.parametrize(("t", "tol"), [(0, 1.0), (1, 1.0), (2, 1.0), (5, 0.5)])
def test_stages_of_imela_are_solved_to_a_falling_tolerance(t, tol):
    """Which is never more than 1."""
    solver = IMELa(dual_step=0.5, centre_step=1.0, smoothness=1.0, prox=4.0, inner_tol=3.0, steps=7)
    problem = flat(1)
    outer = replace(solver.init(problem, np.zeros(2)).outer, t=t, ahead=np.array([2.0]))
    inner = solver.inner(problem, outer)
    assert (inner.tol, inner.steps, inner.mu) == (tol, 7, 3.0)
    assert inner.step_size == 1 / (1.0 * (1 + 2.0) + 4.0)


# ------------------------------------------------------------------ Newton's method


@pytest.mark.parametrize(("slope", "accuracy"), [(8.0, 0.8), (1e-6, 1e-4)])
def test_newtons_method_begins_with_a_share_of_the_slope(slope, accuracy):
    """At a bound of the domain: the slope along the other side counts."""
    problem = line([-50.0, slope], [[0.0, 1.0]], [-1.0], domain=sets.Box(-1, 1, dim=2))
    x0 = np.array([1.0, 0.0])
    state = AugmentedNewton().init(problem, x0)
    assert state.accuracy == pytest.approx(accuracy)
    assert state.b == first_penalty_beside(problem, problem.at(x0), slope)
    assert (state.lam.tolist(), state.estimate_suffices, state.preconditioner) == (
        [0.0],
        True,
        None,
    )
    warm = AugmentedNewton(multipliers=(2.0,)).init(problem, x0)
    assert warm.accuracy == pytest.approx(0.1 * (slope + 2.0))
    assert (warm.lam.tolist(), warm.b) == ([2.0], PENALTY_WITH_MULTIPLIERS)
    assert (warm.estimate_suffices, warm.preconditioner) == (True, None)
    seen = replace(warm, preconditioner=Preconditioner.of(np.ones(2)))
    last = SimpleNamespace(success=True, multipliers=np.array([2.0]), state=seen)
    known = AugmentedNewton().warm_started(last).init(problem, x0)
    assert (known.estimate_suffices, known.preconditioner) == (False, seen.preconditioner)
    for given in ({}, {"multipliers": (2.0,)}):
        assert AugmentedNewton(penalty=7.0, **given).init(problem, x0).b == 7.0


# ------------------------------------------------------------------ smoothing


@pytest.mark.parametrize(
    ("facts", "options", "least", "w"),
    [
        ((False, 0.0), {"tol": 1e-3}, 1e-5, FIRST_WIDTH),
        ((False, 0.0), {"tol": 1e-9}, LEAST_WIDTH, FIRST_WIDTH),
        ((False, 1e-6), {"tol": 1e-9}, LEAST_WIDTH_IN_ROUNDINGS * 1e-6, FIRST_WIDTH),
        ((False, 0.0), {"width": 0.25}, 0.25, None),
        ((False, 0.0), {"multipliers": (2.0,)}, 1e-9, WARM_WIDTH),
        ((True, 0.0), {"tol": 1e-3}, 1e-5, 1e-5),
    ],
)
def test_the_first_width_and_the_last(facts, options, least, w):
    problem = line([1.0], [[1.0]], [-1.0], domain=sets.Box(-5, 5, dim=1))
    problem.smoothed = lambda width: problem
    problem.facts = replace(problem.facts, smooth=facts[0], rounding=facts[1])
    least = max(least, LEAST_WIDTH)
    state = Smoothing(**options).init(problem, np.zeros(1))
    assert state.least == pytest.approx(least)
    assert state.w == pytest.approx(max(FIRST_WIDTH if w is None else w, least) if w != 1e-5 else w)
    assert (state.k, state.x, state.w_last, state.done) == (0, None, math.inf, None)
    given = options.get("multipliers")
    assert state.inner.lam.tolist() == ([2.0] if given else [0.0])


# ------------------------------------------------------------------ exact penalty


def test_the_settings_of_the_paper():
    solver = ExactPenalty.paper(xi=0.25)
    assert (solver.eps, solver.xi, solver.grow, solver.products) == (1e-3, 0.25, 1.0, 0)
    assert solver.raise_penalty == Add(100.0)


def test_a_linear_program_that_fails_ends_the_method(monkeypatch):
    def fails(*_):
        raise LinearProgramError("The numbers are too far apart.")

    monkeypatch.setattr(exact_penalty, "steer", fails)
    solver, problem = ExactPenalty(radius=8.0), line([1.0], [[1.0], [2.0]], [0.0, 3.0])
    state = solver.init(problem, np.zeros(1))
    assert (state.radius, state.p, state.psi, state.theta) == (0.0, 10.0, math.inf, math.inf)
    assert state.lam.tolist() == [0.0, 0.0]
    assert solver.verdict(state) is Status.STALLED


# ------------------------------------------------------------------ parameters


def whole_numbers():
    """Every parameter of a method that is a whole number, or a number that may be none."""
    for name, method in sorted(SOLVERS.items()):
        for parameter, known in inspect.signature(method).parameters.items():
            if known.annotation == "int":
                yield pytest.param(method, parameter, id=f"{name}-{parameter}")


@pytest.mark.parametrize(("method", "parameter"), list(whole_numbers()))
def test_one_is_enough_of_everything(method, parameter):
    """Of steps, products, levels and what else is counted; less than none is refused."""
    method(**{parameter: 1})
    for wrong in (-1, 0.5, "1"):
        with pytest.raises((ValueError, TypeError), match=f"`{parameter}`"):
            method(**{parameter: wrong})


# ------------------------------------------------------------------ the best certified output


class Guessing:
    """Ends at a point with multipliers that have wrong signs."""

    def step(self, problem, state, t, rng):
        return state

    def verdict(self, state):
        return Status.STALLED

    def output(self, state):
        return np.array([1.0]), np.array([2.0, -5.0])


def test_multipliers_are_examined_without_their_negative_parts(monkeypatch):
    asked = []

    def certified(problem, x, multipliers, second_order):
        asked.append(multipliers if multipliers is None else multipliers.tolist())
        return SimpleNamespace(residual=1.0, multipliers=multipliers)

    monkeypatch.setattr(best_certified, "certify", certified)
    method = SimpleNamespace(solver=Guessing(), every=20)
    state = best_certified.Best(None, np.zeros(1), None, math.inf)
    after = best_certified.BestCertified.step(method, None, state, 0, None)
    assert asked == [[2.0, 0.0], None]
    assert (after.x.tolist(), after.multipliers.tolist(), after.residual) == (
        [1.0],
        [2.0, 0.0],
        1.0,
    )


# ------------------------------------------------------------------ backtracking


@pytest.mark.parametrize(("share", "longest"), [(0.5, True), (2.0, False)])
@pytest.mark.parametrize("n", [0.1, 10.0])
def test_values_that_rounding_hides_are_replaced_by_gradients(n, share, longest):
    """The value never falls, though the slope is 1: where rounding hides the fall, the slope is believed."""
    y = np.ones(1)
    size = n / share / (backtracking.TOO_CLOSE * backtracking.unit_rounding(y))
    problem = FunctionProblem(lambda x: (size, np.ones(1)), dim=1)
    point, taken, _ = backtracking.Backtracking().descend(problem, problem.at(y), n)
    assert (taken == n) == longest
    assert point.x[0] == pytest.approx(1.0 - taken)
