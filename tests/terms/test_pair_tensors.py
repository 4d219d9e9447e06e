"""Sums over pairs on tensors: the answers of arrays, and what is computed of rows stays on the device."""

import numpy as np
import pytest

from equipoise._problem import NonFiniteError
from equipoise.terms import PairSums, Scores

from .test_pairs import FUNCTIONS, SCORES, example

torch = pytest.importorskip("torch")


def results(point, u, d):
    """Everything that a point of a sum of scores offers."""
    return {
        "values": point.values,
        "slope": point.slope(u),
        "push": point.push(d),
        "columns": point.columns(np.array([2, 0])),
        "no columns": point.columns(np.array([], dtype=int)),
        "bend": point.bend(u),
        "curve": point.curve(u, d),
    }


def assert_alike(found, expected, rel):
    """The largest difference is at most `rel` of the largest number."""
    found = np.asarray(found)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= rel * np.abs(expected).max(initial=0.0)


@pytest.mark.parametrize("inside", ["all rows", "some rows"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("s", SCORES.values(), ids=SCORES)
def test_tensors_give_the_answers_of_arrays(function, s, inside):
    atoms, *shares = example(len(s))
    sums = PairSums(function, np.maximum(atoms, 0) if inside == "all rows" else atoms, *shares)
    rng = np.random.default_rng(2)
    u, d = rng.normal(size=3), rng.normal(size=len(s))
    there = torch.from_numpy(s)
    expected = results(sums.at(Scores(s)), u, d)
    found = results(sums.at(Scores(there)), u, torch.from_numpy(d))
    for name, value in expected.items():
        of_rows = name not in ("values", "push")
        assert isinstance(found[name], torch.Tensor if of_rows else np.ndarray)
        assert_alike(found[name], value, 1e-10)
    assert_alike(sums.thresholded(Scores(there)), sums.thresholded(Scores(s)), 1e-12)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_is_computed_of_rows_stays_where_they_are(function, nothing_leaves):
    n = 5000
    atoms, weight, above, below = example(n)
    sums = PairSums(function, atoms, weight, above, below)
    s, d = (torch.tensor(np.random.default_rng(k).normal(size=n)) for k in (0, 1))
    nothing_leaves["most"] = n // 2
    results(sums.at(Scores(s)), np.ones(3), d)
    sums.thresholded(Scores(s))
    sums.bounds(torch.ones(n, dtype=torch.float64))


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_single_precision_is_computed_in_double(function):
    s = SCORES["ordinary"].astype(np.float32)
    sums = PairSums(function, *example(len(s)))
    point = sums.at(Scores(torch.from_numpy(s)))
    expected = sums.at(Scores(s.astype(np.float64)))
    np.testing.assert_allclose(point.values, expected.values, rtol=1e-12)
    slope = point.slope(np.ones(3))
    assert slope.dtype == torch.float32
    np.testing.assert_allclose(slope.numpy(), expected.slope(np.ones(3)), rtol=2e-6, atol=1e-9)


def test_bounds_are_those_of_arrays():
    lengths = np.random.default_rng(0).random(60)
    sums = PairSums(FUNCTIONS["logistic"], *example(60))
    ours, theirs = sums.bounds(torch.from_numpy(lengths)), sums.bounds(lengths)
    for name in ("slope", "below", "above", "least", "largest"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    s = torch.from_numpy(SCORES["ordinary"].copy())
    s[1] = bad
    with pytest.raises(NonFiniteError):
        PairSums(FUNCTIONS["sigmoid"], *example(len(s))).at(Scores(s))
