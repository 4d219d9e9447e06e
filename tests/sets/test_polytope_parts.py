"""The last step of a polytope's projection, and the linear programs around it."""

import math

import numpy as np
import pytest
from scipy import sparse

from equipoise import sets
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import ACTIVE

CORNER = sets.Polytope([[3.0, 0.0], [0.0, 0.5]], [3.0, 0.5])  # x <= 1, y <= 1
BOTH = np.array([True, True])


def test_rows_are_kept_at_length_one():
    X = sets.Polytope([[3.0, 4.0], [0.0, 0.0], [1e-200, 1e-200]], [10.0, 0.0, 1e-200])
    np.testing.assert_allclose(X._rows, [[0.6, 0.8], [math.sqrt(0.5)] * 2], rtol=1e-15)
    np.testing.assert_allclose(X._bounds, [2.0, math.sqrt(0.5)], rtol=1e-15)


def test_a_rough_answer_is_made_exact_on_its_active_rows():
    rough = np.array([1 - 1e-9, 1 + 1e-9])
    np.testing.assert_array_equal(CORNER._polished(np.array([3.0, 2.0]), rough, BOTH), [1.0, 1.0])


@pytest.mark.parametrize(
    ("x", "active"),
    [
        ([3.0, 2.0], [False, False]),  # no row is active
        ([3.0, 2.0], [True, False]),  # (1, 2) breaks the other row
        ([3.0, 0.5], [True, True]),  # the second row would pull instead of push
    ],
)
def test_a_worse_point_is_not_taken(x, active):
    y = np.array([0.9, 0.8])
    assert CORNER._polished(np.array(x), y, np.array(active)) is y


def test_rows_that_depend_on_each_other_are_left_to_the_solver():
    X = sets.Polytope([[1.0, 0.0], [1.0, 1e-10], [0.0, 1.0]], [1.0, 1.0, 1.0])
    x, y = np.array([3.0, 0.0]), np.array([1.0, 0.0])
    assert X._polished(x, y, np.array([True, True, False])) is y
    assert X._polished(x, y, np.array([True, True, True])) is y  # more rows than variables
    X = sets.Polytope([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 1.0, 2.0])
    assert X._polished(x, y, np.array([True, True, True])) is y


def test_the_better_of_two_points_that_are_slightly_outside_is_taken():
    X = sets.Polytope([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 1.0, 2.0 - 1e-12])
    active, x = np.array([True, True, False]), np.array([3.0, 2.0])
    for y in ([1 + 1e-9, 1 + 1e-9], [1 + 1e-9, 0.5]):
        np.testing.assert_array_equal(X._polished(x, np.array(y), active), [1.0, 1.0])
    better = np.array([1 - 1e-9, 1 - 1e-9])
    assert X._polished(x, better, active) is better


def test_a_half_space_of_many_dimensions_is_projected_on_without_a_program(monkeypatch, rng):
    a, x = rng.normal(size=(2, 10_000))
    X = sets.Polytope([a], [-1.0])
    monkeypatch.setattr(X.__class__, "_nearest", None)
    np.testing.assert_allclose(X.project(x), x - max(0.0, a @ x + 1.0) / (a @ a) * a, atol=1e-12)


def test_a_point_hardly_outside_is_projected_in_units_of_its_own_size():
    x = np.array([1e6 * (1 + 1e-13), 5e5])
    np.testing.assert_allclose(
        sets.Polytope([[1.0, 0.0]], [1e6]).project(x), [1e6, 5e5], rtol=1e-15
    )


@pytest.mark.parametrize("factor", [1e-170, 1.0, 1e170])
def test_directions_of_any_length_have_the_same_tangent(factor):
    corner, v = np.ones(2), np.array([2.0, -1.0])
    np.testing.assert_allclose(CORNER.tangent(corner, factor * v) / factor, [0.0, -1.0])
    np.testing.assert_allclose(CORNER.tangent(corner, -factor * v) / factor, [-2.0, 0.0])


