"""The edges of Newton's descent and its jumps: searches and updates, each rule from both sides."""

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise._errors import NonFiniteError
from equipoise.problems import QuadraticProblem
from equipoise.problems._merit import AugmentedLagrangianMerit
from equipoise.solvers._newton import descent as descent_module
from equipoise.solvers._newton import jump as jump_module
from equipoise.solvers._newton.descent import (
    MAX_HALVINGS,
    _DescentDirection,
    _newton,
    _search,
    _updated,
    descend,
)
from equipoise.solvers._newton.jump import JumpDirection, first_accepted
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.state import State

from .lines import line

# ------------------------------------------------------------------ updates of the descent


def updated(f, lam, **changes):
    problem = line([1.0], [[0.0]] * len(f), f)
    point = problem.at(np.zeros(1))
    state = State(pair_at(problem, point, np.zeros(len(f))), np.zeros(len(f)), 4.0, accuracy=0.5)
    state = replace(state, **{"violation": 1.0, "stuck": 2} | changes)
    return _updated(point, state, np.array(lam), growth=5.0, tol=1e-3)


@pytest.mark.parametrize(
    ("now", "b", "stuck"), [(0.25, 4.0, 0), (0.26, 20.0, 0), (0.9, 20.0, 0), (0.91, 20.0, 3)]
)
def test_the_penalty_is_raised_where_the_violation_stays(now, b, stuck):
    after = updated([now, -9.0], [0.0, 0.0])
    assert (after.b, after.stuck, after.violation) == (b, stuck, now)
    assert after.lam.tolist() == [0.0, 0.0]
    assert after.accuracy == pytest.approx(0.05)


def test_the_violation_of_an_update_counts_multipliers_of_inactive_constraints():
    assert updated([-0.5], [1.2]).violation == pytest.approx(0.3)
    assert updated([-0.2], [1.2]).violation == pytest.approx(0.2)
    assert updated([0.75], [1.2], violation=0.5).violation == 0.5


def test_tiny_violations_are_no_reason_to_be_stuck():
    assert updated([1e-3], [0.0], violation=1e-3).stuck == 0
    assert updated([1.01e-3], [0.0], violation=1e-3).stuck == 3
    assert updated([0.5], [0.0], accuracy=1e-4).accuracy == pytest.approx(1e-4)
    assert updated([0.9], [0.0], b=9e9).b == 1e10


# ------------------------------------------------------------------ the search of the descent


def descended(function, d, *, g=-1.0, radius=math.inf, x=0.0, domain=None, rounding=0.0):
    """Search from x along d, on a line, for less of a function; g is its slope there."""
    problem = FunctionProblem(
        lambda y: (function(float(y[0])), np.array([g])),
        domain=domain,
        dim=1,
        facts=Facts(rounding=rounding),
    )
    start = np.array([x])
    way = _DescentDirection(start, function(x), np.array([g]), None, None)
    merit = AugmentedLagrangianMerit(np.zeros(0), 1.0)
    new, after = _search(problem, way, np.array([d]), merit, radius)
    return new[0], after, new is start


def test_whole_steps_may_be_followed_by_longer_ones():
    assert descended(lambda y: -y, 2.0) == (2.0, math.inf, False)
    assert descended(lambda y: -y, 2.0, radius=0.5) == (0.5, 5.0, False)
    assert descended(lambda y: -y, 2.0, radius=100.0)[1] == 100.0
    assert descended(lambda y: -y, 20.0, radius=10.0, domain=sets.Box(-1, 3, dim=1))[:2] == (
        3.0,
        30.0,
    )


def test_steps_that_are_cut_may_be_followed_by_four_times_as_long_ones():
    cut = descended(lambda y: -y if y < 0.3 else 1.0, 2.0)
    assert cut == (0.25, 1.0, False)


