"""Properties that hypothesis tries to break, on huge and tiny scales too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise import sets
from equipoise._array import norm

settings.register_profile("sets", max_examples=60, deadline=None, derandomize=True)
few = settings(settings.get_profile("sets"))

numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5]), st.floats(-3, 3, allow_subnormal=False))
scales = st.sampled_from([1e-100, 1e-20, 1e-8, 1.0, 1e8, 1e20, 1e100])


def vectors(d):
    return arrays(np.float64, d, elements=numbers)


@st.composite
def problems(draw, kinds=("box", "l2_ball", "l1_ball", "simplex", "product"), scaled=True):
    """A set, its size, two points and a direction, all on the same scale."""
    d = draw(st.integers(1, 6))
    scale = draw(scales) if scaled else 1.0
    X = draw(st.sampled_from(kinds).map(lambda kind: build(kind, d, scale)))
    x, y = draw(vectors(d)) * scale, draw(vectors(d)) * scale
    return X, scale, x, y, draw(vectors(d))


def build(kind, d, scale):
    match kind:
        case "box":
            return sets.Box(-0.5 * scale, scale, dim=d)
        case "l2_ball":
            return sets.L2Ball(scale)
        case "l1_ball":
            return sets.L1Ball(scale)
        case "simplex":
            return sets.Simplex(scale)
        case "polytope":
            rows = np.vstack([np.eye(d), -np.eye(d), np.ones((1, d))])
            return sets.Polytope(rows, scale * np.append(np.ones(2 * d), 0.5))
        case "product":
            rest = [(sets.L2Ball(scale), d - 1)] if d > 1 else []
            return sets.Product([(sets.Simplex(scale), 1), *rest])
    raise NotImplementedError(kind)


@few
@given(problems())
def test_projection_inequality_on_all_scales(problem):
    X, scale, x, y, _ = problem
    p, q = X.project(x) / scale, X.project(y) / scale
    assert (x / scale - p) @ (q - p) <= 1e-12
    assert norm(p - q) <= norm((x - y) / scale) + 1e-13
    np.testing.assert_allclose(X.project(p * scale), p * scale, rtol=0, atol=1e-14 * scale)


@few
@given(problems())
def test_projection_commutes_with_scaling(problem):
    X, scale, x, _, _ = problem
    kind = type(X).name
    unit = build(kind, x.size, 1.0)
    np.testing.assert_allclose(X.project(x) / scale, unit.project(x / scale), atol=1e-13)


@few
@given(problems())
def test_moreau_decomposition_on_all_scales(problem):
    X, scale, x, y, v = problem
    p, q = X.project(x), X.project(y)
    tangent = X.tangent(p, v)
    normal = v - tangent
    assert abs(tangent @ normal) <= 1e-12 * (1 + v @ v)
    assert normal @ (q - p) <= 1e-9 * scale * (1 + norm(v))
    assert X.normal_distance(p, v) <= norm(v) * (1 + 1e-14)


@few
@given(problems(), st.sampled_from([1e-90, 1e-9, 1e9, 1e90]))
def test_tangent_is_positively_homogeneous(problem, factor):
    X, _, x, _, v = problem
    p = X.project(x)
    scaled = X.tangent(p, factor * v) / factor
    np.testing.assert_allclose(scaled, X.tangent(p, v), atol=1e-12 * (1 + norm(v)))


@few
@given(problems(kinds=("polytope",), scaled=False))
def test_polytope_projection_and_moreau(problem):
    X, _, x, y, v = problem
    p, q = X.project(x), X.project(y)
    assert (x - p) @ (q - p) <= 1e-12
    assert norm(p - q) <= norm(x - y) + 1e-12
    tangent = X.tangent(p, v)
    assert abs(tangent @ (v - tangent)) <= 1e-12 * (1 + v @ v)
    assert (v - tangent) @ (q - p) <= 1e-9 * (1 + norm(v))
    assert X.normal_distance(p, x - p) <= 1e-12


@few
@given(problems(kinds=("polytope",)))
def test_polytope_projection_on_all_scales(problem):
    X, scale, x, y, _ = problem
    p, q = X.project(x) / scale, X.project(y) / scale
    assert (x / scale - p) @ (q - p) <= 1e-12


@few
@given(vectors(5), st.sampled_from([1.0, 1e6, 1e12, 1e100]))
def test_points_far_outside_small_sets(x, distance):
    """The answer is right to the set's own precision, not only to that of the point."""
    for X in (sets.L1Ball(1.0), sets.Simplex(), sets.L2Ball(1.0), sets.Box(-1, 1, dim=5)):
        p = X.project(distance * x)
        assert X.contains(p, atol=1e-14)
        if isinstance(X, sets.L1Ball) and np.sum(np.abs(x)) * distance > 1:
            assert np.sum(np.abs(p)) == pytest.approx(1.0, abs=1e-14)
