"""Line search, restoration and arrival of `SQP`, each rule from both sides."""

import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise._errors import NonFiniteError
from equipoise.solvers._sqp import search as search_module
from equipoise.solvers._sqp.arrival import JUMP, SHORT, _jumps, confirmed, first_state, modelled
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram
from equipoise.solvers._sqp.restoration import lower_violation
from equipoise.solvers._sqp.search import _corrected, _much_less, _shorter, search

# ------------------------------------------------------------------ the line search


@dataclass
class Asked:
    """A filter that accepts the trial it is told to, and notes what it was asked."""

    accepted: int = -1
    is_armijo: bool = False
    most: float = 1e9
    seen: list = field(default_factory=list)

    def accepts(self, *given):
        self.seen.append(given)
        return len(self.seen) == self.accepted

    def armijo(self, *given):
        self.seen.append(given)
        return self.is_armijo

    def with_pair(self, *pair):
        return pair


def started(objective, constraints=(), filter_=None, step=1.0, **facts):
    """A state at 0 on the line with a step of choice."""
    problem = FunctionProblem(objective, constraints, dim=1, facts=Facts(**facts))
    state = first_state(problem, problem.at(np.zeros(1)), np.zeros(len(constraints)), np.eye(1))
    return problem, replace(state, s=np.array([step]), filter=filter_ or Asked(), least=0.0)


def parabola(x):
    """In units of its slope at 0, which is 3, it is ``50/3 + 4 x^2 - x``."""
    return float(50 + 12 * x[0] ** 2 - 3 * x[0]), 24 * x - 3


def test_trials_are_minimisers_of_parabolas():
    problem, state = started(parabola, rounding=1e-9)
    assert search(problem, state) is None
    a, expected = 1.0, []
    for _ in range(12):
        expected.append(a)
        rise, slope = 4 * a**2 - a, -a
        a *= min(max(-slope / (2 * (rise - slope)), 0.1), 0.5)
    found = state.filter.seen
    assert [call[3] for call in found] == pytest.approx(expected, rel=1e-12)
    for (old, new, slope, _, rounding), known in zip(found, expected):
        assert old == (0.0, pytest.approx(50 / 3))
        assert new == (0.0, pytest.approx(50 / 3 + 4 * known**2 - known))
        assert slope == pytest.approx(-1.0)
        assert rounding == pytest.approx(10 * 1e-9 * 50 / 3)


def test_rounding_of_small_objectives_is_that_of_1():
    problem, state = started(lambda x: (0.25 - x[0], -np.ones(1)), rounding=1e-9)
    search(problem, state)
    assert state.filter.seen[0][4] == pytest.approx(1e-8)


@pytest.mark.parametrize(
    ("rise", "slope", "share"),
    [
        (1.0, -1.0, 0.25),
        (10.0, -1.0, 0.1),
        (-0.5, -1.0, 0.5),
        (-1.0, -1.0, 0.5),
        (-2.0, -1.0, 0.5),
        (2.0, 1.0, 0.5),
        (1.0, 0.0, 0.5),
        (1.0, -2.0, 1 / 3),
    ],
)
def test_the_share_of_a_shorter_step(rise, slope, share):
    assert _shorter(rise, slope) == pytest.approx(share)


@pytest.mark.parametrize(("most", "share"), [(2.0, 0.5), (1.0, 0.1)])
def test_steps_that_violate_more_are_halved_unless_it_is_too_much(most, share):
    """The violation ahead is 2 a: at ``most`` it is not too much."""
    problem, state = started(
        lambda x: (-x[0], -np.ones(1)), [lambda x: (2 * x[0], np.array([0.5]))], Asked(most=most)
    )
    state = replace(state, lam=np.zeros(1))
    search(problem, state)
    lengths = list(dict.fromkeys(call[3] for call in state.filter.seen))
    assert lengths[1] == pytest.approx(share)
    if share == 0.5:
        assert len(lengths) == 12


def test_points_where_functions_are_not_finite_are_skipped_for_a_while():
    def objective(x):
        if x[0] > bound:
            raise NonFiniteError("It is not finite.")
        return 0.0, -np.ones(1)

    bound = 1e-3
    problem, state = started(objective)
    search(problem, state)
    assert state.filter.seen[0][3] == pytest.approx(1e-4)
    bound = 0.0
    with pytest.raises(NonFiniteError):
        search(problem, state)
    bound = 1.5e-5
    assert search(problem, replace(state, filter=Asked(accepted=1)))[0].x[0] == pytest.approx(1e-5)


