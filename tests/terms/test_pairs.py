"""Sums over pairs of rows against the double loop."""

import numpy as np
import pytest
from scipy.special import expit

from equipoise._problem import NonFiniteError
from equipoise.terms import (
    LogisticPair,
    PairSums,
    QuadraticPair,
    Scores,
    SigmoidPair,
    SquaredHingePair,
    _lattice_cells,
)
from equipoise.terms._lattice_cells import LatticeCells

FUNCTIONS = {
    "sigmoid": SigmoidPair(),
    "sharp sigmoid": SigmoidPair(5.0),
    "logistic": LogisticPair(),
    "squared hinge": SquaredHingePair(0.73),
    "quadratic": QuadraticPair(0.5, 1.0),
}
RNG = np.random.default_rng(0)
SCORES = {
    "one pair": np.array([0.3, -0.41]),
    "ordinary": RNG.normal(size=60),
    "ties": np.round(RNG.normal(size=60), 1),
    "one value": np.full(20, 1.37),
    "wide": 1e3 * RNG.normal(size=60),
    "huge": 1e7 * RNG.normal(size=60),
    "two outliers": np.concatenate((RNG.normal(size=50), [1e12, -1e9])),
    "far apart": np.concatenate((RNG.normal(size=30), 5e4 + RNG.normal(size=30))),
}


def slope(function, t):
    if isinstance(function, SigmoidPair):
        k = function.sharpness
        return k * expit(k * t) * expit(-k * t)
    if isinstance(function, LogisticPair):
        return -expit(-t)
    if isinstance(function, SquaredHingePair):
        return -2.0 * np.maximum(0.0, function.margin - t)
    return 2.0 * function.c1 * (t - function.c2)


def second(function, t):
    if isinstance(function, SigmoidPair):
        k = function.sharpness
        return k * k * expit(k * t) * expit(-k * t) * (1.0 - 2.0 * expit(k * t))
    if isinstance(function, LogisticPair):
        return expit(t) * expit(-t)
    if isinstance(function, SquaredHingePair):
        return 2.0 * (t < function.margin)
    return np.full(t.shape, 2.0 * function.c1)


def example(n, seed=1):
    """Return atoms (some rows in none), weights and shares of three means over pairs."""
    rng = np.random.default_rng(seed)
    atoms = rng.integers(-1, 3, n)
    atoms[:3] = (0, 1, 2)[: min(3, n)]
    above = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 0.5]])
    below = np.array([[0.0, 0.3, 0.5], [1.0, 0.3, 0.0], [0.0, 0.3, 0.2]])
    return atoms, rng.random(n) / n, above, below


def double_loop(function, s, atoms, weight, above, below):
    """Return values, Jacobian (R, n) and Hessians (R, n, n) of the means, pair by pair."""
    a, b = (
        np.where((atoms >= 0)[:, None], m[atoms], 0.0) * weight[:, None] for m in (above, below)
    )
    t = s[:, None] - s[None, :]
    values, jacobian, hessians = [], [], []
    for r in range(above.shape[1]):
        w = np.outer(a[:, r], b[:, r])
        values.append((w * function.value(t)).sum())
        first, bend = w * slope(function, t), w * second(function, t)
        jacobian.append(first.sum(1) - first.sum(0))
        H = -bend - bend.T
        H[np.diag_indices(len(s))] += bend.sum(1) + bend.sum(0)
        hessians.append(H)
    return np.array(values), np.array(jacobian), np.array(hessians)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("s", SCORES.values(), ids=SCORES)
