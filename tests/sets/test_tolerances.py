"""How near counts as inside, and as at a bound: the documented distances, on every scale and precision."""

import numpy as np
import pytest

from equipoise import sets
from equipoise.sets import _level
from equipoise.sets._set import ACTIVE
from equipoise.sets._tolerance import SUPPORT, supported

EPS = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)

# Sets that hold exactly the points of the first axis up to s, seen from the outer end of it.
BOUNDED = {
    "box": lambda s: sets.Box([-s, -s], [s, s]),
    "l2_ball": lambda s: sets.L2Ball(s),
    "moved ball": lambda s: sets.L2Ball(1e-3 * s, [0.999 * s, 0.0]),
    "l1_ball": lambda s: sets.L1Ball(s),
    "polytope": lambda s: sets.Polytope([[1.0, 0.0]], [s]),
}
every = pytest.mark.parametrize("make", BOUNDED.values(), ids=BOUNDED.keys())
OUT = np.array([1.0, 0.0])


def holds_back(X, x):
    """Whether the bound at the end of the first axis counts as reached at `x`."""
    return not X.tangent(x, OUT.astype(x.dtype)).any()


@every
@pytest.mark.parametrize("s", [1.0, 30.0, 1e6])
def test_a_bound_is_reached_within_a_share_of_its_size(make, s):
    assert holds_back(make(s), np.array([s * (1 - 0.7 * ACTIVE), 0.0]))
    assert not holds_back(make(s), np.array([s * (1 - 1.4 * ACTIVE), 0.0]))


@every
def test_a_small_bound_is_reached_within_a_fixed_distance(make):
    s = 1e-3
    assert holds_back(make(s), np.array([s - 0.7 * ACTIVE, 0.0]))
    assert not holds_back(make(s), np.array([s - 1.4 * ACTIVE, 0.0]))


@pytest.mark.parametrize(
    ("X", "width"),
    [(sets.L2Ball(1e-9), 1e-9), (sets.L1Ball(1e-9), 1e-9), (sets.Box(-1e-9, 1e-9, 2), 2e-9)],
)
def test_a_tiny_set_keeps_an_interior(X, width):
    assert holds_back(X, np.array([1e-9 - 0.7e-3 * width, 0.0]))
    assert not holds_back(X, np.array([1e-9 - 1.4e-3 * width, 0.0]))
    low, high = np.array([-1.0, 0.0]), np.array([-1e-9 + 1.4e-3 * width, 0.0])
    np.testing.assert_array_equal(X.tangent(high, low), low)


@pytest.mark.parametrize("kind", ["l2_ball", "l1_ball", "polytope"])
def test_in_single_precision_a_bound_is_reached_within_what_it_resolves(kind):
    X, at = BOUNDED[kind](1.0), 64 * SINGLE
    assert holds_back(X, np.array([1 - 0.7 * at, 0.0], dtype=np.float32))
    assert not holds_back(X, np.array([1 - 1.4 * at, 0.0], dtype=np.float32))


@pytest.mark.parametrize("kind", ["l2_ball", "moved ball", "l1_ball", "polytope"])
@pytest.mark.parametrize("s", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_point_outside_by_rounding_stays_where_it_is(kind, s, dtype):
    X, eps = BOUNDED[kind](s), float(np.finfo(dtype).eps)
    near = np.array([s + 6 * eps * s, 0.0], dtype=dtype)
    np.testing.assert_array_equal(X.project(near), near)
    far = np.array([s + 12 * eps * s, 0.0], dtype=dtype)
    assert X.project(far)[0] < far[0]


def test_a_sum_off_by_rounding_stays_where_it_is():
    for total in (0.5, 1.0, 8.0):
        near = total * np.array([0.5 + 6 * EPS, 0.5])
        np.testing.assert_array_equal(sets.Simplex(total).project(near), near)
        far = total * np.array([0.5 + 12 * EPS, 0.5])
        assert sets.Simplex(total).project(far)[0] < far[0]
    below = np.array([1.0 + EPS, -EPS])
    np.testing.assert_array_equal(sets.Simplex().project(below), [1.0, 0.0])


def test_the_support_is_measured_by_the_set():
    assert supported(1.0) == SUPPORT
    assert supported(50.0) == 50 * SUPPORT
    assert supported(1e-6) == pytest.approx(1e-15, rel=1e-12, abs=0.0)
    X, v = sets.Simplex(), np.array([0.0, -1.0])
    assert X.tangent(np.array([1 - 0.7 * SUPPORT, 0.7 * SUPPORT]), v).tolist() == [0.0, 0.0]
    assert X.tangent(np.array([1 - 1.4 * SUPPORT, 1.4 * SUPPORT]), v).tolist() == [0.5, -0.5]


def test_membership_is_relative_to_the_point():
    X = sets.Box(-np.inf, [0.0, np.inf])
    for size in (0.0, 1.0, 100.0):
        scale = max(1.0, size)
        assert X.contains(np.array([0.7e-8 * scale, size]))
        assert not X.contains(np.array([1.4e-8 * scale, size]))


def test_the_search_for_a_level_starts_next_to_it(monkeypatch):
    """Two steps do, which from elsewhere would drop only some of the heights at a time."""
    monkeypatch.setattr(_level, "MAX_STEPS_TO_LEVEL", 2)
    heights = np.cumsum(0.6 ** np.arange(30))[::-1]
    for total in (1e-3, 0.1, 3.0):
        for shift in (0.0, -5.0, 1e4):
            found = _level.project_simplex(heights + shift, total)
            assert found.min() >= 0.0
            assert found.sum() == pytest.approx(total, rel=1e-9)
            above = found > 0.0
            np.testing.assert_allclose(
                (heights + shift - found)[above],
                (heights + shift - found)[above][0],
                rtol=0,
                atol=1e-11,
            )
