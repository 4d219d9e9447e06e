"""When a jump is refused, followed by chord steps, or tells of products: each rule from both sides."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from equipoise import sets
from equipoise.problems import QuadraticProblem
from equipoise.solvers._newton import jump as jump_module
from equipoise.solvers._newton.chord import FAST_JUMP
from equipoise.solvers._newton.hessian import raised_inverse
from equipoise.solvers._newton.jump import MAX_ACTIVE, MAX_JUMP, JumpDirection, jump, newton
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.quasi import PATIENCE, STEPS_WITHOUT, _first, quasi_jump
from equipoise.solvers._newton.state import State

NONE = np.zeros(0)


@dataclass
class Noting:
    """The identity for an estimate, which notes how many products it hears of."""

    heard: list = field(default_factory=list)
    bends = False

    def solve(self, v):
        return v

    def raised(self, rows, b):
        return raised_inverse(self.solve, rows, b)

    def after(self, notes, products, bends=False):
        self.heard.append(products)
        return self


@pytest.mark.parametrize(
    ("left", "matrix", "raised", "follows"),
    [
        (2.0 * FAST_JUMP, True, False, True),
        (2.1 * FAST_JUMP, True, False, False),
        (0.0, False, False, False),
        (0.0, True, True, False),
        (0.0, False, True, False),
        (None, True, False, False),
    ],
)
def test_chord_steps_follow_a_fast_jump_with_a_known_matrix(
    left, matrix, raised, follows, monkeypatch
):
    """From a residual of 2; the chord has the rows of the jump, and the tolerance asked for."""
    way = JumpDirection(np.ones(1), NONE, -1.0, np.array([7]), NONE, NONE, raised)
    known = Preconditioner.of(np.eye(1) if matrix else np.ones(1))
    start, end = (Pair(np.array([x]), NONE, np.ones(1), 0.0) for x in (0.0, 9.0))
    start = Pair(start.x, NONE, start.gradient, 2.0)
    landed = None if left is None else Pair(np.array([1.0]), NONE, np.ones(1), left)
    seen = []
    monkeypatch.setattr(jump_module, "newton", lambda *_: (way, known))
    monkeypatch.setattr(jump_module, "first_accepted", lambda *_: landed)
    monkeypatch.setattr(
        jump_module.Chord,
        "follow",
        lambda *given: seen.append((given[0].rows[0], *given[2:])) or end,
    )
    found, after = jump(None, start, 1.0, known, 1.0, 1.0, 0.125)
    assert found is (end if follows else landed)
    assert after is known
    assert seen == ([(7, landed, 0.125)] if follows else [])


def quadratic(H, q, rows=(), offsets=()):
    """``<x, H x> / 2 + <q, x>`` under linear constraints."""
    d = len(q)
    return QuadraticProblem(
        [np.array(H, float), *(np.zeros((d, d)) for _ in rows)],
        np.array([q, *rows], float),
        [0.0, *offsets],
        sets.WholeSpace(),
    )


def way_from(problem, x, lam=NONE, known=None, accuracy=1e-12, row_accuracy=1e-12):
    point = problem.at(np.array(x, float))
    at = pair_at(problem, point, np.array(lam, float))
    return newton(problem, at, 1.0, known or Noting(), accuracy, row_accuracy, 0.0)[0]


@pytest.mark.parametrize("share", [0.999, 1.001])
@pytest.mark.parametrize(("x", "size"), [(0.0, 1.0), (0.5, 1.0), (-3.0, 3.0)])
def test_jumps_beyond_a_hundred_lengths_are_refused(x, size, share):
    """The minimiser of ``(x - c)^2 / 2`` is ``c - x`` away."""
    length = share * MAX_JUMP * size
    way = way_from(quadratic([[1.0]], [-(x + length)]), [x])
    if share > 1:
        assert way is None
    else:
        np.testing.assert_allclose(way.d, [length])


def test_constraints_may_become_active_where_they_push():
    """With ``b = 1``: those with a multiplier, and those violated by more than nothing."""
    rows, offsets = np.ones((5, 1)), [0.0, -1.0, -2.0, 1e-9, 0.0]
    way = way_from(quadratic([[1.0]], [0.0], rows, offsets), [0.0], [0.0, 0.0, 0.5, 0.0, 0.5])
    assert way.rows.tolist() == [2, 3, 4]


@pytest.mark.parametrize(("count", "found"), [(MAX_ACTIVE, True), (MAX_ACTIVE + 1, False)])
def test_many_constraints_are_too_many(count, found):
    rows = np.random.default_rng(0).normal(size=(count, 3))
    way = way_from(
        quadratic(np.eye(3), np.zeros(3), rows, np.ones(count)), np.zeros(3), [0] * count
    )
    assert (way is not None) == found


def test_the_most_products_that_any_system_took_are_told():
    """The gradient has three different curvatures in it, the constraint's row one, or the other way."""
    H, wide, narrow = np.diag([1.0, 2.0, 3.0]), [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]
    for q, row in ((wide, narrow), (narrow, wide)):
        known = Noting()
        assert way_from(quadratic(H, q, [row], [0.5]), np.zeros(3), [0.0], known) is not None
        assert known.heard == [3]


