"""The parts of the Newton method: chords, conjugate gradients, estimates, against formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import nnls

from equipoise import FunctionProblem, Point, sets
from equipoise.solvers._newton import chord as chord_module
from equipoise.solvers._newton import dual_multipliers as dual_module
from equipoise.solvers._newton.chord import Chord
from equipoise.solvers._newton.conjugate_gradients import NO_CURVATURE, conjugate_gradients
from equipoise.solvers._newton.dual_multipliers import dual_multipliers
from equipoise.solvers._newton.first_penalty import (
    FEASIBLE,
    LARGEST_PENALTY,
    LEAST_PENALTY,
    SMALLEST,
    STEEP,
    _least,
    first_penalty_beside,
)
from equipoise.solvers._newton.hessian import hessian, raised, raised_inverse
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import RIDGE, Preconditioner
from equipoise.solvers._newton.remembered import ADDS_NOTHING, MAX_DIRECTIONS, Notes, Remembered

from .lines import line

# ------------------------------------------------------------------ chord steps


@pytest.mark.parametrize(
    ("residuals", "ends_at"),
    [
        ([1.0, 0.2, 0.04, 0.0], 3),
        ([1.0, 0.21, 0.0], 1),
        ([1.0, 0.5, 0.0], 1),
        ([1.0, 0.51, 0.0], 0),
        ([1.0, 0.1, 0.09, 0.0], 1),
        ([0.0, 1.0], 0),
    ],
)
def test_chord_steps_go_on_while_they_pay(residuals, ends_at, monkeypatch):
    """Each step is 1 long, downhill with an estimate of 1."""
    problem = line([-1.0])
    monkeypatch.setattr(
        chord_module,
        "pair_at",
        lambda p, point, lam: Pair(point.x, lam, -np.ones(1), residuals[round(point.x[0])]),
    )
    start = Pair(np.zeros(1), np.zeros(0), -np.ones(1), residuals[0])
    none = np.zeros((0, 1))
    known = SimpleNamespace(solve=lambda v: v)
    found = Chord(np.zeros(0, int), none, none.T, known).follow(problem, start, 1e-9)
    assert found.x[0] == ends_at


def test_chord_steps_hold_the_constraints_they_know():
    """``|x|^2/2`` under ``x_0 + x_1 = 1``, from a point off it: one step with exact derivatives."""
    problem = FunctionProblem(
        lambda x: (0.5 * x @ x, x), [lambda x: (1 - x[0] - x[1], -np.ones(2))], dim=2
    )
    pair = pair_at(problem, problem.at(np.array([0.9, 0.3])), np.array([0.2]))
    J = -np.ones((1, 2))
    found = Chord(np.array([0]), J, J.T.copy(), SimpleNamespace(solve=lambda v: v)).follow(
        problem, pair, 1e-12
    )
    np.testing.assert_allclose(found.x, [0.5, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.lam, [0.5], atol=1e-12)


def test_chord_steps_stay_on_the_face_of_the_domain():
    """At a corner whose first side holds the point back; the estimate couples both variables."""
    H = np.array([[2.0, 0.5], [0.5, 2.0]])
    problem = FunctionProblem(
        lambda x: (0.5 * x @ H @ x - 9 * x[0] + x[1], H @ x + [-9.0, 1.0]),
        domain=sets.Box(-1, 1, dim=2),
    )
    start = pair_at(problem, problem.at(np.array([1.0, 0.0])), np.zeros(0))
    none = np.zeros((0, 2))
    known = SimpleNamespace(solve=lambda v: v / 2)
    found = Chord(np.zeros(0, int), none, none.T, known).follow(problem, start, 1e-9)
    np.testing.assert_allclose(found.x, [1.0, -0.75], atol=1e-12)


# ------------------------------------------------------------------ conjugate gradients


def test_conjugate_gradients_stop_at_the_goal_or_at_negative_curvature():
    H, target = np.diag([1.0, 10.0, 100.0]), np.array([1.0, 2.0, 3.0])
    noted = []
    whole = conjugate_gradients(
        lambda v: H @ v,
        target,
        1e-12,
        note=lambda *n: noted.append((n[0].copy(), n[1].copy(), n[2])),
    )
    np.testing.assert_allclose(whole.d, target / H.diagonal(), rtol=1e-9)
    assert (whole.products, whole.convex) == (3, True)
    for p, Hp, curvature in noted:
        assert curvature == pytest.approx(p @ H @ p)
        assert Hp.shape == (3,)
    rough = conjugate_gradients(lambda v: H @ v, target, 0.9)
    assert rough.products == 1
    assert np.linalg.norm(target - H @ rough.d) <= 0.9 * np.linalg.norm(target)
    none = conjugate_gradients(lambda v: H @ v, target, 1.0)
    assert (none.products, none.d.tolist()) == (0, [0.0, 0.0, 0.0])
    small = conjugate_gradients(lambda v: H @ v, target, 0.0, small_enough=np.linalg.norm(target))
    assert small.products == 0
    assert conjugate_gradients(lambda v: H @ v, target, 1e-12, max_products=2).products == 2


def test_preconditioned_directions():
    H, M = np.array([[4.0, 1.0], [1.0, 3.0]]), np.diag([0.25, 0.5])
    target = np.array([1.0, -2.0])
    taken = conjugate_gradients(lambda v: H @ v, target, 1.0, precondition=lambda v: M @ v)
    assert (taken.d.tolist(), taken.products, taken.convex) == ([0.25, -1.0], 0, True)
    solved = conjugate_gradients(lambda v: H @ v, target, 1e-12, precondition=lambda v: M @ v)
    np.testing.assert_allclose(solved.d, np.linalg.solve(H, target), rtol=1e-9)
    one = conjugate_gradients(
        lambda v: H @ v, target, 1e-12, precondition=lambda v: M @ v, max_products=1
    )
    p = M @ target
    np.testing.assert_allclose(one.d, (target @ p) / (p @ H @ p) * p, rtol=1e-12)


def test_a_preconditioner_that_leaves_nothing_ends_the_run():
    """As one that projects on a face where the target is across it."""
    found = conjugate_gradients(lambda v: v, np.ones(2), 1e-9, precondition=lambda v: 0.0 * v)
    assert (found.d.tolist(), found.products, found.convex) == ([0.0, 0.0], 0, True)


def test_negative_curvature_is_followed_as_far_as_the_direction_or_its_start():
    down = conjugate_gradients(lambda v: -v, np.array([3.0, 4.0]), 1e-9)
    assert (down.d.tolist(), down.products, down.convex) == ([3.0, 4.0], 1, False)
    H, target = np.diag([0.1, -1.0]), np.array([1.0, 0.1])
    found = conjugate_gradients(lambda v: H @ v, target, 1e-9)
    a = target @ target / (target @ H @ target)
    r = target - a * H @ target
    p = r + (r @ r) / (target @ target) * target
    size = max(np.linalg.norm(a * target), np.linalg.norm(target))
    np.testing.assert_allclose(found.d, a * target + size / np.linalg.norm(p) * p, rtol=1e-9)
    assert (found.products, found.convex) == (2, False)
    for share, convex in ((0.9, False), (1.1, True)):
        flat = conjugate_gradients(lambda v, s=share: s * NO_CURVATURE * v, target, 0.5)
        assert flat.convex is convex


# ------------------------------------------------------------------ penalties and estimates


def test_the_least_penalty_falls_with_steep_constraints():
    assert _least(STEEP, 0.5) == LEAST_PENALTY
    assert _least(2 * STEEP, 0.5) == LEAST_PENALTY / 4
    assert _least(2 * STEEP, 2.0) == LEAST_PENALTY
    assert _least(8 * STEEP, 2.0) == LEAST_PENALTY / 16
    assert _least(1e200, 1.0) == SMALLEST


def test_the_first_penalty_balances_the_objective():
    assert first_penalty_beside(None, line([1.0]).at(np.zeros(1)), 1.0) == LEAST_PENALTY
    met = line([1.0], [[90.0], [1.0]], [FEASIBLE, -1.0])
    assert first_penalty_beside(met, met.at(np.zeros(1)), 1.0) == pytest.approx(LEAST_PENALTY / 9)
    broken = line([1.0, 0.0], [[3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], [2.0, 1.0, -1.0])
    pull = math.hypot(3.0, 0.5 * 4.0)
    for slope in (7.0, 1e3, 1e9):
        found = first_penalty_beside(broken, broken.at(np.zeros(2)), slope)
        assert found == pytest.approx(np.clip(10 * slope / (pull * 2.0), 10.0, LARGEST_PENALTY))
    steep = line([1.0], [[60.0], [60.0]], [1.0, 1.0])
    found = first_penalty_beside(steep, steep.at(np.zeros(1)), 1e-9)
    assert found == pytest.approx(LEAST_PENALTY / 4)
    flat = line([1.0], [[1e-9]], [1.0])
    found = first_penalty_beside(flat, flat.at(np.zeros(1)), 1e-7)
    assert found == pytest.approx(10 * 1e-7 / 1e-9)


def test_estimates_are_raised_slightly():
    found = Preconditioner.of(np.array([1.0, 3.0]))
    np.testing.assert_allclose(found.factor - [1.0, 3.0], 1e-12 + 2 * RIDGE, rtol=1e-5)
    assert not found.is_matrix
    np.testing.assert_allclose(found.solve(np.array([2.0, 3.0])), [2.0, 1.0])
    np.testing.assert_allclose(found.solve(np.ones((2, 3))), [[1.0] * 3, [1 / 3] * 3])
    H = np.array([[4.0, 1.0], [1.0, 2.0]])
    matrix = Preconditioner.of(H)
    assert matrix.is_matrix
    L = np.tril(matrix.factor)
    np.testing.assert_allclose((L @ L.T - H).diagonal(), 1e-12 + 3 * RIDGE, rtol=1e-4)
    singular = Preconditioner.of(np.array([[1.0, 2.0], [2.0, 1.0]]))
    L = np.tril(singular.factor)
    ridge = (L @ L.T).diagonal() - 1.0
    assert math.log10(ridge[0] / (1e-12 + RIDGE)) / 2 == pytest.approx(
        round(math.log10(ridge[0] / RIDGE) / 2), abs=1e-2
    )
    assert 1.0 < ridge[0] <= 101.0
    for bad in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            assert Preconditioner.of(np.full((2, 2), bad)).factor.tolist() == [1.0, 1.0]


def test_what_is_remembered_depends_on_the_products_it_took():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])

    def notes():
        found = Notes(2)
        for p in np.eye(2):
            found(p, H @ p, p @ H @ p)
        return found

    known = Preconditioner.of(np.ones(2))
    for products, remembered, good in ((2, 0, True), (3, 2, True), (5, 2, True), (6, 2, False)):
        after = known.after(notes(), products)
        assert (len(after.remembered), after.good) == (remembered, good)
    assert not known.after(Notes(2), 6).good
    assert len(known.after(Notes(2), 6).remembered) == 0
    again = known.after(notes(), 3).after(notes(), 1)
    assert len(again.remembered) == 2
    np.testing.assert_allclose(again.solve(H @ [1.0, -2.0]), [1.0, -2.0], rtol=1e-5)


def test_notes_have_room_for_a_few_directions():
    assert Notes(10).pairs.maxlen == MAX_DIRECTIONS
    assert Notes(10_000).pairs.maxlen == 4
    assert Notes(10**6).pairs.maxlen == 2
    notes = Notes(2)
    notes(np.array([2.0, 0.0]), np.array([8.0, 2.0]), 16.0)
    (p, Hp) = notes.pairs[0]
    assert (p.tolist(), Hp.tolist()) == ([0.5, 0.0], [2.0, 0.5])


@pytest.mark.parametrize(("share", "kept"), [(0.8, 1), (1.2, 2)])
def test_directions_that_nearly_depend_add_nothing(share, kept):
    """Of two directions of length 1 with the cosine c the lesser eigenvalue is ``1 - c``."""
    c = 1 - share * ADDS_NOTHING
    notes = Notes(2)
    for p in (np.array([1.0, 0.0]), np.array([c, math.sqrt(1 - c * c)])):
        notes(p, p, 1.0)
    found = Remembered.of(notes).scaled
    assert len(found) == kept
    np.testing.assert_allclose(found.P.T @ found.HP, np.eye(kept), atol=1e-3)
    assert not notes.pairs


def test_what_cg_has_seen_of_a_raised_hessian_tells_of_others():
    """H bends downwards; what was noted with one penalty is exact for other rows and another penalty."""
    H = np.diag([4.0, 2.0, 1.0, -1.0])
    rows, others = np.array([[0.0, 0.0, 0.5, 1.0]]), np.array([[0.0, 1.0, 0.0, 2.0]])
    notes, exact = Notes(4), H + 5.0 * rows.T @ rows
    for p in np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 1.0, -1.0, 2.0]]):
        notes.of_raised(rows, 5.0, lambda v: v)(p, exact @ p, p @ exact @ p)
    known = Preconditioner.of(np.ones(4)).after(notes, 6)
    P = known.remembered.P
    np.testing.assert_allclose(known.remembered.HP, H @ P, atol=1e-6)
    now = H + 3.0 * others.T @ others
    np.testing.assert_allclose(known.raised(others, 3.0)(now @ P), P, atol=1e-5)
    M = known.solve(np.eye(4))  # H itself bends downwards along the second
    np.testing.assert_allclose(M, M.T, atol=1e-6)
    assert np.linalg.eigvalsh(M).min() > 0
    assert len(known.remembered.scaled) == 1


def test_nothing_is_remembered_of_a_hessian_that_is_known():
    notes = Notes(2)
    for p in np.eye(2):
        notes(p, 2 * p, 2.0)
    known = Preconditioner.exact(2 * np.eye(2)).after(notes, 6)
    assert (len(known.remembered), known.convex) == (0, True)


def test_a_new_estimate_knows_that_the_hessian_bends():
    known = Preconditioner.of(np.eye(2))
    assert not known.after(Notes(2), 6).bends
    bends = known.after(Notes(2), 6, True)
    assert Preconditioner.of(np.eye(2), bends).bends
    assert bends.after(Notes(2), 1).bends


def test_products_with_raised_hessians_and_their_inverse():
    H, rows = (
        np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]]),
        np.array([[1.0, 2.0, 0.0]]),
    )
    v, b = np.array([1.0, -1.0, 2.0]), 7.0
    exact = H + b * rows.T @ rows
    np.testing.assert_allclose(raised(lambda u: H @ u, rows, b)(v), exact @ v)
    solve = lambda u: np.linalg.solve(H, u)  # noqa: E731
    np.testing.assert_allclose(raised_inverse(solve, rows, b)(v), np.linalg.solve(exact, v))
    many = np.random.default_rng(0).normal(size=(5, 3))
    exact = H + b * many.T @ many
    np.testing.assert_allclose(raised_inverse(solve, many, b)(v), np.linalg.solve(exact, v))
    none = np.zeros((0, 3))
    np.testing.assert_allclose(raised(lambda u: H @ u, none, b)(v), H @ v)
    assert raised_inverse(solve, none, b) is solve


@pytest.mark.parametrize(("x", "size"), [([0.3, 0.4], 1.0), ([30.0, 40.0], 50.0)])
def test_differences_of_gradients_are_a_millionth_of_the_point_long(x, size):
    """Of ``x_0^3`` the difference along v errs by ``3 h v_0 |v_0|``."""
    problem = FunctionProblem(lambda y: (y[0] ** 3, np.array([3 * y[0] ** 2, 0.0])), dim=2)
    point = problem.at(np.array(x))
    v = np.array([300.0, 400.0])
    h = 1e-6 * size / 500.0
    expected = 6 * x[0] * v[0] + 3 * h * v[0] ** 2
    for gradient in (None, point.vjp(np.ones(1))):
        found = hessian(problem, point, np.ones(1), gradient)(v)
        assert found[0] - 6 * x[0] * v[0] == pytest.approx(expected - 6 * x[0] * v[0], rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_dual_multipliers_solve_their_complementarity_problem(seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(4, 4))
    S, q = R @ R.T, rng.normal(size=4)
    mu = dual_multipliers(S, np.eye(len(S)), q)
    assert (mu >= 0).all()
    assert (S @ mu >= q - 1e-9).all()
    np.testing.assert_allclose(mu * (S @ mu - q), 0, atol=1e-9)
    turned = S + 1e-4 * (R - R.T)  # what conjugate gradients left undone
    mu = dual_multipliers(turned, np.eye(4), q)
    active = mu > 0
    np.testing.assert_allclose((turned @ mu)[active], q[active], atol=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_dual_multipliers_of_constraints_that_depend_on_each_other(seed, size):
    """Four constraints in two dimensions, some of them met with room: any multipliers that fit will do."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(4, 2))
    S, known = size * R @ R.T, np.maximum(rng.normal(size=4), 0.0)
    q = S @ known - size * np.where(known > 0, 0.0, rng.uniform(0.1, 1.0, 4))
    mu = dual_multipliers(S, np.eye(len(S)), q)
    assert (mu >= 0).all()
    assert mu.max() <= 1e3
    np.testing.assert_array_less(q - 1e-6 * size, S @ mu)
    np.testing.assert_allclose(mu * (S @ mu - q), 0, atol=1e-6 * size)
    assert dual_multipliers(np.zeros((2, 2)), np.eye(2), np.zeros(2)).tolist() == [0.0, 0.0]


