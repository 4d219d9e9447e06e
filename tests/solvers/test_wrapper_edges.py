"""Edges of sequences, wrappers and the steps of SQP, each rule from both sides."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, sets
from equipoise.solvers import (
    SQP,
    AugmentedNewton,
    Averaged,
    BestCertified,
    Restarted,
    Sequence,
    SwitchingSubgradient,
)
from equipoise.solvers._methods import sqp as sqp_module
from equipoise.solvers._parts.steps import Constant
from equipoise.solvers._plada.reduced import (
    ReducedLagrangian,
)
from equipoise.solvers._plada.step_lengths import Spectral, StepStart
from equipoise.solvers._plada.theta_prox_linear import PROXIMAL_WEIGHT, _box_qp
from equipoise.solvers._proxy import candidates
from equipoise.solvers._proxy.candidates import shrink
from equipoise.solvers._wrappers.averaged import Mean, Means

from .lines import line

# ------------------------------------------------------------------ sequences and wrappers


@pytest.mark.parametrize(
    ("k", "verdict", "smooth", "over"),
    [
        (9, None, False, False),
        (10, None, True, True),
        (3, Status.STALLED, False, True),
        (3, Status.STALLED, True, False),
        (3, Status.CONVERGED, False, False),
    ],
)
def test_a_sequence_hands_over(k, verdict, smooth, over, monkeypatch):
    monkeypatch.setattr(SQP, "verdict", lambda *_: verdict)
    monkeypatch.setattr(SQP, "looks_smooth", lambda *_: smooth)
    sequence = Sequence(SQP(), SwitchingSubgradient(), steps=10)
    assert sequence._hands_over(None, k) is over
    newton = Sequence(SQP(), AugmentedNewton(), steps=10)
    assert newton._hands_over(None, k) is (over or verdict is Status.STALLED)


def test_averages_are_weighted_by_their_numbers():
    a, b = Mean(np.array([2.0]), np.array([4.0]), 3), Mean(np.array([6.0]), np.array([0.0]), 1)
    joined = a.joined(b)
    assert (joined.x[0], joined.multipliers[0], joined.n) == (3.0, 3.0, 4)
    assert a.joined(replace(b, multipliers=None)).multipliers is None
    assert replace(a, multipliers=None).joined(b).multipliers is b.multipliers


@pytest.mark.parametrize(
    ("t", "begins"),
    [(0, True), (1, True), (2, False), (3, True), (4, False), (6, False), (7, True)],
)
def test_epochs_begin_at_powers_of_two(t, begins, monkeypatch):
    solver = SwitchingSubgradient()
    monkeypatch.setattr(SwitchingSubgradient, "step", lambda *_: 5.0)
    monkeypatch.setattr(SwitchingSubgradient, "output", lambda _, inner: (np.array([inner]), None))
    one = Mean(np.array([1.0]), None, 1)
    state = Averaged(solver).step(None, Means(0.0, replace(one, n=2), one), t, None)
    assert state.current.n == (1 if begins else 2)
    assert state.earlier.n == (1 if begins else 2)
    assert state.current.x[0] == (5.0 if begins else 3.0)


@pytest.mark.parametrize(("k", "starts"), [(2, False), (3, True)])
def test_rounds_are_as_long_as_they_say(k, starts):
    problem = line([1.0])
    solver = Restarted(SwitchingSubgradient(step_size=Constant(0.5)), every=4, growth=3.0)
    state = replace(solver.init(problem, np.ones(1)), k=k)
    after = solver.step(problem, state, 9, np.random.default_rng(0))
    assert (after.k, after.length) == ((0, 12.0) if starts else (3, 4.0))


@pytest.mark.parametrize(("t", "examined"), [(3, False), (4, True), (9, True)])
def test_outputs_are_examined_now_and_then(t, examined):
    problem = line([1.0], domain=sets.Box(-1, 1, dim=1))
    solver = BestCertified(SwitchingSubgradient(step_size=Constant(9.0)), every=5)
    state = solver.init(problem, np.ones(1))
    state = replace(state, inner=replace(state.inner, x=-np.ones(1)))
    after = solver.step(problem, state, t, np.random.default_rng(0))
    assert math.isfinite(after.residual) is examined
    if examined:
        assert (after.x[0], after.residual <= 1e-15) == (-1.0, True)
        kept = replace(after, x=np.zeros(1))
        assert solver.step(problem, kept, t, np.random.default_rng(0)).x[0] == 0.0


# ------------------------------------------------------------------ SQP


def sqp_state(**changes):
    problem = line([1.0, 0.0], [[0.0, 1.0]], [0.5])
    state = SQP().init(problem, np.zeros(2))
    return problem, replace(state, **changes)


def test_the_ends_of_sqp():
    _, state = sqp_state(residual=1e-3, stuck=False, slow=0)
    solver = SQP(tol=1e-3)
    assert solver.verdict(state) is Status.CONVERGED
    state = replace(state, residual=1.1e-3)
    assert solver.verdict(state) is None
    assert solver.verdict(replace(state, stuck=True)) is Status.STALLED
    assert solver.verdict(replace(state, slow=sqp_module.PATIENCE + 4)) is None
    assert solver.verdict(replace(state, slow=sqp_module.PATIENCE + 5)) is Status.STALLED
    assert solver.looks_smooth(replace(state, kinks=False))
    assert not solver.looks_smooth(replace(state, kinks=True))


@pytest.mark.parametrize(
    ("fresh", "violation", "what"),
    [(False, 0.5, "again"), (True, 0.5, "restore"), (True, -0.5, "stuck")],
)
def test_what_sqp_does_where_no_step_is_accepted(fresh, violation, what, monkeypatch):
    monkeypatch.setattr(sqp_module, "search", lambda *_: None)
    monkeypatch.setattr(sqp_module, "restarted", lambda *_: "again")
    asked = []
    monkeypatch.setattr(sqp_module, "lower_violation", lambda p, state: asked.append(state))
    problem, state = sqp_state(fresh=fresh, values=np.array([2.0, violation]))
    found = SQP()._moved(problem, state)
    if what == "again":
        assert found == "again"
    else:
        assert found.stuck
        assert len(asked) == (what == "restore")
    if what == "restore":
        assert asked[0].restoring == 0.5
        assert len(asked[0].filter.pairs) == 1


@pytest.mark.parametrize(("h", "left"), [(0.45, 0.0), (0.46, 0.5)])
def test_restoration_ends_where_a_tenth_is_gained(h, left, monkeypatch):
    problem, state = sqp_state(restoring=0.5)
    point = problem.at(np.array([0.0, h - 0.5]))
    monkeypatch.setattr(sqp_module, "lower_violation", lambda *_: (point, 0.125))
    after = SQP()._moved(problem, state)
    assert (after.restoring, after.damping) == (left, 0.125)
    blocked = replace(state, filter=state.filter.with_pair(0.1, -9.0))
    assert SQP()._moved(problem, blocked).restoring == 0.5


@pytest.mark.parametrize(("value", "size"), [(0.25, 1.0), (-8.0, 8.0)])
def test_spectral_steps_allow_for_rounding(value, size):
    for share, to in ((0.995, 1.0), (1.005, 0.0)):
        problem = FunctionProblem(
            lambda x, s=share: (value + s * 1e-8 * size * (x[0] > 0), np.ones(1)),
            dim=1,
            facts=Facts(rounding=1e-10),
        )
        reduced = ReducedLagrangian(np.zeros(0), 1.0, np.zeros(0), np.zeros(0))
        point = problem.at(np.zeros(1))
        step = lambda p, point, lam, eta: point.x + eta  # noqa: E731
        x, _ = Spectral(1.0, 9.0).move(StepStart(problem, point, np.zeros(0), reduced, step))
        assert x[0] == to


def test_a_mixture_of_three_where_none_is_feasible():
    """The least largest mean is 1/2: of the first and the third, whatever the second is."""
    p = shrink([1.0, 0.0, 2.0], [[2.0, -1.0], [3.0, 3.0], [-1.0, 2.0]])
    np.testing.assert_allclose(p, [0.5, 0.0, 0.5], atol=1e-7)


def test_a_step_that_does_not_move_tells_no_curvature():
    size = Spectral(1.0, 9.0)
    problem = line([1.0])
    reduced = ReducedLagrangian(np.zeros(0), 1.0, np.zeros(0), np.zeros(0))
    point = problem.at(np.ones(1))
    place = StepStart(problem, point, np.zeros(0), reduced, lambda p, point, lam, eta: point.x)
    x, after = size.move(place)
    assert x[0] == 1.0
    assert after is size


def test_nearly_singular_programs_take_two_proximal_steps():
    """A curvature as small as the weight of the proximal term leaves a quarter of the way."""
    H = np.diag([1.0, PROXIMAL_WEIGHT])
    s = _box_qp(H, np.array([0.3, 0.1 * PROXIMAL_WEIGHT]))
    np.testing.assert_allclose(s, [0.3, 0.1 * 0.75], rtol=1e-5)


def test_the_least_exceeding_mixture_is_taken_where_the_second_program_fails(monkeypatch):
    answers = iter([SimpleNamespace(x=np.array([0.25, 0.5, 0.25, 0.125])), SimpleNamespace(x=None)])
    monkeypatch.setattr(candidates, "linprog", lambda *_, **__: next(answers))
    p = shrink([1.0, 0.0, 2.0], [[2.0], [3.0], [1.0]])
    assert p.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    ("growth", "ends"), [(1.0, [2, 4, 6, 8]), (1.5, [2, 5, 10, 17]), (3.0, [2, 8, 26])]
)
def test_rounds_become_longer_by_their_growth(growth, ends):
    """Of 2 steps, 2 times the growth, and so on; what is not whole is rounded up."""
    problem, rng = line([1.0], domain=sets.Box(-1, 1, dim=1)), np.random.default_rng(0)
    method = Restarted(SwitchingSubgradient(), every=2, growth=growth)
    state, found = method.init(problem, np.zeros(1)), []
    for t in range(1, ends[-1] + 1):
        state = method.step(problem, state, t - 1, rng)
        if state.k == 0:
            found.append(t)
    assert found == ends
