"""The plan of a sketch: how many rows are drawn, which, and whether their Gram matrix is only a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from equipoise._array import to_numpy
from equipoise.models._sketch import Sketch
from equipoise.models._squares import column_means, row_sums

if TYPE_CHECKING:
    from equipoise.models._features import Features
    from equipoise.models._linear import LinearModel

# All constants here are chosen by `make peers` and `make scaling`; fits are not sensitive to factors of two.

# The rows of a sketch, at the least and at the most.
MIN_SKETCH_ROWS, MAX_SKETCH_ROWS = 2048, 16384

# With more than twice as many rows, leverages are computed of this many, drawn at random: a whole pass over
# the data would cost more than a better draw saves. Chosen: eight times the rows of the largest sketch.
LOOKED_AT = 1 << 17

# With at most the first number of parameters second derivatives are estimated as a matrix, from the second
# number on as a diagonal. In between, sparse data get a matrix of d^2 numbers where they have at least
# `ENTRIES_PER_NUMBER` d^2 entries.
MATRIX_UP_TO, DIAGONAL_FROM = 64, 600
ENTRIES_PER_NUMBER = 4

# The same limit of a matrix for functions with rounded kinks, whose second derivatives differ more.
KINKED_MATRIX_UP_TO = 2000


@dataclass(frozen=True, eq=False)
class SketchPlan:
    """Which rows are drawn: the same whether the data lie in one place or in several.

    Attributes
    ----------
    n_rows : int
        Of all places together.
    diagonal : bool
        Whether only the diagonal of Gram matrices is made: parameters are too many for a matrix of
        their square.
    size : int
        The rows to draw, about.
    weights : ndarray of shape (d,) or None
        Of squared entries in a row's leverage; None where all rows are taken.
    total : float
        The sum of the leverages of the rows looked at.
    seen : ndarray or None
        The rows looked at, ascending; None for all.
    """

    n_rows: int
    diagonal: bool
    size: int
    weights: np.ndarray | None = None
    total: float = 0.0
    seen: np.ndarray | None = None
    _leverages: list[np.ndarray] = field(default_factory=list)  # of the rows of a single model

    @staticmethod
    def of(models: Sequence[LinearModel], kinked: bool = False) -> SketchPlan:
        """Return the plan for the rows of all models together.

        Enough rows for an estimate, and so many that their Gram matrix costs about one Hessian
        product. Where only a diagonal is made all rows are taken: it is cheap, and every column needs
        rows. With `kinked`, for functions with rounded kinks: a diagonal says little of these.
        """
        parts, d = [model.features for model in models], models[0].dim
        n = sum(model.n_rows for model in models)
        entries = sum(part.A.nnz if part.is_sparse else math.prod(part.shape) for part in parts)
        few = parts[0].is_sparse and entries < ENTRIES_PER_NUMBER * d * d
        diagonal = d > DIAGONAL_FROM or (d > MATRIX_UP_TO and few)
        if kinked and d <= KINKED_MATRIX_UP_TO:
            diagonal = False
        least = max(10 * entries / d**2, MIN_SKETCH_ROWS, min(16 * d, 2 * MIN_SKETCH_ROWS))
        size = int(min(least, MAX_SKETCH_ROWS))
        if diagonal or n <= 2 * size:
            return SketchPlan(n, diagonal, size)
        seen = None
        if n > 2 * LOOKED_AT:
            within = np.random.default_rng(1).random(LOOKED_AT)  # one row of each of as many parts
            seen = ((np.arange(LOOKED_AT) + within) * (n / LOOKED_AT)).astype(np.int64)
            seen = seen[
                np.diff(seen, prepend=-1) > 0
            ]  # the ends of neighbouring parts may be one row
        starts = np.cumsum([0, *(part.shape[0] for part in parts)])
        own = [_within(seen, start, part.shape[0]) for part, start in zip(parts, starts)]
        number = n if seen is None else seen.size
        squares = sum(
            column_means(part, some) * (part.shape[0] if some is None else some.size)
            for part, some in zip(parts, own)
            if some is None or some.size
        )
        weights = 1.0 / np.maximum(squares, number * 1e-300)
        leverages = [_leverages(part, weights, some, number) for part, some in zip(parts, own)]
        total = sum(float(leverage.sum()) for leverage in leverages)
        kept = leverages if len(parts) == 1 else []
        return SketchPlan(n, diagonal, size, weights, total, seen, kept)

    def drawn(self, model: LinearModel, start: int) -> Sketch:
        """Return the sketch of a model whose rows begin at `start` of all rows."""
        if self.weights is None:
            return Sketch(model, self.diagonal)
        number = self.n_rows if self.seen is None else self.seen.size
        own = _within(self.seen, start, model.n_rows)
        if len(self._leverages) == 1:  # all rows are here, and they are drawn once
            leverage = self._leverages.pop()
        else:
            leverage = _leverages(model.features, self.weights, own, number)
        share = np.minimum(1.0, 0.5 * self.size * (leverage / self.total + 1 / number))
        before = start if self.seen is None else int(np.searchsorted(self.seen, start))
        rng = np.random.default_rng(0)
        rng.bit_generator.advance(before)  # type: ignore[attr-defined]
        drawn = np.flatnonzero(rng.random(share.size) < share)
        mass = self.n_rows / number / share[drawn]
        return Sketch(model, self.diagonal, drawn if own is None else own[drawn], mass)


def _within(seen: np.ndarray | None, start: int, n: int) -> np.ndarray | None:
    """Return which of the rows looked at belong to a part of `n` rows, by their numbers there."""
    if seen is None:
        return None
    first, last = np.searchsorted(seen, [start, start + n])
    return seen[first:last] - start


def _leverages(
    features: Features, weights: np.ndarray, index: np.ndarray | None, number: int
) -> np.ndarray:
    if index is not None and index.size == 0:
        return np.empty(0)
    return to_numpy(row_sums(features, weights, index)) + 1 / number
