"""Rate terms against plain sums."""

import numpy as np
import pytest
from scipy import sparse

from equipoise.terms import (
    Combination,
    Hinge,
    Logistic,
    Rates,
    RowWeights,
    Scores,
    Sigmoid,
    Squared,
    Terms,
)

from .examples import N, rate_terms


def test_values_and_rates_agree_with_plain_sums(rng):
    terms, s = rate_terms(squares=True), rng.normal(size=N)
    loss, sigmoid = terms.sums.parts
    soft, hard = [], []
    for channel, function, truth in (
        (loss, lambda z: np.log1p(np.exp(-z)), None),
        (sigmoid, lambda z: 1 / (1 + np.exp(-1.5 * z)), lambda z: float(z > 0)),
    ):
        dense = channel.weights.matrix.toarray()
        for column in dense.T:
            z = s if channel.sign is None else channel.sign * s
            soft.append(sum(w * function(t) for w, t in zip(column, z)))
            hard.append(sum(w * (truth or function)(t) for w, t in zip(column, z)))
    np.testing.assert_allclose(terms.sums.values(s), soft, rtol=1e-12)
    np.testing.assert_allclose(terms.sums.thresholded(Scores(s)), hard, rtol=1e-12)
    gaps = terms.combination.bent[0][1]
    for rates, values in ((soft, terms.at(s).values), (hard, terms.thresholded(s))):
        expected = terms.combination.coefficients @ rates + terms.combination.offsets
        expected[0] += 0.5 * ((gaps.Q @ rates + gaps.q) ** 2).sum()
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_sharpness_changes_sigmoids_only(rng):
    terms, s = rate_terms(), rng.normal(size=N)
    sharp = terms.sharpened(50.0)
    assert sharp.sums.parts[1].function == Sigmoid(50.0)
    assert sharp.sums.parts[0].function == Logistic()
    assert sharp.sums.parts[1].weights is terms.sums.parts[1].weights
    exact = terms.thresholded(s)
    assert np.abs(sharp.at(s).values - exact).max() < np.abs(terms.at(s).values - exact).max()
    with pytest.raises(ValueError, match="`k` must be positive"):
        terms.sharpened(0)


def test_a_kink_gives_no_curve(rng):
    weights = np.full((5, 1), 0.2)
    terms = Terms(Rates(Hinge(), weights, np.ones(5)), Combination([[1.0]]))
    assert not terms.smooth
    assert terms.at(rng.normal(size=5)).curve is None


def test_mini_batches_are_unbiased(rng):
    terms, s = rate_terms(n=6), rng.normal(size=6)
    from itertools import combinations

    values = [
        terms.rows(np.array(index), 6 / 2).at(s[list(index)]).values
        for index in combinations(range(6), 2)
    ]
    np.testing.assert_allclose(np.mean(values, axis=0), terms.at(s).values, rtol=1e-12)


def test_numpy_scores_never_make_the_weights_dense(monkeypatch, rng):
    terms, s, w = rate_terms(squares=True), rng.normal(size=N), rng.normal(size=4)

    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    point = terms.at(s)
    point.slope(w), point.curve(w, s), terms.thresholded(s), terms.bounds(np.ones(N))
    terms.rows(np.arange(5), 8.0).at(s[:5]).slope(w)


@pytest.mark.parametrize("function", [Sigmoid(2.0), Logistic(), Squared()], ids=repr)
def test_constants_of_one_rate(function, rng):
    """Exact where one row carries all the weight."""
    terms = Terms(Rates(function, [[1.0]], np.ones(1)), Combination([[1.0], [-1.0]]))
    bounds = terms.bounds(np.array([3.0]))
    least, largest = function.curvatures
    if function.lipschitz is None:
        assert bounds.lipschitz is None
    else:
        np.testing.assert_allclose(bounds.lipschitz, 3 * function.lipschitz)
    np.testing.assert_allclose(bounds.smoothness, 9 * largest)
    np.testing.assert_allclose(bounds.weak_convexity, [9 * max(0, -least), 9 * largest])


def test_lower_bounds_of_the_objective(rng):
    mean, sign = np.full((4, 1), 0.25), np.ones(4)
    loss, share = Rates(Logistic(), mean, sign), Rates(Sigmoid(), mean * [[1], [1], [-1], [1]])

    def lower(*row, offset=0.0):
        return Terms([loss, share], Combination([row], [offset])).bounds(np.ones(4)).lower

    assert lower(1, 0) == 0.0
    assert lower(2, 0, offset=-1.5) == -1.5
    assert lower(1, 2) == -0.5
    assert lower(0, -2) == -1.5
    assert lower(-1, 0) is None
    terms = rate_terms(squares=True)
    found = terms.bounds(np.ones(N)).lower
    assert found is None or all(
        found <= terms.at(t * rng.normal(size=N)).values[0] for t in (0.1, 1, 10, 100)
    )


def test_unused_rates_do_not_spoil_the_constants():
    sums = [Rates(Sigmoid(), [[1.0]]), Rates(Hinge(), [[1.0]])]
    assert Terms(sums, Combination([[1.0, 0.0]])).bounds(np.ones(1)).smoothness is not None
    assert Terms(sums, Combination([[1.0, 1.0]])).bounds(np.ones(1)).smoothness is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Terms([], Combination([[1.0]])), "`sums` must not be empty"),
        (
            lambda: Terms(Rates(Sigmoid(), np.ones((2, 1))), Combination([[1.0, 2.0]])),
            "`combination` must be of 1 sums, got 2",
        ),
        (lambda: Combination([[1.0]], [1, 2]), r"`offsets` must have shape \(1,\)"),
        (lambda: Combination([[1.0]], names=["a"]), "`names` must have 0 entries"),
        (lambda: Rates(Sigmoid(), np.ones((2, 1)), [1, 0]), "`sign` must hold only 1 and -1"),
        (lambda: Rates(Sigmoid(), np.ones((2, 1)), [1]), r"`sign` must have shape \(2,\)"),
        (lambda: RowWeights([[np.nan]]), "RowWeights: `matrix` must be finite"),
        (
            lambda: rate_terms().at(np.zeros(3)),
            r"Rates: `scores` must have shape \(40,\), got \(3,\)",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
