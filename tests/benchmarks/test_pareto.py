"""The page of frontiers: choosing, hypervolumes, a quick run that goes on where it stopped."""

import numpy as np
import pytest

from benchmarks.pareto import data, runs
from benchmarks.pareto.__main__ import main
from benchmarks.pareto.methods import METHODS, joined
from benchmarks.pareto.plot import STYLES
from benchmarks.pareto.selection import chosen, hypervolume, mean_and_error, undominated
from equipoise.datasets import make_census

TABLE = [(0.01, 0.7, 0.03, 0.71), (0.05, 0.8, 0.04, 0.79), (0.1, 0.75, 0.2, 0.9)]


def test_models_are_chosen_on_some_rows_and_judged_on_others():
    found = chosen(TABLE, [0.005, 0.02, 0.05, 1.0])
    expected = [[np.nan, np.nan], [0.03, 0.71], [0.04, 0.79], [0.04, 0.79]]
    np.testing.assert_array_equal(found, expected)


def test_only_undominated_models_can_be_chosen():
    rng = np.random.default_rng(0)
    gaps, aucs = np.round(rng.random((2, 60)), 1)
    kept = undominated(gaps, aucs)
    for bound in np.unique(gaps):
        inside = gaps <= bound
        assert aucs[kept][gaps[kept] <= bound].max() == aucs[inside].max()
    for i in kept:
        better = (gaps <= gaps[i]) & (aucs >= aucs[i])
        assert ((gaps[better] == gaps[i]) & (aucs[better] == aucs[i])).all()


def test_hypervolume():
    assert hypervolume(np.array([[0.0, 1.0]]), 0.2) == pytest.approx(1.0)
    assert hypervolume(np.array([[0.1, 0.75]]), 0.2) == pytest.approx(0.25)
    two = np.array([[0.1, 0.75], [0.05, 0.6]])
    assert hypervolume(two, 0.2) == pytest.approx((0.05 * 0.1 + 0.1 * 0.25) / 0.1)
    worse = np.array([[0.3, 0.9], [0.1, 0.4], [0.15, 0.7]])  # beyond the reference, or dominated
    assert hypervolume(np.vstack((two, worse)), 0.2) == pytest.approx(hypervolume(two, 0.2))
    assert hypervolume(worse[:2], 0.2) == 0.0


def test_hypervolume_against_counted_points():
    rng = np.random.default_rng(1)
    points = np.column_stack((0.2 * rng.random(6), 0.5 + 0.5 * rng.random(6)))
    drawn = np.column_stack((0.2 * rng.random(100_000), 0.5 + 0.5 * rng.random(100_000)))
    beaten = [(drawn[:, 0] >= gap) & (drawn[:, 1] <= auc) for gap, auc in points]
    share = np.any(beaten, axis=0).mean()
    assert hypervolume(points, 0.2) == pytest.approx(share, abs=5e-3)


def test_means_errors_and_models_between_neighbours():
    mean, error = mean_and_error(np.array([1.0, 3.0]))
    assert (mean, error) == (2.0, 1.0)
    path = joined([np.array([2.0, 0.0]), np.array([0.0, 3.0])])
    np.testing.assert_allclose(path[[0, -1]], np.eye(2))
    np.testing.assert_allclose(path.sum(axis=1), 1.0)


def test_a_quick_run_writes_the_page_and_is_not_repeated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(data, "SOURCES", {"census": (lambda: make_census(1500, seed=0), "female")})
    call = ["--quick", "--write", "--jobs", "1"]
    main(call, tmp_path / "pareto.md", tmp_path / "results")
    page = (tmp_path / "pareto.md").read_text(encoding="utf-8")
    assert set(METHODS) <= set(STYLES)
    assert all(f"| {method} " in page for method in METHODS)
    assert "## Goals" in page
    assert "**A quick run.**" in page
    assert "<svg" in (tmp_path / "pareto.svg").read_text(encoding="utf-8")
    todo = list(runs.cells(["census"], ["group", "inter", "intra"], 1))
    assert len(list((tmp_path / "results" / "quick").glob("*.json"))) == len(todo)
    capsys.readouterr()
    main(["--quick", "--jobs", "1"], tmp_path / "pareto.md", tmp_path / "results")
    assert f"{len(todo)} of {len(todo)} runs are there already" in capsys.readouterr().out