def test_the_fall_must_be_a_share_of_the_slope():
    """Of a step of length 1 the value must fall by 1e-4 of the slope."""
    assert descended(lambda y: -1.01e-4 * y, 1.0)[0] == 1.0
    assert descended(lambda y: -0.99e-4 * y, 1.0)[2]
    assert descended(lambda y: -1e-9 * y, 1.0, g=3.0)[0] == 1.0  # a rise is not asked for
    assert descended(lambda y: 1e-9 * y, 1.0, g=3.0)[2]


@pytest.mark.parametrize(("value", "share"), [(0.5, 1.0), (-8.0, 8.0)])
def test_a_rise_within_rounding_counts_as_none(value, share):
    for rise, same in ((0.995, False), (1.005, True)):
        found = descended(
            lambda y, by=rise: value + by * 1e-8 * share * (y > 0), 1.0, g=0.0, rounding=1e-10
        )
        assert found[2] is same


def test_a_step_of_rounding_is_none():
    assert descended(lambda y: -y, 0.9e-15)[2]
    assert not descended(lambda y: -y, 1.2e-15)[2]
    assert descended(lambda y: -y, 1e-13, x=1e3)[2]
    assert not descended(lambda y: -y, 2e-12, x=1e3)[2]


def test_points_that_are_not_finite_shorten_the_step_unless_all_are():
    def refusing(bound):
        def function(y):
            if y > bound:
                raise NonFiniteError("It is not finite.")
            return -y

        return function

    assert descended(refusing(0.3), 1.0)[0] == 0.25
    assert descended(refusing(0.5 ** (MAX_HALVINGS - 1)), 1.0)[0] == 0.5 ** (MAX_HALVINGS - 1)
    with pytest.raises(NonFiniteError):
        descended(refusing(0.0), 1.0)
    assert descended(lambda y: y, 1.0)[2]


# ------------------------------------------------------------------ the search of a jump


def landed(
    rise, residual, *, slope=-1.0, rounding=0.0, value=0.0, at_residual=1.0, monkeypatch=None
):
    """Jump along 1 from 0, where merits rise as told; return how far it went."""
    problem = FunctionProblem(
        lambda y: (value + rise(float(y[0])), np.zeros(1)), dim=1, facts=Facts(rounding=rounding)
    )
    monkeypatch.setattr(
        jump_module, "pair_at", lambda p, point, lam: Pair(point.x, lam, None, residual(point.x[0]))
    )
    at = Pair(np.zeros(1), np.zeros(0), None, at_residual)
    none = np.zeros((0, 1))
    way = JumpDirection(np.ones(1), np.zeros(0), slope, np.zeros(0, int), none, none.T, False)
    found = first_accepted(problem, at, way, 2.0)
    return None if found is None else found.x[0]


@pytest.mark.parametrize(
    ("rise", "slope", "to"),
    [
        (lambda y: -1.01e-4 * y, -1.0, 1.0),
        (lambda y: -0.99e-4 * y, -1.0, None),
        (lambda y: 0.0 * y, 2.0, 1.0),
        (lambda y: 1.0 if y > 0.6 else -y, -1.0, 0.5),
        (lambda y: 1.0 if y > 0.3 else -y, -1.0, 0.25),
        (lambda y: 1.0 if y > 0.2 else -y, -1.0, None),
    ],
)
def test_a_jump_must_lower_the_merit(rise, slope, to, monkeypatch):
    assert landed(rise, lambda y: 2.9, slope=slope, monkeypatch=monkeypatch) == to


@pytest.mark.parametrize(
    ("rise", "residual", "to"),
    [(-1.0, 3.0, 1.0), (-1.0, 3.1, None), (0.1, 0.5, 1.0), (0.1, 0.51, None), (0.11, 0.5, None)],
)
def test_what_may_be_left_of_the_residual_after_a_jump(rise, residual, to, monkeypatch):
    found = landed(
        lambda y: rise * (y > 0.9) + (y <= 0.9) * (y > 0),
        lambda y: residual,
        monkeypatch=monkeypatch,
    )
    assert found == to


def test_only_a_whole_jump_may_raise_the_merit(monkeypatch):
    found = landed(
        lambda y: 0.05 * (y > 0), lambda y: 2.9 if y > 0.9 else 0.1, monkeypatch=monkeypatch
    )
    assert found is None


