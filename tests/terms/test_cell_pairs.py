"""Squared hinges of many rows, from cells, against the double loop and against sorted scores."""

import numpy as np
import pytest

from equipoise.terms import PairSums, Scores, SquaredHingePair, _cell_pairs
from equipoise.terms._cell_pairs import CellPairs, squared_hinges
from equipoise.terms._pair_point import PairedRows
from equipoise.terms._sorted_pairs import QuadraticPairs

MARGIN = 0.73
RNG = np.random.default_rng(5)
FINE = {
    "ordinary": RNG.normal(size=2000),
    "one value": np.full(2000, 1.37),
    "less than a margin": 0.8 * MARGIN * RNG.random(2000),
    "two values": RNG.choice([-0.2, 0.9], 2000),
    "ties": np.round(RNG.normal(size=2000), 1),
    "many margins": 3e3 * RNG.normal(size=2000),
    "uneven": RNG.exponential(size=2000),
}
COARSE = {
    "a margin apart": MARGIN * RNG.integers(0, 5, 2000) + 1e-6 * RNG.normal(size=2000),
    "an outlier": np.concatenate((RNG.normal(size=1999), [1e4])),
    "almost separated": np.concatenate((5e3 + RNG.random(1000), RNG.random(1000))),
    "huge": 1e9 * RNG.normal(size=2000),
}


def rows_of(s, pairs=None):
    rng = np.random.default_rng(1)
    atoms = rng.integers(0, 3, len(s))
    return PairedRows(s, rng.random(len(s)) / len(s), atoms, 3, pairs)


def double_loop(rows, U):
    """Return the sums (A, A), and the slopes of these weighted with U."""
    short = np.maximum(0.0, MARGIN - (rows.scores[:, None] - rows.scores[None, :]))
    weight = np.outer(rows.weight, rows.weight)
    member = (rows.atoms[:, None] == np.arange(3)).astype(float)
    values = member.T @ (weight * short**2) @ member
    slopes = -2.0 * weight * short * U[rows.atoms][:, rows.atoms]
    return values, slopes.sum(1) - slopes.sum(0)


@pytest.mark.parametrize("s", FINE.values(), ids=FINE)
def test_cells_agree_with_the_double_loop(s):
    rows, U = rows_of(s), np.random.default_rng(2).normal(size=(3, 3))
    values, slope = double_loop(rows, U)
    found = CellPairs(rows, MARGIN)
    assert found.trusted
    np.testing.assert_allclose(found.values, values, rtol=1e-9)
    np.testing.assert_allclose(found.slope(U), slope, rtol=0, atol=1e-7 * np.abs(slope).max())


@pytest.mark.parametrize("s", COARSE.values(), ids=COARSE)
def test_scores_for_which_cells_are_too_coarse_are_sorted(s, monkeypatch):
    monkeypatch.setattr(_cell_pairs, "ROWS_IN_CELLS", 0)
    rows, U = rows_of(s), np.ones((3, 3))
    values, slope = double_loop(rows, U)
    found = squared_hinges(rows, MARGIN)
    assert isinstance(found, QuadraticPairs)
    np.testing.assert_allclose(found.values, values, rtol=0, atol=1e-8 * values.max())
    np.testing.assert_allclose(found.slope(U), slope, rtol=0, atol=1e-7 * np.abs(slope).max())


def test_values_that_rounding_would_change_are_taken_from_sorted_scores(monkeypatch):
    """Few pairs are within the margin, and moments of scores a thousand margins apart cancel."""
    monkeypatch.setattr(_cell_pairs, "ROWS_IN_CELLS", 0)
    s = np.concatenate((np.full(1000, 730.0), np.linspace(0.0, 1.0, 980), np.full(20, 729.5)))
    pairs = np.array([[False, True], [False, False]])
    rows = PairedRows(s, np.full(2000, 1e-3), np.repeat([0, 1], 1000), 2, pairs)
    found = squared_hinges(rows, MARGIN)
    assert isinstance(found, QuadraticPairs)
    np.testing.assert_allclose(found.values[0, 1], 0.02 * (MARGIN - 0.5) ** 2, rtol=1e-6)


def test_only_sums_that_are_asked_for_must_be_right(monkeypatch):
    """Pairs of the first atom with itself are a margin apart; nobody asks for them."""
    monkeypatch.setattr(_cell_pairs, "ROWS_IN_CELLS", 0)
    s = RNG.normal(size=2000)
    rows = rows_of(s)
    s[rows.atoms == 0] = MARGIN * RNG.integers(0, 3, int((rows.atoms == 0).sum()))
    pairs = np.zeros((3, 3), dtype=bool)
    pairs[1, 2] = True
    assert isinstance(squared_hinges(rows_of(s), MARGIN), QuadraticPairs)
    found = squared_hinges(rows_of(s, pairs), MARGIN)
    assert isinstance(found, CellPairs)
    np.testing.assert_allclose(found.values[1, 2], double_loop(rows, pairs)[0][1, 2], rtol=1e-9)


def test_undecided_pairs_are_wrong_by_no_more_than_a_cell(monkeypatch):
    """With few cells the errors can be seen; a whole pair in the place of half would be twice as far off."""
    monkeypatch.setattr(_cell_pairs, "CELLS", 40)
    rows, U = rows_of(FINE["ordinary"]), np.ones((3, 3))
    values, slope = double_loop(rows, U)
    found = CellPairs(rows, MARGIN)
    assert not found.trusted
    spread = rows.scores.max() - rows.scores.min()
    h = MARGIN / int(40 / (1.0 + spread / MARGIN))
    t = rows.scores[:, None] - rows.scores[None, :]
    near = (np.abs(t - MARGIN) < h) * np.outer(rows.weight, rows.weight)
    error = np.abs(found.slope(U) - slope)
    assert (error <= h * (near.sum(0) + near.sum(1))).all()
    assert error.max() > 0.05 * h * near.sum(0).max()  # it is seen
    # errors of single pairs have both signs and cancel; with whole pairs or none they would not
    assert np.abs(found.values - values).sum() <= 0.02 * 0.5 * h**2 * near.sum()


def test_second_derivatives_are_those_of_sorted_scores():
    rows, U = rows_of(FINE["ordinary"]), np.ones((3, 3))
    d = np.random.default_rng(3).normal(size=2000)
    cells, exact = CellPairs(rows, MARGIN), QuadraticPairs(rows, 1.0, MARGIN, everywhere=False)
    np.testing.assert_array_equal(cells.curve(U, d), exact.curve(U, d))
    np.testing.assert_array_equal(cells.bend(U), exact.bend(U))
    np.testing.assert_array_equal(cells.push(d), exact.push(d))


def test_tensors_give_what_arrays_give(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(_cell_pairs, "ROWS_IN_CELLS", 0)
    atoms = np.random.default_rng(4).integers(-1, 2, 2000)
    shares = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    sums = PairSums(SquaredHingePair(MARGIN), atoms, np.full(2000, 1e-3), *shares)
    s, u = FINE["ordinary"], np.ones(1)
    on_host, there = sums.at(Scores(s)), sums.at(Scores(torch.tensor(s)))
    np.testing.assert_allclose(there.values, on_host.values, rtol=1e-12)
    np.testing.assert_allclose(there.slope(u).numpy(), on_host.slope(u), rtol=0, atol=1e-15)
