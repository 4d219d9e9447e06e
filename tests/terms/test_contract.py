"""What holds for all terms."""

import pickle

import numpy as np
import pytest

from equipoise.terms import Scores

from .examples import EXAMPLES

every = pytest.mark.parametrize("name", EXAMPLES)


def make(name, rng):
    terms, shape = EXAMPLES[name][0](), EXAMPLES[name][1]
    return terms, rng.normal(size=shape), rng.normal(size=terms.n_constraints + 1)


@every
def test_slope_agrees_with_differences(name, rng):
    terms, s, _ = make(name, rng)
    point, h = terms.at(s), 1e-5
    for i in range(terms.n_constraints + 1):
        weights = np.eye(terms.n_constraints + 1)[i]
        d = rng.normal(size=s.shape)
        ahead, behind = terms.at(s + h * d).values[i], terms.at(s - h * d).values[i]
        slope = float((point.slope(weights) * d).sum())
        assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6, abs=1e-9)


@every
def test_curve_agrees_with_differences_and_is_symmetric(name, rng):
    terms, s, weights = make(name, rng)
    point, h = terms.at(s), 1e-4
    d, e = rng.normal(size=s.shape), rng.normal(size=s.shape)
    slopes = [terms.at(s + t * h * d).slope(weights) for t in (1, -1, 2, -2)]
    expected = (8 * (slopes[0] - slopes[1]) - (slopes[2] - slopes[3])) / (12 * h)
    np.testing.assert_allclose(point.curve(weights, d), expected, rtol=1e-6, atol=1e-9)
    again = point.curve(weights, d)  # from what was kept
    np.testing.assert_array_equal(again, point.curve(weights.copy(), d))
    left, right = (e * again).sum(), (d * point.curve(weights, e)).sum()
    assert left == pytest.approx(right, rel=1e-10)


@every
def test_slope_and_curve_are_linear_in_the_weights(name, rng):
    terms, s, weights = make(name, rng)
    point, d = terms.at(s), rng.normal(size=s.shape)
    unit = np.eye(weights.size)
    total = sum(w * point.slope(u) for w, u in zip(weights, unit))
    np.testing.assert_allclose(point.slope(weights), total, rtol=1e-10, atol=1e-14)
    total = sum(w * point.curve(u, d) for w, u in zip(weights, unit))
    np.testing.assert_allclose(point.curve(weights, d), total, rtol=1e-10, atol=1e-14)
    assert not point.slope(np.zeros(weights.size)).any()
    assert point.slope(np.zeros(weights.size)).shape == s.shape


@every
def test_shapes_names_and_scores(name, rng):
    terms, s, _ = make(name, rng)
    values = terms.at(s).values
    assert values.shape == terms.thresholded(s).shape == (terms.n_constraints + 1,)
    assert values.dtype == np.float64
    assert len(terms.names) == terms.n_constraints
    np.testing.assert_array_equal(terms.at(Scores(s)).values, values)
    assert terms.smooth


@every
def test_float32_scores_give_float32_slopes(name, rng):
    terms, s, weights = make(name, rng)
    exact, point = terms.at(s), terms.at(s.astype(np.float32))
    d = rng.normal(size=s.shape).astype(np.float32)
    assert point.values.dtype == np.float64
    assert point.slope(weights).dtype == point.curve(weights, d).dtype == np.float32
    np.testing.assert_allclose(point.values, exact.values, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(point.slope(weights), exact.slope(weights), rtol=1e-3, atol=1e-5)


@every
def test_shift_moves_constraints_but_not_the_truth(name, rng):
    terms, s, weights = make(name, rng)
    m = terms.n_constraints
    shift = rng.normal(size=m)
    moved = terms.shifted(shift)
    np.testing.assert_allclose(moved.at(s).values - terms.at(s).values, np.r_[0, shift], atol=1e-14)
    np.testing.assert_array_equal(moved.thresholded(s), terms.thresholded(s))
    np.testing.assert_array_equal(moved.at(s).slope(weights), terms.at(s).slope(weights))
    replaced = moved.shifted(0.25).at(s).values - terms.at(s).values
    np.testing.assert_allclose(replaced, np.r_[0, np.full(m, 0.25)], atol=1e-14)
    with pytest.raises(ValueError, match=r"`shift` must have shape"):
        terms.shifted(np.zeros(m + 1))


@every
def test_all_rows_in_another_order_are_the_same_terms(name, rng):
    terms, s, weights = make(name, rng)
    index = rng.permutation(terms.n_rows)
    part, point = terms.rows(index, 1.0), terms.at(s)
    np.testing.assert_allclose(part.at(s[index]).values, point.values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(part.at(s[index]).slope(weights), point.slope(weights)[index])


@every
def test_pickle(name, rng):
    terms, s, weights = make(name, rng)
    again = pickle.loads(pickle.dumps(terms))
    np.testing.assert_array_equal(again.at(s).values, terms.at(s).values)
    np.testing.assert_array_equal(again.at(s).slope(weights), terms.at(s).slope(weights))


@every
def test_large_scores_stay_finite(name, rng):
    terms, s, weights = make(name, rng)
    with np.errstate(over="raise", invalid="raise"):
        point = terms.at(1e4 * np.sign(s))
        assert np.isfinite(point.values).all()
        assert np.isfinite(point.slope(weights)).all()
        assert np.isfinite(point.curve(weights, s)).all()