@pytest.mark.parametrize(("value", "size"), [(0.25, 1.0), (-8.0, 8.0)])
def test_jumps_allow_for_rounding(value, size, monkeypatch):
    for share, to in ((0.995, 1.0), (1.005, None)):
        found = landed(
            lambda y, s=share: s * 1e-8 * size * (y > 0),
            lambda y: 2.9,
            slope=0.0,
            rounding=1e-10,
            value=value,
            monkeypatch=monkeypatch,
        )
        assert found == to


def test_multipliers_move_as_far_as_the_point():
    problem = line([-1.0], [[1.0]], [-9.0])
    at = replace(pair_at(problem, problem.at(np.zeros(1)), np.array([1.0])), residual=20.0)
    way = JumpDirection(
        np.ones(1), np.array([0.5]), -1.0, np.zeros(1, int), np.ones((1, 1)), np.ones((1, 1)), False
    )
    found = first_accepted(problem, at, way, 0.01)
    assert (found.x[0], found.lam[0]) == (1.0, 0.5)
    kinked = FunctionProblem(
        lambda y: (-y[0] if y[0] < 0.6 else 9.0, -np.ones(1)),
        [lambda y: (y[0] - 9, np.ones(1))],
        dim=1,
    )
    found = first_accepted(kinked, at, way, 0.01)
    assert (found.x[0], found.lam[0]) == (0.5, 0.75)


def test_jumps_aim_for_a_third_of_the_tolerance(monkeypatch):
    asked = []
    cg = jump_module.conjugate_gradients

    def noted(product, target, accuracy, small_enough=0.0, **options):
        asked.append((accuracy, small_enough))
        return cg(product, target, accuracy, small_enough, **options)

    monkeypatch.setattr(jump_module, "conjugate_gradients", noted)
    problem = FunctionProblem(
        lambda x: (0.5 * x @ x, x), [lambda x: (1 - x[0] - x[1], -np.ones(2))], dim=2
    )
    at = pair_at(problem, problem.at(np.array([0.9, 0.3])), np.array([0.2]))
    estimate = Preconditioner.of(np.eye(2))
    jump_module.newton(problem, at, 2.0, estimate, 0.01, 0.1, 1e-3)
    assert asked == [(0.01, pytest.approx(3e-4)), (0.1, 0.0)]
    saddle = FunctionProblem(
        lambda x: (0.5 * (x[0] ** 2 - x[1] ** 2), x * [1.0, -1.0]),
        [lambda x: (1 - 2 * x[1], np.array([0.0, -2.0]))],
        dim=2,
    )
    asked.clear()
    at = pair_at(saddle, saddle.at(np.array([0.9, 0.3])), np.array([0.2]))
    way, _ = jump_module.newton(saddle, at, 2.0, estimate, 0.01, 0.1, 1e-3)
    assert asked == [(0.01, pytest.approx(3e-4))] * 2 + [(0.1, 0.0)]
    assert way.raised
    assert at.x[0] + way.d[0] == pytest.approx(0.0, abs=0.02)


def test_a_step_that_gains_nothing_is_stalled():
    problem = QuadraticProblem([np.diag([1.0, 3.0])], [np.zeros(2)], [0.0], sets.WholeSpace())
    pair = pair_at(problem, problem.at(np.zeros(2)), np.zeros(0))
    state = State(pair, np.zeros(0), 2.0, accuracy=0.5, stalled=4, radius=3.0)
    after = descend(problem, state, 5.0, 1e-9)
    assert (after.stalled, after.k) == (5, 1)
    assert after.pair.x.tolist() == [0.0, 0.0]
    away = replace(state, pair=pair_at(problem, problem.at(np.ones(2)), np.zeros(0)))
    after = descend(problem, away, 5.0, 1e-9)
    assert after.stalled == 0
    assert np.linalg.norm(after.pair.x) < 1.0


