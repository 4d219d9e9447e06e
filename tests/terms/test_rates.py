"""Rate terms against plain sums."""

import numpy as np
import pytest
from scipy import sparse

from equipoise.terms import (
    Channel,
    Hinge,
    Logistic,
    RateTerms,
    RowWeights,
    Sigmoid,
    Squared,
)

from .examples import N, rate_terms


def test_values_and_rates_agree_with_plain_sums(rng):
    terms, s = rate_terms(squares=True), rng.normal(size=N)
    loss, sigmoid = terms.channels
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
    np.testing.assert_allclose(terms.rates(s), soft, rtol=1e-12)
    np.testing.assert_allclose(terms.rates(s, hard=True), hard, rtol=1e-12)
    Q, q = terms.squares
    for rates, values in ((soft, terms.at(s).values), (hard, terms.hard(s))):
        expected = terms.coefficients @ rates + terms.offsets
        expected[0] += 0.5 * ((Q @ rates + q) ** 2).sum()
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_sharpness_changes_sigmoids_only(rng):
    terms, s = rate_terms(), rng.normal(size=N)
    sharp = terms.with_(sharpness=50.0)
    assert sharp.channels[1].function == Sigmoid(50.0)
    assert sharp.channels[0].function == Logistic()
    assert sharp.channels[1].weights is terms.channels[1].weights
    exact = terms.hard(s)
    assert np.abs(sharp.at(s).values - exact).max() < np.abs(terms.at(s).values - exact).max()
    with pytest.raises(ValueError, match="`sharpness` must be positive"):
        terms.with_(sharpness=0)


def test_a_kink_gives_no_curve(rng):
    weights = np.full((5, 1), 0.2)
    terms = RateTerms([Channel(Hinge(), weights, np.ones(5))], [[1.0]])
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
    point.slope(w), point.curve(w, s), terms.hard(s), terms.bounds(np.ones(N))
    terms.rows(np.arange(5), 8.0).at(s[:5]).slope(w)


@pytest.mark.parametrize("function", [Sigmoid(2.0), Logistic(), Squared()], ids=repr)
def test_constants_of_one_rate(function, rng):
    """Exact where one row carries all the weight."""
    terms = RateTerms([Channel(function, [[1.0]], np.ones(1))], [[1.0], [-1.0]])
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
    loss, share = Channel(Logistic(), mean, sign), Channel(Sigmoid(), mean * [[1], [1], [-1], [1]])

    def lower(*row, offset=0.0):
        return RateTerms([loss, share], [row], [offset]).bounds(np.ones(4)).lower

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
    channels = [Channel(Sigmoid(), [[1.0]]), Channel(Hinge(), [[1.0]])]
    assert RateTerms(channels, [[1.0, 0.0]]).bounds(np.ones(1)).smoothness is not None
    assert RateTerms(channels, [[1.0, 1.0]]).bounds(np.ones(1)).smoothness is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RateTerms([], [[1.0]]), "`channels` must be over the same rows"),
        (
            lambda: RateTerms([Channel(Sigmoid(), np.ones((2, 1)))], [[1.0, 2.0]]),
            "`coefficients` must have 1 columns",
        ),
        (
            lambda: RateTerms([Channel(Sigmoid(), np.ones((2, 1)))], [[1.0]], [1, 2]),
            r"`offsets` must have shape \(1,\)",
        ),
        (
            lambda: RateTerms([Channel(Sigmoid(), np.ones((2, 1)))], [[1.0]], names=["a"]),
            "`names` must have 0 entries",
        ),
        (lambda: Channel(Sigmoid(), np.ones((2, 1)), [1, 0]), "`sign` must hold only 1 and -1"),
        (lambda: Channel(Sigmoid(), np.ones((2, 1)), [1]), r"`sign` must have shape \(2,\)"),
        (lambda: RowWeights([[np.nan]]), "RowWeights: `matrix` must be finite"),
        (
            lambda: rate_terms().at(np.zeros(3)),
            r"RateTerms: `scores` must have shape \(40,\), got \(3,\)",
        ),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
