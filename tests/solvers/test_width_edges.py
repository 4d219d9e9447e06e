"""The edges of levels with mirror descent and of smoothing widths, each rule from both sides."""

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise import Status, sets
from equipoise.solvers import SFLS, SMD, Smoothing
from equipoise.solvers._methods import smoothing as smoothing_module
from equipoise.solvers._methods.smd import Average, level_above, with_step

from .lines import Inner, line

# ------------------------------------------------------------------ levels with mirror descent


class Mirror(Inner):
    """Stands for mirror descent that has found U."""

    y, alpha = np.array([0.25, 0.75]), np.array([0.5, 0.5])

    def output(self, _):
        return self.x[:1], np.array([3.0])


def sfls_after(monkeypatch, upper, *, stages=1, tries=0, eps_opt=0.125, **options):
    monkeypatch.setattr(SMD, "upper", lambda *_: upper)
    solver = SFLS(theta=2.0, eps=0.5, level=4.0, **options)
    problem = line([1.0], [[1.0]], [0.0])
    state = solver.begin(problem, np.zeros(1))
    state = replace(
        state,
        stages=stages,
        tries=tries,
        eps_opt=eps_opt,
        x=np.array([9.0]),
        multipliers=np.ones(1),
    )
    inner = Mirror([0.5, 7.0])
    return solver, solver.absorb(problem, state, inner, inner, None)


def test_a_level_is_lowered_by_what_mirror_descent_finds(monkeypatch):
    solver, after = sfls_after(monkeypatch, -0.5, warm=True)
    assert after.level == 4.0 - 0.5 / 4.0
    assert (after.x[0], after.multipliers[0], after.upper) == (0.5, 3.0, -0.5)
    assert (after.stages, after.tries, after.ended) == (2, 0, False)
    assert after.start.tolist() == [0.5]
    assert after.dual_start == (Mirror.y, Mirror.alpha)
    assert solver.finished(after) is None
    _, cold = sfls_after(monkeypatch, -0.5, warm=False)
    assert cold.start.tolist() == [0.0]
    assert cold.dual_start is None


@pytest.mark.parametrize(("upper", "lowered"), [(-0.125, False), (-0.126, True), (0.0, False)])
def test_levels_within_the_accuracy_are_tried_again(upper, lowered, monkeypatch):
    solver, after = sfls_after(monkeypatch, upper, retries=2)
    assert (after.level < 4.0) == lowered
    assert after.tries == (0 if lowered else 1)
    assert not after.ended
    _, last = sfls_after(monkeypatch, upper, retries=2, tries=2)
    assert last.ended is not lowered
    assert solver.finished(last) is (None if lowered else Status.STALLED)
    longer = solver.inner(None, after).steps / solver.inner(None, replace(after, tries=0)).steps
    assert longer == (1 if lowered else 2)


def test_the_accuracy_follows_from_the_first_bound_below_0(monkeypatch):
    assert sfls_after(monkeypatch, -0.5, eps_opt=None)[1].eps_opt == 0.5 * 0.5 / 2.0
    assert sfls_after(monkeypatch, 0.0, eps_opt=None)[1].eps_opt is None
    assert sfls_after(monkeypatch, -0.5)[1].eps_opt == 0.125


def test_a_point_that_is_not_feasible_is_no_answer_after_the_first(monkeypatch):
    assert sfls_after(monkeypatch, 0.5, stages=1)[1].x[0] == 9.0
    assert sfls_after(monkeypatch, 0.0, stages=1)[1].x[0] == 0.5
    assert sfls_after(monkeypatch, 0.5, stages=0)[1].x[0] == 0.5
    for stages, ended in ((3, False), (4, True)):
        assert sfls_after(monkeypatch, -0.5, stages=stages, max_levels=5)[1].ended is ended


