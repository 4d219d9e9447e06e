"""Choosing on some rows, judging on others: the frontier of a method and its hypervolume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Table = list[tuple[float, float, float, float]]
"""For each model: gap and AUC on the rows for choosing, then on the rows held out."""
LEAST_AUC = 0.5  # of the reference point: that of scores that are all equal


def undominated(gaps: np.ndarray, aucs: np.ndarray) -> np.ndarray:
    """Which points no other one beats: the best AUC within some bound on the gap."""
    order = np.lexsort((-aucs, gaps))
    before = np.maximum.accumulate(np.append(-np.inf, aucs[order][:-1]))
    return np.sort(order[aucs[order] > before])


def chosen(rows: Table, bounds: Sequence[float]) -> np.ndarray:
    """For every bound the model with the best AUC that keeps it on the rows for choosing.

    Returns gap and AUC on the rows held out, (bounds, 2); NaN where no model keeps the bound.
    """
    answer = np.full((len(bounds), 2), np.nan)
    for i, bound in enumerate(bounds):
        kept = [row for row in rows if row[0] <= bound]
        if kept:
            answer[i] = max(kept, key=lambda row: row[1])[2:]
    return answer


def hypervolume(points: np.ndarray, largest_gap: float) -> float:
    """The share of the rectangle from (no gap, AUC 1) to (`largest_gap`, AUC 1/2) that is dominated.

    `points` holds gaps and AUCs, (k, 2).
    """
    inside = points[(points[:, 0] < largest_gap) & (points[:, 1] > LEAST_AUC)]
    inside = inside[np.argsort(inside[:, 0])]
    widths = np.diff(np.append(inside[:, 0], largest_gap))
    best = np.maximum.accumulate(inside[:, 1])
    return float(widths @ (best - LEAST_AUC)) / (largest_gap * (1.0 - LEAST_AUC))


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the first axis and its standard error; 0 for one value."""
    count = len(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else 0.0 * values[0]
    return values.mean(axis=0), error
