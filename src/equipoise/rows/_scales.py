"""Units in which all columns count alike."""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.rows._table import Table

# Squares below this have lost digits: the least number with all its digits is 2e-308. Chosen, with room for
# sums over rows.
LOST_SQUARE = 1e-280

# A column counts as constant where its variance is at most this share of its mean square: that much is
# rounding error.
CONSTANT_COLUMN = 1e-12

# Where the variance is at most this share, the difference of two means of squares has lost half of its
# digits, and the variance is computed again from centred values. Chosen.
FAR_FROM_0 = 1e-6

# A column with a smaller share of entries that are not 0 is taken for one of indicators, and not centred.
# Chosen: half of them, less rounding errors.
MOSTLY_0 = 0.5 - 1e-9


def column_scales(owner: str, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the scale and the centre of every column.

    The scale is the standard deviation, the size of a constant column: then features of any unit
    get a fair share of the penalty and of the solver's steps. Where most entries are 0 it is the root
    mean square of the others: so indicators stay as they are, and the penalty does not fade for a
    feature that few rows have. Models apply both inside their products, so that a sparse matrix
    stays as it is.
    """
    owner = _check.text("column_scales", "owner", owner)
    total = _check.kind(owner, "table", table, Table).total()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        moments = table.moments()
        center, square = moments.entries / total, moments.squares / total
        present = moments.present / total
    lost = np.flatnonzero(~np.isfinite(square) | ((square < LOST_SQUARE) & (present > 0)))
    if lost.size:
        reason = (
            f"the values in column {lost[0]} of X are too large or too small for their squares; "
            "change its unit."
        )
        raise _check.InputError(owner, reason, "X")
    variance = np.maximum(square - center**2, 0.0)
    constant = variance <= CONSTANT_COLUMN * square
    far = np.flatnonzero((variance <= FAR_FROM_0 * square) & (square > 0))
    if far.size:
        variance[far] = table.variances(center, far) / total
        least = np.where(variance <= FAR_FROM_0 * square, CONSTANT_COLUMN**2, CONSTANT_COLUMN)
        constant = variance <= least * square
    row = table.heaviest_row()
    if row is not None:
        center = np.where(constant, row[1], center)  # leaves nothing but rounding
    if constant.all():
        reason = (
            "every column of X is constant up to rounding errors, so there is nothing to learn "
            "from; give X at least one feature that differs from row to row."
        )
        raise _check.MissingRowsError(owner, reason, "X")
    indicator = present < MOSTLY_0
    scale = np.sqrt(np.where(indicator, square / np.maximum(present, 1e-300), variance))
    return np.where(constant, np.maximum(1.0, np.abs(center)), scale), center