def test_a_known_matrix_is_used_in_the_place_of_products():
    def refused(*_):
        raise AssertionError("A product was asked for.")

    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    point = Point(np.zeros(2), np.zeros(2), refused, hvp=refused, matrix=lambda w: w[1] * H)
    product = hessian(line([1.0, 0.0]), point, np.array([1.0, 4.0]))
    np.testing.assert_array_equal(product(np.array([1.0, -1.0])), [4.0, -8.0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_matrix_is_positive_definite_only_beyond_rounding_errors(size):
    """The least diagonal entry against a 1e-12 of their mean."""
    for least, convex in ((0.8e-12, False), (1.3e-12, True), (-0.5, False), (-9.0, False)):
        found = Preconditioner.exact(size * np.diag([2.0, least, 1.0]))
        assert found.convex is convex


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("exclude", [False, True])
def test_dual_multipliers_of_many_constraints_look_at_few_at_once(seed, exclude, monkeypatch):
    """Gaps between every two of fifty groups in six dimensions, as parity over many groups asks for them."""
    sizes = []

    def noted(A, b):
        sizes.append(b.size)
        return nnls(A, b)

    monkeypatch.setattr(dual_module, "nnls", noted)
    rng = np.random.default_rng(seed)
    rates, B = rng.normal(size=(50, 6)), rng.normal(size=(6, 6))
    i, j = np.nonzero(~np.eye(50, dtype=bool))
    J, Z = rates[i] - rates[j], np.linalg.solve(B @ B.T + np.eye(6), (rates[i] - rates[j]).T)
    inside = J @ rng.normal(size=6)
    q = np.ones(i.size) if exclude else inside - 0.1  # met by one point; by none
    mu = dual_multipliers(J, Z, q)
    assert max(sizes) <= dual_module.MOST_AT_ONCE
    assert len(sizes) <= 20
    assert (mu >= 0).all()
    left = J @ (Z @ mu) - q
    if exclude:
        assert mu.max() > 1e3
        assert left.min() < -0.1
    else:
        assert left.min() >= -1e-8 * np.abs(q).max()
        np.testing.assert_allclose(mu * left, 0, atol=1e-7)
