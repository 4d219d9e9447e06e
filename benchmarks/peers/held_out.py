"""Fair classifiers on rows that no fit has seen, with paired differences to fairlearn's reductions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.page import Page
from benchmarks.peers.fair import (
    NOTIONS,
    accuracy_of,
    equipoise,
    gap_of,
    reduction,
    standardised,
)
from benchmarks.peers.race import data

SPLITS, TRAINED = 5, 0.7
CASES_BEHIND = 1  # of all, in which a peer may be ahead by more than a standard error


@dataclass(frozen=True)
class Rows:
    """Some rows of a data set."""

    X: Any
    y: np.ndarray
    groups: np.ndarray

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.y)


def run(page: Page, quick: bool) -> None:
    """Measure every case."""
    splits = 2 if quick else SPLITS
    page.say(
        "\n## Fair classifiers: rows held out\n\n"
        f"{splits} random divisions, {TRAINED:.0%} of the rows to train on. Means over the divisions of "
        "what is counted on the other rows; *ahead*: the accuracy of Equipoise minus the peer's on the same "
        "rows, with one standard error, in units of .0001. *at EG's gap*: Equipoise is asked for the gap "
        "that ExponentiatedGradient reached on the training rows. GridSearch is compared with in the "
        "divisions in which its model keeps the bound on the training rows, if these are two at the least. "
        "Bounds are kept on the training rows: `confidence` is what holds gaps on others."
    )
    page.table(
        "data", "notion" + 12 * " ", "bound", "accuracy", "gap", "GridSearch", "ahead of it",
        "at EG's gap", "gap   ", "EG's  ", "gap   ", "ahead of EG",
    )  # fmt: skip
    behind = 0
    for label in ("compas",) if quick else ("a9a", "bank", "compas"):
        rows = data(label)
        X = rows.X if sparse.issparse(rows.X) else standardised(rows.X)
        dense = X.toarray() if sparse.issparse(X) else X
        for notion in NOTIONS:
            for bound in (0.05,) if quick else (0.02, 0.05):
                runs = [_run(rows, dense, notion, bound, seed) for seed in range(splits)]
                behind += _row(page, (label, notion, f"{bound:.2f}"), runs)
    page.say()
    page.goal("held-out rows: cases in which a peer is ahead", behind, CASES_BEHIND)


def _run(rows: Any, dense: Any, notion: str, bound: float, seed: int) -> dict[str, float]:
    """Return accuracies and gaps of one division."""
    order = np.random.default_rng(seed).permutation(rows.n)
    cut = int(TRAINED * rows.n)
    (train, theirs), (test, dense_test) = (
        (Rows(rows.X[part], rows.y[part], rows.groups[part]), dense[part])
        for part in (order[:cut], order[cut:])
    )
    grid, eg = (
        reduction(name, train, theirs, notion, bound)
        for name in ("GridSearch", "ExponentiatedGradient")
    )
    reached = gap_of(train, notion, np.asarray(eg(theirs), dtype=float))
    holds = gap_of(train, notion, np.asarray(grid(theirs), dtype=float)) <= bound + 1e-12
    found = {
        "ours": equipoise(train, notion, bound).predict(test.X),
        "matched": equipoise(train, notion, reached).predict(test.X),
        "grid": grid(dense_test),
        "eg": eg(dense_test),
    }
    counted: dict[str, float] = {}
    for name, predicted in found.items():
        p = np.asarray(predicted, dtype=float)
        counted[name], counted[f"{name} gap"] = accuracy_of(test, p), gap_of(test, notion, p)
    return counted | ({} if holds else {"grid": np.nan})


def _row(page: Page, case: tuple[str, str, str], runs: list[dict[str, float]]) -> bool:
    """Write the line of a case, and return whether a peer is ahead by more than a standard error."""
    columns = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    mean = {name: f"{values.mean():.4f}" for name, values in columns.items()}
    grid, eg = columns["ours"] - columns["grid"], columns["matched"] - columns["eg"]
    grid = grid[~np.isnan(grid)]
    shown = ["", ""] if grid.size < 2 else [f"{np.nanmean(columns['grid']):.4f}", _ahead(grid)]
    page.row(
        *case, mean["ours"], mean["ours gap"], *shown, mean["matched"], mean["matched gap"],
        mean["eg"], mean["eg gap"], _ahead(eg),
    )  # fmt: skip
    return any(
        each.size > 1 and each.mean() < -_standard_error(each)  # less than two say nothing
        for each in (grid, eg)
    )


def _ahead(differences: np.ndarray) -> str:
    return f"{1e4 * differences.mean():+.0f} +- {1e4 * _standard_error(differences):.0f}"


def _standard_error(differences: np.ndarray) -> float:
    return float(differences.std(ddof=1) / np.sqrt(differences.size))