def test_the_first_level_lies_above_a_feasible_point():
    problem = line([2.0], [[1.0]], [-1.0])
    margin = level_above(problem, np.zeros(1))
    assert margin > 0
    assert level_above(problem, np.ones(1)) == 2.0 + margin
    assert level_above(problem, np.array([1.5])) == margin


def test_sums_of_mirror_descent_are_weighted():
    new = Average(1.0, np.ones(2), np.full(1, 2.0), np.full(1, 3.0), np.full(1, 4.0), 5.0)
    first = with_step(None, new, 0.5)
    assert (first.total, first.x.tolist(), first.square) == (0.5, [0.5, 0.5], 2.5)
    second = with_step(first, new, 2.0)
    assert (second.total, second.y.tolist(), second.u.tolist()) == (2.5, [5.0], [7.5])
    assert (second.v.tolist(), second.square) == ([10.0], 12.5)


# ------------------------------------------------------------------ smoothing


class Newton:
    """Stands for Newton's method on one width."""

    def __init__(self, verdict=None):
        self.ended = verdict

    def step(self, problem, inner, t, rng):
        self.asked = problem, inner, t
        return "after"

    def init(self, problem, x):
        self.started = problem, x
        return "next"

    def verdict(self, _):
        return self.ended

    def output(self, _):
        return np.array([2.0]), np.array([0.5])


def smoothed(
    monkeypatch, verdict, *, k=0, w=1.0, least=1e-3, violation=0.0, x=None, w_last=math.inf
):
    newton = Newton(verdict)
    monkeypatch.setattr(Smoothing, "_newton", lambda *_: newton)
    monkeypatch.setattr(
        smoothing_module,
        "replace",
        lambda thing, **c: thing if thing is newton else replace(thing, **c),
    )
    problem = line([1.0], [[0.0]], [violation], domain=sets.Box(-5, 5, dim=1))
    problem.smoothed = lambda width: problem
    state = smoothing_module.State("before", w, least, k, x, w_last)
    return newton, Smoothing(tol=1e-6).step(problem, state, 0, None)


def test_newton_steps_go_on_until_it_ends(monkeypatch):
    most = smoothing_module.MAX_STEPS_PER_WIDTH
    newton, after = smoothed(monkeypatch, None, k=most - 2)
    assert (after.inner, after.k, after.w, after.done) == ("after", most - 1, 1.0, None)
    assert newton.asked[1:] == ("before", most - 2)
    _, after = smoothed(monkeypatch, None, k=most - 1)
    assert (after.inner, after.k, after.w) == ("next", 0, 1.0 / smoothing_module.WIDTH_FACTOR)


@pytest.mark.parametrize("least", [1e-3, 0.9])
def test_the_next_width_starts_where_the_last_two_point(least, monkeypatch):
    newton, after = smoothed(
        monkeypatch, Status.CONVERGED, least=least, x=np.array([1.0]), w_last=4.0
    )
    w = max(1.0 / smoothing_module.WIDTH_FACTOR, least)
    assert after.w == w
    assert newton.started[1][0] == pytest.approx(2.0 + (w - 1.0) / (1.0 - 4.0) * (2.0 - 1.0))
    assert (after.x[0], after.w_last, after.done) == (2.0, 1.0, None)
    newton, _ = smoothed(monkeypatch, Status.CONVERGED)
    assert newton.started[1][0] == 2.0


def test_the_last_width_ends_the_method(monkeypatch):
    for verdict, done in (
        (Status.CONVERGED, Status.CONVERGED),
        (Status.STALLED, Status.STALLED),
    ):
        _, after = smoothed(monkeypatch, verdict, w=1e-3, k=4)
        assert (after.done, after.inner) == (done, "after")
    _, after = smoothed(monkeypatch, Status.STALLED, violation=1e-6)
    assert after.done is None
    _, after = smoothed(monkeypatch, Status.STALLED, violation=1.1e-6)
    assert after.done is Status.STALLED
    _, after = smoothed(monkeypatch, Status.CONVERGED, violation=1.0)
    assert after.done is None