@pytest.mark.parametrize(("curvature", "remembers"), [(4.0, True), (-4.0, False)])
def test_descents_remember_directions_where_the_function_bends_upwards(curvature, remembers):
    H = np.diag([1.0, 2.0, 3.0, curvature])
    problem = QuadraticProblem([H], [np.ones(4)], [0.0], sets.WholeSpace())
    pair, known = (
        pair_at(problem, problem.at(np.zeros(4)), np.zeros(0)),
        Preconditioner.of(np.ones(4)),
    )
    state = State(pair, np.zeros(0), 2.0, accuracy=1e-9, preconditioner=known)
    after = descend(problem, state, 5.0, 1e-9).preconditioner
    assert not after.good
    assert (len(after.remembered) > 0) == remembers
    np.testing.assert_allclose(after.remembered.HP, H @ after.remembered.P, atol=1e-5)


# ------------------------------------------------------------------ multipliers of the descent


@pytest.mark.parametrize("total", [0.0, 8.0, 4000.0])
@pytest.mark.parametrize(
    ("share", "k", "after"),
    [(0.99, 3, 0), (1.01, 3, 4), (9.0, 98, 99), (9.0, 99, 100), (9.0, 100, 0)],
)
def test_multipliers_change_at_small_gradients_or_at_last(total, share, k, after):
    """A gradient is small relative to the multipliers, of whose rounding errors it is full."""
    small = 0.5 * max(1.0, 1e-3 * total)
    problem = line([share * small - total], [[1.0], [1.0]], [0.0, 0.0])
    pair = pair_at(problem, problem.at(np.zeros(1)), np.zeros(2))
    lam = total * np.array([0.75, 0.25])
    state = descend(problem, State(pair, lam, 2.0, accuracy=0.5, k=k), 5.0, 1e-9)
    assert state.k == after
    assert state.accuracy == (0.05 if after == 0 else 0.5)


def test_multipliers_of_no_constraints_do_not_change():
    problem = line([1e-9])
    pair = pair_at(problem, problem.at(np.zeros(1)), np.zeros(0))
    assert descend(problem, State(pair, np.zeros(0), 2.0, accuracy=0.5), 5.0, 1e-9).k == 1


def test_the_way_down_stays_in_the_domain_after_new_multipliers():
    """At a corner of a box, where the slope points outwards along one side."""
    problem = line([-3.0, 1e-3], [[1.0, 0.0]], [-1.0], domain=sets.Box(-1, 1, dim=2))
    pair = pair_at(problem, problem.at(np.array([1.0, 0.0])), np.zeros(1))
    state, way = _newton(problem, State(pair, np.array([0.5]), 2.0, accuracy=0.5), 5.0, 1e-9)
    assert state.k == 0
    np.testing.assert_allclose(way.downhill, [0.0, -1e-3])
    np.testing.assert_allclose(way.g, [-2.5, 1e-3])
    assert way.d[0] == 0.0


@pytest.mark.parametrize(("height", "computed"), [(0.0, 0), (1.0, 1)])
def test_a_gradient_that_is_known_is_not_computed_again(height, computed, monkeypatch):
    """The multipliers of the pair are those of the augmented Lagrangian unless the penalty moves them."""
    of_lagrangians = []

    class Plain(QuadraticProblem):
        def at(self, x):
            point = super().at(x)
            noted = lambda w: (w[0] and of_lagrangians.append(w)) or point.vjp(w)  # noqa: E731
            return replace(point, vjp=noted)

    rows = np.array([[5.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    problem = Plain(np.zeros((3, 2, 2)), rows, [0.0, 0.25, height], sets.WholeSpace())
    pair = pair_at(problem, problem.at(np.zeros(2)), np.array([1.5, 0.5]))
    of_lagrangians.clear()
    monkeypatch.setattr(descent_module, "hessian", lambda *_: lambda v: v)
    state = State(pair, np.array([1.0, 0.5]), 2.0, accuracy=1e-9)
    _, way = _newton(problem, state, 5.0, 1e-9)
    assert len(of_lagrangians) == computed
    np.testing.assert_allclose(way.g, [6.5, 1.5 + 2.0 * height])
