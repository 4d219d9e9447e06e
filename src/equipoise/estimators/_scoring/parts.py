"""Parts of the rows, by their content: the same whatever the order of the rows."""

from __future__ import annotations

import numpy as np

from equipoise._array import Array, in_double, namespace, true_count
from equipoise.estimators._training import Training
from equipoise.models import linear_scores

# A random linear function of the features, of the size of the scores of a model, is cut into slices of this
# width, and every third slice is the part to fit. Chosen: far finer than scores differ, far coarser than
# rounding.
SLICE = 1e-3

# One row in this many is fitted, and the others compare: fits cost more than scores. Chosen.
ONE_IN = 3

# With fewer rows the comparison would tell nothing: on 1,000 rows the accuracies of two models that differ on
# 5 % of them are known to .007. Chosen.
LEAST_ROWS = 2_000

# How far the share of the rows to fit may be from what is meant, as a factor: rows with the same features are
# in the same part. Chosen.
FACTOR = 1.5


def parts_by_content(training: Training, seed: int) -> tuple[Array, Array] | None:
    """Return the rows to fit, and the others ordered by content; None where they would be too few.

    Of a tensor they are tensors beside it.
    """
    table, units = training.table, training.units
    if table.n_rows < LEAST_ROWS:
        return None
    drawn = np.random.default_rng(seed).standard_normal(units.dim)
    scores = in_double(linear_scores(table.X, *units.coefficients(drawn)))
    xp = namespace(scores)
    inside = xp.floor(scores / SLICE) % ONE_IN == 0
    share = ONE_IN * true_count(inside) / table.n_rows
    if not 1.0 / FACTOR <= share <= FACTOR:
        return None
    others = xp.nonzero(~inside)[0]
    others = others[xp.argsort(scores[others], stable=True)]
    return xp.nonzero(inside)[0], others


def blocks_of(positive: Array, count: int) -> list[Array]:
    """Return the places of the rows in so many blocks, each with its share of both classes."""
    order = namespace(positive).argsort(positive, stable=True)
    return [order[i::count] for i in range(count)]


def blocks_by_score(training: Training, x: np.ndarray, count: int) -> list[Array]:
    """Return all rows in so many blocks, each with its share of both classes and of the scores of a model."""
    table = training.table
    scores = linear_scores(table.X, *training.units.coefficients(x))
    xp = namespace(scores)
    order = xp.argsort(scores, stable=True)
    return [xp.sort(order[places]) for places in blocks_of(table.positive[order], count)]


def standard_error(differences: np.ndarray) -> float:
    """Return the standard error of the mean of what blocks of rows differ by."""
    return float(differences.std(ddof=1) / np.sqrt(differences.size))
