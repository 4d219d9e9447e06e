"""Fast algorithms against slow, obvious ones."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import nnls

from equipoise import sets
from equipoise._array import norm
from equipoise.sets._level import _newton, _scan, fill_level


def random_l1_point(d, radius, rng):
    """A boundary point of the L1 ball with some zeros, now and then a vertex."""
    x = rng.normal(size=d) * (rng.random(d) < rng.choice([0.3, 0.7, 1.0]))
    if not np.any(x):
        x[rng.integers(d)] = 1.0
    return radius * x / np.sum(np.abs(x))


def test_l1_normal_cone_against_all_active_rows(rng):
    vertices = zeros = 0
    for _ in range(400):
        d, radius = int(rng.integers(1, 7)), float(rng.choice([0.5, 1.0, 20.0]))
        x, v = random_l1_point(d, radius, rng), rng.normal(size=d)
        v[rng.random(d) < 0.2] = 0.0
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=d)))
        active = signs[signs @ x >= radius * (1 - 1e-9)]
        _, expected = nnls(active.T, v)
        assert sets.L1Ball(radius).normal_distance(x, v) == pytest.approx(expected, abs=1e-7)
        vertices += np.count_nonzero(x) == 1
        zeros += bool(np.any(x == 0))
    assert vertices > 40
    assert zeros > 100


def test_simplex_normal_cone_against_its_generators(rng):
    for _ in range(200):
        d, total = int(rng.integers(1, 7)), float(rng.choice([0.5, 1.0, 20.0]))
        x = np.abs(random_l1_point(d, total, rng))
        v = rng.normal(size=d)
        ones = np.ones((1, d))
        cone = np.vstack([ones, -ones, -np.eye(d)[x == 0]])
        _, expected = nnls(cone.T, v)
        assert sets.Simplex(total).normal_distance(x, v) == pytest.approx(expected, abs=1e-7)


def test_polytope_cone_agrees_with_the_sets_it_describes(rng):
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    pairs = [
        (sets.L1Ball(1.5), sets.Polytope(signs, np.full(16, 1.5))),
        (
            sets.Box(-1, 2, dim=4),
            sets.Polytope(np.vstack([np.eye(4), -np.eye(4)]), [2] * 4 + [1] * 4),
        ),
        (
            sets.Simplex(),
            sets.Polytope(np.vstack([np.ones(4), -np.ones(4), -np.eye(4)]), [1, -1, 0, 0, 0, 0]),
        ),
    ]
    for X, P in pairs:
        for _ in range(40):
            x, v = rng.normal(size=4) * rng.choice([0.1, 1.0, 10.0]), rng.normal(size=4)
            p = X.project(x)
            np.testing.assert_allclose(P.project(x), p, atol=1e-12)
            np.testing.assert_allclose(P.tangent(p, v), X.tangent(p, v), atol=1e-10)
            np.testing.assert_allclose(P.tangent(p, x - p), 0.0, atol=1e-12 * (1 + norm(x)))


def bisect(x, total):
    """The threshold of the simplex projection by bisection."""
    low, high = x.max() - total, x.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sum(np.maximum(x - middle, 0)) > total else (low, middle)
    return 0.5 * (low + high)


def test_one_sort_finds_the_level_but_for_rounding(rng):
    """Against bisection; the level is where the function, which falls, has its zero."""
    alone = joined = 0
    for _ in range(300):
        heights, count = rng.normal(size=rng.integers(1, 7)), int(rng.integers(0, 4))
        total = rng.normal() if count else -rng.exponential()
        low, high = -100.0, 100.0
        for _ in range(80):
            t = 0.5 * (low + high)
            above = np.maximum(heights - t, 0.0).sum() + total - count * t > 0
            low, high = (t, high) if above else (low, t)
        assert _scan(heights, total, count) == pytest.approx(high, abs=1e-12)
        near = high + 1e-6
        improved = near + _newton(heights - near, total - count * near, count)
        assert improved == pytest.approx(high, abs=1e-12)
        alone += bool(high >= heights.max())
        joined += np.count_nonzero(heights > high) > 1
    assert min(alone, joined) > 30
    assert fill_level(np.empty(0), 3.0, 2) == 1.5


@pytest.mark.parametrize("radius", [1.0, 3000.0])
def test_l1_projection_of_a_hundred_thousand_coordinates(radius, rng):
    x = rng.normal(size=100_000)
    p = sets.L1Ball(radius).project(x)
    expected = np.sign(x) * np.maximum(np.abs(x) - bisect(np.abs(x), radius), 0)
    np.testing.assert_allclose(p, expected, atol=1e-12)
    assert np.sum(np.abs(p)) == pytest.approx(radius, rel=1e-14)
    assert sets.L1Ball(radius).normal_distance(p, x - p) <= 1e-10


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_simplex_projection_of_a_hundred_thousand_coordinates(offset, rng):
    x = rng.random(100_000) + offset
    p = sets.Simplex(500.0).project(x)
    exact = x - x.max()
    np.testing.assert_allclose(p, np.maximum(exact - bisect(exact, 500.0), 0), atol=1e-12)
    assert np.sum(p) == pytest.approx(500.0, rel=1e-14)


UNEVEN = np.append(0.6, (1.0 + np.random.default_rng(3).random(100_000)) / 100_000)
EVEN = 1.0 + 1e-3 * np.random.default_rng(4).random(100_000)


@pytest.mark.parametrize("x", [UNEVEN, EVEN], ids=["uneven", "even"])
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-6), (np.float64, 1e-11)])
def test_rounding_does_not_add_up_over_many_terms(x, dtype, error):
    x = x.astype(dtype)
    p = sets.Simplex().project(x)
    assert p.dtype == dtype
    exact = x.astype(np.float64)
    expected = np.maximum(exact - bisect(exact, 1.0), 0)
    assert np.sum(np.abs(p - expected)) <= error
    assert np.sum(p, dtype=np.float64) == pytest.approx(1.0, rel=float(4 * np.finfo(dtype).eps))


def test_single_precision_tangent_of_many_terms(rng):
    x, v = np.zeros(100_001), UNEVEN
    x[0] = 1.0
    for X in (sets.L1Ball(1.0), sets.Simplex()):
        single = X.tangent(x.astype(np.float32), v.astype(np.float32))
        np.testing.assert_allclose(single, X.tangent(x, v), atol=1e-6)


def test_a_balanced_point_with_a_negative_entry_is_outside_the_simplex():
    assert sets.Simplex().project(np.array([2.0, -1.0])).tolist() == [1.0, 0.0]


def test_entries_whose_sum_overflows_do_not_reach_the_threshold():
    x = np.append(np.full(100, -3e37), 3e38).astype(np.float32)
    with np.errstate(over="ignore"):
        p = sets.L1Ball(1.0).project(x)
    assert np.flatnonzero(p).tolist() == [100]
    assert p[100] == 1.0


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("kind", ["rows", "equality", "repeated", "cone"])
def test_polytope_projection_meets_its_optimality_conditions(scale, kind, rng):
    for _ in range(15):
        d, m = int(rng.integers(1, 7)), int(rng.integers(1, 15))
        A, inside = rng.normal(size=(m, d)), rng.normal(size=d)
        b = A @ inside + (0.0 if kind == "cone" else rng.random(m))
        if kind == "equality":
            b[0] = A[0] @ inside
            A, b = np.vstack([A, -A[:1]]), np.append(b, -b[0])
        if kind == "repeated":
            A, b = np.vstack([A, A, 1e-6 * A]), np.concatenate([b, b, 1e-6 * b])
        x = inside + scale * rng.normal(size=d)
        y = sets.Polytope(A, b).project(x)
        rows, bounds = A / np.linalg.norm(A, axis=1)[:, None], b / np.linalg.norm(A, axis=1)
        assert np.max(rows @ y - bounds) <= 1e-14 * (10 + norm(x))
        active = rows[bounds - rows @ y <= 1e-14 * (10 + norm(x)) * 100]
        step = (x - y) / scale
        residual = nnls(active.T, step)[1] if len(active) else norm(step)
        assert residual <= 1e-12 * max(1.0, 1 / scale * 1e-2)


def test_diameters_against_vertices():
    cube = np.array(list(itertools.product([-1.0, 2.0], repeat=3)))
    triangle = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    cross = np.vstack([np.eye(3), -np.eye(3)]) * 1.5
    assert sets.Box(-1, 2, dim=3).diameter == pytest.approx(spread(cube))
    assert sets.L1Ball(1.5).diameter == pytest.approx(spread(cross))
    assert sets.Simplex(2.0).diameter == pytest.approx(spread(2.0 * np.eye(4)))
    right = sets.Polytope([[-1, 0], [0, -1], [3, 4]], [0, 0, 12])
    assert right.diameter == pytest.approx(spread(triangle))
    pair = sets.Product([(sets.Box(-1, 2, dim=3), 3), (sets.Simplex(2.0), 2)])
    both = [np.append(c, e) for c in cube for e in 2.0 * np.eye(2)]
    assert pair.diameter == pytest.approx(spread(np.array(both)))
    angles = np.linspace(0, 2 * math.pi, 73)
    circle = 0.7 * np.column_stack([np.cos(angles), np.sin(angles)])
    assert sets.L2Ball(0.7, center=[3.0, 4.0]).diameter == pytest.approx(spread(circle))


def spread(points):
    return max(norm(p - q) for p in points for q in points)


def test_infinite_diameters():
    assert sets.WholeSpace().diameter == math.inf
    assert sets.Box([0, 0], [1, np.inf]).diameter == math.inf
    assert sets.Polytope([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]).diameter == math.inf
    assert sets.Product([(sets.L1Ball(1.0), 2), (sets.WholeSpace(), 1)]).diameter == math.inf


def test_polytope_diameter_is_only_a_bound():
    diamond = sets.Polytope([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1.0] * 4)
    assert diamond.diameter == pytest.approx(math.sqrt(8))  # the true one is 2


def test_points_projected_on_a_sphere_stay_put_to_the_last_bit(rng):
    for X in (sets.L2Ball(0.3), sets.L2Ball(0.3, center=[1e3, -2e3, 5.0])):
        for _ in range(200):
            p = X.project(1e4 * rng.normal(size=3))
            np.testing.assert_array_equal(X.project(p), p)