@pytest.mark.parametrize("is_armijo", [True, False])
def test_a_step_for_the_objective_leaves_the_filter(is_armijo):
    problem, state = started(parabola, filter_=Asked(accepted=2, is_armijo=is_armijo))
    point, after = search(problem, state)
    assert point.x[0] == pytest.approx(1 / 8)
    assert after == (state.filter if is_armijo else (0.0, pytest.approx(50 / 3)))
    assert state.filter.seen[2] == (0.0, pytest.approx(-1.0), pytest.approx(1 / 8))


@pytest.mark.parametrize(("least", "taken"), [(2.0, True), (1.99, False)])
def test_much_less_is_half_of_the_least_residual(least, taken):
    """At 1 the objective's slope is 1, and so the residual; the violation is 0 there."""
    problem, state = started(lambda x: (0.5 * x[0] ** 2, x), [lambda x: (x[0] - 1.0, np.ones(1))])
    state = replace(state, least=least, lam=np.zeros(1))
    assert _much_less(problem, state, problem.at(np.ones(1))) is taken
    beyond = problem.at(np.array([1.01]))
    assert not _much_less(problem, replace(state, least=0.019), beyond)
    found = search(problem, state)
    assert (found is not None) is taken
    if taken:
        assert found[0].x[0] == 1.0
        assert found[1] is state.filter


@pytest.mark.parametrize(("least", "is_less"), [(1.0, True), (0.99, False)])
def test_much_less_is_half_of_the_violation_too(least, is_less):
    problem, state = started(lambda x: (0.0, 0.0 * x), [lambda x: (0.5, np.zeros(1))])
    state = replace(state, least=least, lam=np.zeros(1))
    assert _much_less(problem, state, problem.at(np.ones(1))) is is_less


def test_only_the_whole_step_is_corrected(monkeypatch):
    asked = []
    monkeypatch.setattr(search_module, "_corrected", lambda *given: asked.append(given[2].x[0]))
    problem, state = started(lambda x: (-x[0], -np.ones(1)), [lambda x: (x[0], np.ones(1))])
    search(problem, state)
    assert asked == [1.0]
    asked.clear()
    down, state = started(lambda x: (x[0] ** 2 - x[0], 2 * x - 1))
    search(down, state)
    assert asked == []


@pytest.mark.parametrize("accepted", [2, 3])
def test_a_correction_is_taken_where_the_filter_accepts_it(accepted, monkeypatch):
    problem, state = started(
        lambda x: (-x[0], -np.ones(1)), [lambda x: (x[0], np.ones(1))], Asked(accepted=accepted)
    )
    bent = problem.at(np.array([0.25]))
    monkeypatch.setattr(search_module, "_corrected", lambda *_: bent)
    point, _ = search(problem, state)
    assert point.x[0] == (0.25 if accepted == 2 else 0.5)
    assert state.filter.seen[1][:2] == ((0.0, 0.0), (0.25, -0.25))


@pytest.mark.parametrize(("ahead", "to"), [(0.5, 1.5), (1.0, 2.0), (1.01, None)])
def test_a_correction_is_no_longer_than_the_step(ahead, to):
    """The step is 1 long, and the constraint ahead asks for so much more."""
    problem, state = started(
        lambda x: (0.5 * x[0] ** 2, x),
        [lambda x: (1 - x[0] if x[0] < 0.9 else ahead + 2 - 2 * x[0], -np.ones(1))],
    )
    bent = _corrected(problem, state, SimpleNamespace(constraints=np.array([ahead])))
    assert (bent and bent.x[0]) == (to and pytest.approx(to))


# ------------------------------------------------------------------ restoration


def violated(reach, damping=1e-3):
    """``5 + 5 x`` within reach of 0 and 5 beyond, in units of its slope ``1 + x``."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (5.0 + 5.0 * x[0] * (abs(x[0]) <= reach), np.array([5.0]))],
        dim=1,
    )
    state = first_state(problem, problem.at(np.zeros(1)), np.zeros(1), np.eye(1))
    return problem, replace(state, damping=damping)


@pytest.mark.parametrize(
    ("reach", "damping", "used"), [(2.0, 1e-3, 1e-3), (0.05, 1e-3, 1e2), (2e-4, 1e-3, 1e4)]
)
def test_restoration_is_damped_until_the_promise_is_kept(reach, damping, used):
    point, after = lower_violation(*violated(reach, damping))
    assert point.x[0] == pytest.approx(-1 / (1 + used), rel=1e-6)
    assert after == pytest.approx(0.1 * used)


def test_restoration_ends_after_eight_dampings_or_without_a_promise():
    assert lower_violation(*violated(5e-5)) is None
    assert lower_violation(*violated(2.0, 1e4)) is not None
    assert lower_violation(*violated(2.0, 1e5)) is None  # promises 2e-5 of the violation


@pytest.mark.parametrize(("damping", "found"), [(1.9e4, True), (2.1e4, False)])
@pytest.mark.parametrize("height", [0.1, 3.0])
def test_a_promise_is_a_share_of_the_violation(height, damping, found):
    """Of its square the model takes ``2 / damping``, which must be a ten thousandth."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x), [lambda x: (height + x[0], np.ones(1))], dim=1
    )
    state = first_state(problem, problem.at(np.zeros(1)), np.zeros(1), np.eye(1))
    lowered = lower_violation(problem, replace(state, damping=damping))
    assert (lowered is not None) == found
    if found:
        assert lowered[0].x[0] == pytest.approx(-height / (1 + damping), rel=1e-6)


