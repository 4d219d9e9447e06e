"""Sums over rows in memory: what is remembered of them."""

import numpy as np

from equipoise.constraints import bind_table, demographic_parity
from equipoise.models import LinearUnits
from equipoise.rows import MemoryTable
from equipoise.rows._memory_counts import COUNTS_REMEMBERED


def parity_sums():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    table = MemoryTable(y, X, groups)
    binding = bind_table(demographic_parity(0.1), table)
    return table.row_sums(LinearUnits(2, True), binding.specs), binding, table


def test_a_point_is_counted_once(monkeypatch):
    rows, _, _ = parity_sums()
    calls, counted = [], type(rows.sums).thresholded
    monkeypatch.setattr(
        type(rows.sums), "thresholded", lambda *a: (calls.append(1), counted(*a))[1]
    )
    points = [np.array([1.0, k, 0.1]) for k in range(3)]
    first = [rows.thresholded(x) for x in points]
    first[0][:] = np.nan  # belongs to the caller
    again = [rows.thresholded(x) for x in points]
    assert len(calls) == len(points)
    assert np.isfinite(again[0]).all()
    np.testing.assert_array_equal(again[1:], first[1:])


def test_many_points_are_not_kept():
    rows, _, _ = parity_sums()
    for k in range(20):
        rows.thresholded(np.array([1.0, k, 0.1]))
    assert len(rows._counts) <= COUNTS_REMEMBERED


def test_other_sums_of_the_same_rows_are_counted_anew():
    rows, binding, table = parity_sums()
    x = np.array([1.0, 0.5, 0.1])
    counts = rows.thresholded(x)
    loss = bind_table((), table)
    np.testing.assert_array_equal(rows.sharpened(3.0).thresholded(x), counts)
    assert rows.summing(loss.specs).thresholded(x).size != counts.size
    np.testing.assert_array_equal(rows.summing(binding.specs).thresholded(x), counts)


def test_sums_of_the_same_rates_share_their_weights_however_they_are_joined():
    _, binding, table = parity_sums()
    spec = binding.specs[0]
    assert len(spec.groups) > 1  # joined by itself, and once more below
    rows = table.row_sums(LinearUnits(2, True), [spec, spec])
    again = rows.summing([spec])
    known = {id(rates.weights) for rates in rows.sums.rates}
    assert len(again.sums.rates) == len(spec.groups)
    assert all(id(rates.weights) in known for rates in again.sums.rates)