def test_pairs_agree_with_the_double_loop(function, s):
    atoms, weight, above, below = example(len(s))
    point = PairSums(function, atoms, weight, above, below).at(Scores(s))
    values, jacobian, hessians = double_loop(function, s, atoms, weight, above, below)
    rng = np.random.default_rng(2)
    u, d = rng.normal(size=3), rng.normal(size=len(s))
    mass = weight[atoms >= 0].sum()
    size = {
        "value": np.abs(values).max(),
        "slope": np.abs(jacobian).max(),
        "bend": mass * weight.max(),
    }
    np.testing.assert_allclose(point.values, values, rtol=0, atol=1e-8 * size["value"])
    tolerance = 1e-6 * max(size["slope"], size["bend"])
    np.testing.assert_allclose(point.slope(u), u @ jacobian, rtol=0, atol=tolerance)
    np.testing.assert_allclose(point.push(d), jacobian @ d, rtol=0, atol=len(s) * tolerance)
    for index in ([2, 0], [1], []):
        columns = point.columns(np.array(index, dtype=int))
        np.testing.assert_allclose(columns.T, jacobian[index], atol=tolerance)
    k = getattr(function, "sharpness", 1.0)
    product = np.einsum("r,rij,j->i", u, hessians, d)
    np.testing.assert_allclose(point.curve(u, d), product, rtol=0, atol=1e-6 * k**2 * size["bend"])


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_are_those_of_the_computed_function(function):
    """Whatever the error of the lattice, a line search must see a function and its own slope."""
    s = SCORES["ordinary"]
    sums = PairSums(function, *example(len(s)))
    rng = np.random.default_rng(3)
    u, d, step = rng.normal(size=3), rng.normal(size=len(s)), 1e-5
    ahead, behind = (sums.at(Scores(s + sign * step * d)) for sign in (1, -1))
    change = (ahead.values - behind.values) / (2 * step)
    np.testing.assert_allclose(sums.at(Scores(s)).push(d), change, rtol=1e-6, atol=1e-12)
    turned = (ahead.slope(u) - behind.slope(u)) / (2 * step)
    np.testing.assert_allclose(sums.at(Scores(s)).curve(u, d), turned, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_bends_are_the_diagonal_with_the_other_scores_fixed(function):
    s = SCORES["ordinary"]
    atoms, weight, above, below = example(len(s))
    hessians = double_loop(function, s, atoms, weight, above, below)[2]
    a, b = (
        np.where((atoms >= 0)[:, None], m[atoms], 0.0) * weight[:, None] for m in (above, below)
    )
    own = (
        2.0 * second(function, np.zeros(1)) * (a * b).T
    )  # a row beside itself counts in no diagonal
    found = PairSums(function, atoms, weight, above, below).at(Scores(s)).bend(np.ones(3))
    expected = np.einsum("rii->i", hessians) + own.sum(0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_counting_is_the_double_loop_with_ties_as_one_half():
    s = SCORES["ties"]
    atoms, weight, above, below = example(len(s))
    sums = PairSums(SigmoidPair(), atoms, weight, above, below)
    t = s[:, None] - s[None, :]
    a, b = (
        np.where((atoms >= 0)[:, None], m[atoms], 0.0) * weight[:, None] for m in (above, below)
    )
    expected = np.einsum("ir,ij,jr->r", a, (t > 0) + 0.5 * (t == 0), b)
    np.testing.assert_allclose(sums.thresholded(Scores(s)), expected, rtol=1e-12)


def test_losses_are_counted_as_they_are():
    s = SCORES["ordinary"]
    sums = PairSums(LogisticPair(), *example(len(s)))
    np.testing.assert_array_equal(sums.thresholded(Scores(s)), sums.values(s))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    s = SCORES["ordinary"].copy()
    s[1] = bad
    with pytest.raises(NonFiniteError):
        PairSums(SigmoidPair(), *example(len(s))).at(Scores(s))


def test_some_rows_give_an_unbiased_estimate_of_pairs():
    """Of pairs of two different rows: the mean over all samples of half of the rows."""
    s, atoms = SCORES["ordinary"][:6], np.array([0, 0, 0, 1, 1, 1])
    sums = PairSums(SigmoidPair(), atoms, np.ones(6), [[1 / 3], [0]], [[0], [1 / 3]])
    found = []
    for i in range(6):
        for j in range(i):
            drawn = np.array([i, j])
            found.append(sums.rows(drawn, 1.0).values(s[drawn])[0])
    share = 2 * 1 / (6 * 5)  # of samples that hold a given pair
    assert np.mean(found) == pytest.approx(share * sums.values(s)[0])


def test_bounds_hold_along_random_lines():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(40, 3))
    for function in FUNCTIONS.values():
        atoms, weight, above, below = example(40)
        sums = PairSums(function, atoms, weight, above, below)
        bounds = sums.bounds(np.linalg.norm(A, axis=1))
        for _ in range(20):
            x, v = rng.normal(size=3), rng.normal(size=3)
            v /= np.linalg.norm(v)
            point = sums.at(Scores(A @ x))
            assert (point.values >= bounds.least - 1e-12).all()
            assert (point.values <= bounds.largest + 1e-12).all()
            for r, u in enumerate(np.eye(3)):
                assert np.linalg.norm(A.T @ point.slope(u)) <= bounds.slope[r] + 1e-12
                bend = (A @ v) @ point.curve(u, A @ v)
                assert -bounds.below[r] - 1e-6 <= bend <= bounds.above[r] + 1e-6


def test_sharpening_changes_the_sigmoid_alone():
    s = SCORES["ordinary"]
    given = example(len(s))
    sharp = PairSums(SigmoidPair(), *given).sharpened(3.0)
    np.testing.assert_array_equal(sharp.values(s), PairSums(SigmoidPair(3.0), *given).values(s))
    plain = PairSums(LogisticPair(), *given)
    np.testing.assert_array_equal(plain.sharpened(3.0).values(s), plain.values(s))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"atoms": [0.5, 1.0]}, "`atoms` must be a vector of integers"),
        ({"atoms": [0, 7]}, "`atoms` must be a vector of integers from -1 to 1"),
        ({"weight": [1.0]}, "`weight`"),
        ({"above": [[np.nan], [1.0]]}, "`above` must be finite"),
        ({"below": [[1.0, 1.0], [1.0, 1.0]]}, r"`below` must have shape \(2, 1\)"),
    ],
)
def test_wrong_input(change, message):
    given = {
        "atoms": [0, 1],
        "weight": [1.0, 1.0],
        "above": [[1.0], [0.0]],
        "below": [[0.0], [1.0]],
    }
    with pytest.raises(ValueError, match=message):
        PairSums(SigmoidPair(), **{**given, **change})


@pytest.mark.parametrize(("kept", "made"), [(10**6, 1), (0, 5)])
def test_powers_of_few_rows_are_made_once_and_of_many_each_time(monkeypatch, kept, made):
    """The sums over pairs are the same, whichever rows are taken together."""
    s, (atoms, *others) = SCORES["ordinary"], example(60)
    rng = np.random.default_rng(4)
    u, d = rng.normal(size=3), rng.normal(size=60)
    sums = PairSums(SigmoidPair(5.0), atoms, *others)
    whole = sums.at(Scores(s))
    calls = []
    original = LatticeCells._powers_of

    def counted(self, own):
        calls.append(own)
        return original(self, own)

    monkeypatch.setattr(_lattice_cells, "ROWS_AT_A_TIME", 7)
    monkeypatch.setattr(_lattice_cells, "KEPT_ROWS", kept)
    monkeypatch.setattr(LatticeCells, "_powers_of", counted)
    parts = sums.at(Scores(s))
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-13)
    for _ in range(2):
        np.testing.assert_allclose(parts.push(d), whole.push(d), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(parts.curve(u, d), whole.curve(u, d), rtol=1e-9, atol=1e-13)
    assert len(calls) == made * -(-np.count_nonzero(atoms >= 0) // 7)