def test_no_products_are_told_where_the_estimate_is_taken_as_it_is():
    known = Noting()
    problem = quadratic(np.diag([1.0, 2.0]), [1.0, 1.0], [[1.0, 0.0]], [0.5])
    assert way_from(problem, np.zeros(2), [0.0], known, 1.0, 1.0) is not None
    assert known.heard == [0]


def test_products_are_told_of_jumps_that_fail_too(monkeypatch):
    known, saddle = Noting(), np.diag([1.0, 2.0, -9.0])
    assert way_from(quadratic(saddle, [1.0, 1.0, 0.1]), np.zeros(3), known=known) is None
    first = known.heard[-1]
    assert first > 1
    row, q = [[0.0, 1.0, 0.0]], [1.0, 1.0, 0.1]
    assert way_from(quadratic(saddle, q, row, [0.5]), np.zeros(3), [0.0], known) is None
    assert known.heard[-1] >= first
    monkeypatch.setattr(jump_module, "dual_multipliers", lambda J, Z, q: np.array([np.inf]))
    assert (
        way_from(quadratic(np.diag([1.0, 2.0, 3.0]), q, row, [0.5]), np.zeros(3), [0.0], known)
        is None
    )
    assert known.heard[-1] == 3
    assert len(known.heard) == 3


def test_the_first_curvature_is_measured_down_the_face_of_the_domain():
    """At a bound that holds the point back; the Hessian couples both variables."""
    H = np.array([[2.0, 0.5], [0.5, 3.0]])
    problem = QuadraticProblem([H], [[-5.0, 1.0]], [0.0], sets.Box(-1, 1, dim=2))
    at = pair_at(problem, problem.at(np.array([1.0, 0.0])), NONE)
    assert at.gradient.tolist() == [-3.0, 1.5]
    (change,) = _first(problem, at, 4).changes
    np.testing.assert_allclose(change.s, [0.0, -1.5])
    np.testing.assert_allclose(change.y, [0.0, -4.5])


@pytest.mark.parametrize(
    ("slow", "jumps"), [(0, True), (39, True), (40, False), (59, False), (60, True), (100, False)]
)
def test_jumps_with_learned_curvature_rest_for_a_while(slow, jumps, monkeypatch):
    """Forty jumps that gain little are followed by twenty steps without any."""
    assert (PATIENCE, STEPS_WITHOUT) == (40, 20)
    problem = quadratic(np.diag([1.0, 2.0]), [1.0, 1.0])
    at = pair_at(problem, problem.at(np.zeros(2)), NONE)
    landed, after = quasi_jump(problem, State(at, NONE, 1.0, 0.5, slow=slow), 4)
    assert (landed is not None) == jumps
    assert after.learned is not None
    assert after.slow == slow


def bending(curvature):
    """A function that bends downwards along its last variable, which a row holds at a large penalty."""
    H, q = np.diag([1.0, 2.0, 3.0, curvature]), np.ones(4)
    return quadratic(H, q, [[0.0, 0.0, 0.0, 1.0]], [0.5])


def test_hessians_that_were_raised_are_raised_at_once(monkeypatch):
    runs = []
    cg = jump_module.conjugate_gradients
    counted = lambda *given, **options: runs.append(1) or cg(*given, **options)  # noqa: E731
    monkeypatch.setattr(jump_module, "conjugate_gradients", counted)
    problem, known = bending(-1.0), Preconditioner.of(np.ones(4))
    at, asked, ways = pair_at(problem, problem.at(np.zeros(4)), np.zeros(1)), [], []
    for _ in range(2):
        way, known = newton(problem, at, 10.0, known, 1e-9, 1e-9, 0.0)
        assert way.raised
        ways.append(way.d)
        asked.append(len(runs))
    assert asked == [3, 5]
    np.testing.assert_allclose(ways[1], ways[0], rtol=1e-6)
    assert not newton(problem, at, 10.0, known, 1.0, 1.0, 0.0)[
        0
    ].raised  # an estimate bends upwards


@pytest.mark.parametrize(("curvature", "remembers"), [(-1.0, True), (-20.0, False)])
def test_only_directions_of_runs_that_ended_well_are_remembered(curvature, remembers):
    """The penalty of 10 makes up for the first curvature, not for the second."""
    problem, known = bending(curvature), Preconditioner.of(np.ones(4))
    at = pair_at(problem, problem.at(np.zeros(4)), np.zeros(1))
    way, after = newton(problem, at, 10.0, known, 1e-9, 1e-9, 0.0)
    assert (way is not None) == remembers
    assert (len(after.remembered) > 0) == remembers
    P, HP = after.remembered.P, after.remembered.HP
    np.testing.assert_allclose(HP, np.diag([1.0, 2.0, 3.0, curvature]) @ P, atol=1e-5)
