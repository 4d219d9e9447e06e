"""Tangent and normal cones: derivative of the projection, Moreau's theorem, pieces."""

import numpy as np
import pytest

from equipoise import sets
from equipoise._array import norm

from .examples import every_set, far, member, size

REPEATS = 25


def directions(X, d, rng):
    """Directions of all kinds at a member: random, normal, axis-parallel, zero."""
    outside = far(X, d, rng)
    axis = np.zeros(d)
    axis[rng.integers(d)] = rng.choice([-1.0, 1.0])
    yield rng.normal(size=d)
    yield (outside - X.project(outside)) / size(X)
    yield axis
    yield np.zeros(d)


@every_set
def test_tangent_is_the_derivative_of_the_projection(X, d, rng):
    h = 1e-7 * size(X)
    for _ in range(REPEATS):
        x = member(X, d, rng)
        if _nearly_reached(X, x, h):
            continue
        for v in directions(X, d, rng):
            derivative = (X.project(x + h * v) - x) / h
            np.testing.assert_allclose(X.tangent(x, v), derivative, atol=5e-6 * (1 + norm(v) ** 2))


def _nearly_reached(X, x, h):
    """Whether a bound is near enough to bend the finite difference, but not reached."""
    numbers = np.abs(x)
    return bool(np.any((numbers > 1e-10 * size(X)) & (numbers < 100 * h)))


@every_set
def test_moreau_decomposition(X, d, rng):
    for _ in range(REPEATS):
        x = member(X, d, rng)
        for v in directions(X, d, rng):
            tangent = X.tangent(x, v)
            normal = v - tangent
            assert abs(tangent @ normal) <= 1e-12 * (1 + v @ v)
            for _ in range(4):  # normal: <n, y - x> <= 0 on the set
                y = member(X, d, rng)
                assert normal @ (y - x) <= 1e-9 * (1 + norm(v)) * max(size(X), norm(y - x))
            inside = X.project(x + 1e-6 * size(X) * tangent)  # tangent: the set goes on that way
            off = norm(inside - x - 1e-6 * size(X) * tangent)
            assert off <= 1e-8 * size(X) * (1 + norm(tangent)) ** 2


@every_set
def test_tangent_map_is_the_linear_piece(X, d, rng):
    for _ in range(REPEATS):
        x = member(X, d, rng)
        for v in directions(X, d, rng):
            piece = X.tangent_map(x, v)
            np.testing.assert_array_equal(piece(v), X.tangent(x, v))
            rows = rng.normal(size=(3, d))
            mapped = piece(rows)
            assert mapped.shape == (3, d)
            for row, image in zip(rows, mapped):
                np.testing.assert_allclose(piece(row), image, atol=1e-14)
            a = rng.normal(size=3)
            np.testing.assert_allclose(piece(a @ rows), a @ mapped, atol=1e-13)
            np.testing.assert_allclose(piece(mapped), mapped, atol=1e-13)  # a projection
            assert mapped @ rows.T == pytest.approx(rows @ mapped.T, abs=1e-13)  # symmetric


@every_set
def test_the_piece_holds_the_neighbourhood_of_a_generic_direction(X, d, rng):
    for _ in range(REPEATS):
        x, v = member(X, d, rng), rng.normal(size=d)
        near = v + 1e-9 * rng.normal(size=d)
        np.testing.assert_allclose(X.tangent_map(x, v)(near), X.tangent(x, near), atol=1e-13)


@every_set
def test_normal_distance_is_zero_exactly_at_fixed_points(X, d, rng):
    for _ in range(REPEATS):
        x = far(X, d, rng)
        p = X.project(x)  # P(p + v) = p with v = x - p: the distance must be 0
        v = (x - p) / size(X)
        assert X.normal_distance(p, v) <= 1e-12 * (1 + norm(x) / size(X))
        assert X.normal_distance(p, 3.0 * v) <= 1e-11 * (1 + norm(x) / size(X))
        w = rng.normal(size=d)  # and the other way round, at the same point
        fixed = norm(X.project(p + size(X) * w) - p) <= 1e-12 * size(X)
        assert fixed == (X.normal_distance(p, w) <= 1e-12)


@every_set
def test_normal_distance_is_the_distance_from_the_cone(X, d, rng):
    """No normal vector (made by projecting) is nearer to `v` than the answer claims."""
    for _ in range(REPEATS):
        x, v = member(X, d, rng), rng.normal(size=d)
        best = X.normal_distance(x, v)
        for _ in range(10):
            outside = x + size(X) * rng.normal(size=d) * 3
            normal = (outside - X.project(outside)) / size(X)
            if norm(X.project(x + size(X) * normal) - x) <= 1e-12 * size(X):
                assert best <= norm(v - normal) + 1e-10
        assert best <= norm(v) + 1e-14


def test_box_corner():
    X = sets.Box(0, 1, dim=2)
    corner = np.array([1.0, 0.0])
    assert X.normal_distance(corner, np.array([2.0, -3.0])) == 0.0
    assert X.normal_distance(corner, np.array([-2.0, 3.0])) == pytest.approx(np.sqrt(13))


def test_l1_vertex():
    X = sets.L1Ball(1.0)
    vertex = np.array([1.0, 0.0])
    assert X.normal_distance(vertex, np.array([1.0, 0.4])) == 0.0
    assert X.normal_distance(vertex, np.array([1.0, 3.0])) == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose(X.tangent(vertex, np.array([1.0, 3.0])), [-1.0, 1.0])
    np.testing.assert_array_equal(X.tangent(vertex, np.array([-1.0, 0.5])), [-1.0, 0.5])


def test_fixed_coordinates_have_no_tangent():
    X = sets.Box([0.0, 2.0], [1.0, 2.0])
    for v in (-1.0, 0.0, 1.0):
        for beside in (-1e-12, 0.0, 1e-12):
            at = np.array([0.5, 2.0 + beside])
            assert X.tangent(at, np.array([3.0, v])).tolist() == [3.0, 0.0]


def test_interior_points_have_the_whole_space_as_tangent_cone(rng):
    for X, d in [(sets.L1Ball(1e-11), 3), (sets.L2Ball(1e-11), 3), (sets.Box(-1, 1, dim=3), 3)]:
        v = rng.normal(size=d)
        np.testing.assert_array_equal(X.tangent(np.zeros(d), v), v)


def test_where_a_direction_does_not_point_inwards_the_piece_of_a_box_is_zero():
    X, x = sets.Box(0, 1, dim=3), np.array([0.0, 1.0, 0.5])
    assert X.tangent_map(x, np.zeros(3))(np.ones(3)).tolist() == [0.0, 0.0, 1.0]
    assert X.tangent_map(x, np.array([1.0, -1.0, 0.0]))(np.ones(3)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("X", [sets.L2Ball(1.0), sets.L1Ball(1.0)], ids=repr)
@pytest.mark.parametrize("v", [[0.0, 0.0], [-1.0, 0.5]])
def test_where_a_direction_does_not_point_outwards_the_piece_of_a_ball_is_the_space(X, v):
    w = np.array([2.0, 3.0])
    assert X.tangent_map(np.array([1.0, 0.0]), np.array(v))(w).tolist() == [2.0, 3.0]
    sideways = sets.L2Ball(1.0).tangent_map(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert sideways(w).tolist() == [2.0, 3.0]


def test_a_direction_of_another_length_than_its_point_is_refused():
    with pytest.raises(
        ValueError, match=r"L2Ball: `v` must have the shape \(2,\) of `x`, got \(3,\)"
    ):
        sets.L2Ball(1.0).tangent(np.zeros(2), np.zeros(3))
