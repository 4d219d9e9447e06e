"""Choosing a model by cross-validation: bounds first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from equipoise import _check


def feasible_first(
    score: str = "score", violation: str = "violation", *, tolerance: float = 0.0
) -> Callable[[Mapping[str, Any]], int]:
    """Return what ``GridSearchCV(..., refit=...)`` takes: kept bounds come first, then the score.

    Of the candidates whose mean violation on held-out rows is at most `tolerance`, the one with the best
    mean score is chosen; if there is none, the one that breaks its bounds least.

    Parameters
    ----------
    score, violation : str
        The names of the two in ``scoring``; the violation is that of `violation_scorer`.
    tolerance : float

    Examples
    --------
    >>> from equipoise.metrics import feasible_first
    >>> choose = feasible_first("accuracy")
    >>> choose({"mean_test_accuracy": [0.9, 0.8, 0.7], "mean_test_violation": [-0.1, 0.0, 0.0]})
    1
    """
    owner = "feasible_first"
    names = (_check.text(owner, "score", score), _check.text(owner, "violation", violation))
    allowed = _check.non_negative(owner, "tolerance", tolerance)
    return partial(_best_index, names=names, tolerance=allowed)


def _best_index(results: Mapping[str, Any], names: tuple[str, str], tolerance: float) -> int:
    """Return the place of the best candidate among the results of a search."""
    columns = []
    for parameter, name in zip(("score", "violation"), names):
        if f"mean_test_{name}" not in results:
            known = [
                key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")
            ]
            _check.fail("feasible_first", parameter, f"must be a name in `scoring`, {known}", name)
        columns.append(np.asarray(results[f"mean_test_{name}"], dtype=float))
    scores, broken = columns[0], -columns[1]
    broken = np.where(np.isnan(scores + broken), np.inf, broken)  # a fit that failed is the worst
    kept = broken <= tolerance
    if not kept.any():
        return int(np.argmin(broken))
    return int(np.argmax(np.where(kept, scores, -np.inf)))