def test_a_bound_is_reached_within_a_share_of_the_size_of_the_point():
    X, v = sets.Polytope([[1.0, 0.0]], [0.0]), np.array([1.0, 0.0])
    for size in (1.0, 1e6):
        for share, tangent in ((0.7, [0.0, 0.0]), (1.4, [1.0, 0.0])):
            at = np.array([-share * ACTIVE * size, size])
            assert X.tangent(at, v).tolist() == tangent


def test_the_apex_of_a_cone_stays_where_it_is():
    apex = np.zeros(2)
    assert sets.Polytope([[1.0, 2.0], [3.0, -1.0]], [0.0, 0.0]).project(apex) is apex


def test_the_programs_answer_is_near_before_it_is_made_exact(monkeypatch, rng):
    monkeypatch.setattr(sets.Polytope, "_polished", lambda X, x, y, active: y)
    cube = sets.Polytope(np.vstack((np.eye(3), -np.eye(3))), np.ones(6))
    for scale in (0.1, 1.0, 1e3):
        x = 1.0 + scale * (0.5 + rng.random(3))
        np.testing.assert_allclose(cube.project(x), np.ones(3), atol=1e-9 * scale)
        np.testing.assert_allclose(cube.project(-x), -np.ones(3), atol=1e-9 * scale)


def test_no_step_is_one_of_the_rows_of_a_point_that_is_outside_by_rounding():
    rows = sets.Box(0.0, 1.0, dim=2).linear_rows(np.array([-1e-17, 1.0 + 3e-16]))
    assert rows.low.tolist() == [0.0, -1.0 - 3e-16]
    assert rows.high.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_diameter_is_that_of_the_bounding_box(scale):
    rows = np.vstack((np.eye(3), -np.eye(3)))
    X = sets.Polytope(rows, scale * np.array([1.0, 2.0, 3.0, 0.0, -1.0, 1.0]))
    assert X.diameter == pytest.approx(scale * math.sqrt(1 + 1 + 16), rel=1e-12)
    assert sets.Polytope(rows[:5], np.ones(5)).diameter == math.inf


def test_linear_rows_say_whether_a_variable_has_a_bound():
    inf = np.inf
    assert LinearRows.of(2).unbounded
    assert not LinearRows.of(2, low=np.array([-inf, 0.0])).unbounded
    assert not LinearRows.of(2, high=np.array([0.0, inf])).unbounded
    assert not LinearRows.of(2, low=np.zeros(2), high=np.ones(2)).unbounded


def test_linear_rows_without_anything_are_free():
    rows = LinearRows.of(3, A=sparse.eye_array(3), b=np.array([1.0, -1e-17, 0.0]))
    assert rows.A.shape == (3, 3)
    assert rows.B.shape == (3, 0)
    assert (rows.b >= 0).all()
    assert LinearRows.of(3).A.shape == (0, 3)


def test_the_rows_of_a_product_are_those_of_its_blocks():
    blocks = [(sets.Box(0, 1, dim=1), 1), (sets.L1Ball(2.0), 2), (sets.Simplex(), 2)]
    x = np.array([0.25, 1.0, -0.5, 0.5, 0.5])
    rows = sets.Product(blocks).linear_rows(x)
    parts = [X.linear_rows(x[i:j]) for (X, _), (i, j) in zip(blocks, [(0, 1), (1, 3), (3, 5)])]
    np.testing.assert_array_equal(rows.low, np.concatenate([part.low for part in parts]))
    np.testing.assert_array_equal(rows.high, np.concatenate([part.high for part in parts]))
    np.testing.assert_array_equal(rows.b, np.concatenate([part.b for part in parts]))
    assert rows.A.shape == (sum(part.A.shape[0] for part in parts), 5)
    assert rows.B.shape[1] == 2


def test_the_rows_of_a_ball_are_its_square_to_first_order():
    X, x = sets.L2Ball(2.0, [1.0, 0.0]), np.array([1.5, 1.0])
    rows = X.linear_rows(x)
    np.testing.assert_allclose(rows.A.toarray(), [[1.0, 2.0]])
    np.testing.assert_allclose(rows.b, [4.0 - 1.25])