def test_restoration_ends_where_its_program_has_no_answer(monkeypatch):
    monkeypatch.setattr(QuadraticProgram, "least_squares", lambda _: None)
    assert lower_violation(*violated(2.0)) is None


def test_only_the_violated_constraints_are_lowered():
    """``1 + x_0 <= 0`` is violated and ``x_1 - 3 <= 0`` is met; each in units of 1."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (1 + x[0], np.array([1.0, 0.0])), lambda x: (x[1] - 3, np.array([0.0, 1.0]))],
        dim=2,
    )
    state = first_state(problem, problem.at(np.zeros(2)), np.zeros(2), np.eye(2))
    point, _ = lower_violation(problem, state)
    np.testing.assert_allclose(point.x, [-1 / 1.001, 0.0], rtol=1e-6, atol=1e-9)


# ------------------------------------------------------------------ arrival


@pytest.mark.parametrize(("share", "jumps"), [(0.98, True), (1.02, False)])
@pytest.mark.parametrize(
    ("x", "unit", "size"),
    [
        ([3.0, 4.0], [1.0, 1.0], 5.0),
        ([0.3, 0.4], [1.0, 1.0], 1.0),
        ([30.0, 40.0], [10.0, 10.0], 50.0),
    ],
)
def test_kinks_show_in_short_steps(x, unit, size, share, jumps):
    state = SimpleNamespace(
        x=np.array(x), unit=np.array(unit), merit=SimpleNamespace(weights=np.array([1.0, 0.5]))
    )
    s = share * SHORT * size * np.array([0.6, 0.8])
    assert _jumps(state, s, np.ones((2, 2))) is jumps


@pytest.mark.parametrize(("share", "jumps"), [(1.02, True), (0.98, False)])
def test_gradients_jump_in_units_of_variables_and_functions(share, jumps):
    state = SimpleNamespace(
        x=np.zeros(2),
        unit=np.array([2.0, 1.0]),
        merit=SimpleNamespace(weights=np.array([1.0, 0.5])),
    )
    change = np.array([[0.0, 0.0], [share * JUMP, 0.0]])
    assert _jumps(state, np.zeros(2), change) is jumps


@pytest.mark.parametrize(
    ("halved", "slow", "after"), [(4.0, 3, (2.0, 0)), (3.99, 3, (3.99, 4)), (math.inf, 0, (2.0, 0))]
)
def test_a_run_is_slow_until_the_residual_is_halved(halved, slow, after):
    problem = FunctionProblem(lambda x: (2.0 * x[0], np.array([2.0])), dim=1)
    state = first_state(problem, problem.at(np.zeros(1)), np.zeros(0), np.eye(1))
    for least in (1.0, 5.0):
        found = modelled(problem, replace(state, halved=halved, slow=slow, least=least))
        assert (found.halved, found.slow) == after
        assert found.residual == 2.0
        assert found.least == min(2.0, least)
        assert not found.elastic
        np.testing.assert_allclose(found.s, [-2.0])


def test_a_state_without_pairs_has_all_gradients():
    _, state = started(lambda x: (x[0], np.ones(1)))
    assert confirmed(None, state) is state


def test_a_state_without_any_program_is_stuck(monkeypatch):
    problem, state = started(lambda x: (x[0], np.ones(1)))
    monkeypatch.setattr(QuadraticProgram, "solve", lambda _: None)
    monkeypatch.setattr(QuadraticProgram, "elastic", lambda _: None)
    found = modelled(problem, replace(state, lam=np.zeros(0)))
    assert found.stuck
    assert found.s.tolist() == [0.0]
    assert not found.elastic


def test_the_program_knows_how_the_domain_bends():
    """On a ball of radius 2 a gradient of length 3 adds 1.5 to the curvature."""
    problem = FunctionProblem(
        lambda x: (3.0 * x[0] + x[1], np.array([3.0, 1.0])), domain=sets.L2Ball(2.0), dim=2
    )
    state = first_state(problem, problem.at(np.array([-2.0, 0.0])), np.zeros(0), np.eye(2))
    bend = problem.domain.bending(np.array([-2.0, 0.0]), np.array([-3.0, -1.0]))
    assert np.max(bend) > 0
    assert state.s[1] == pytest.approx(-1 / (1 + float(np.max(bend))), rel=1e-3)
