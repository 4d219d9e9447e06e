"""Sums over rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise import _check
from equipoise._array import (
    Array,
    is_tensor,
    placed,
    to_numpy,
)
from equipoise.models import Model, ModelPoint, Sketch
from equipoise.rows._memory_counts import MemoryCounts
from equipoise.rows._row_sums import NearKinks
from equipoise.rows._sums import Sums, sums_at
from equipoise.terms import Scores, ScoreSum, ScoreSumPoint, SumBounds

if TYPE_CHECKING:
    from equipoise.rows._device_table import DeviceTable
    from equipoise.rows._entries import SumSpec
    from equipoise.rows._memory_table import MemoryTable

# Rows on rounded kinks that an estimate of second derivatives takes one by one: twice as many as parameters,
# but not fewer or more than these. Chosen.
MIN_HEAVY_ROWS, MAX_HEAVY_ROWS = 512, 4096


class MemorySums(MemoryCounts):
    """Sums over rows in memory, of the host or of a device: a model of them, and sums of its scores.

    Parameters
    ----------
    model : Model
    sums : ScoreSum
        Over the model's rows.
    table : MemoryTable or DeviceTable, optional
        The labels, weights and groups of the rows, where predictions are to be counted by them.
    """

    def __init__(
        self, model: Model, sums: ScoreSum, table: MemoryTable | DeviceTable | None = None
    ) -> None:
        _check.kind("MemorySums", "model", model, Model)
        _check.kind("MemorySums", "sums", sums, ScoreSum)
        self.model, self.sums, self.table = model, sums, table
        self.dim, self.n_rows, self.n_sums = model.dim, model.n_rows, sums.size
        self.linear, self.penalised, self.start = model.linear, model.penalised, model.start
        self.additive, self.uses_threshold = sums.additive, sums.uses_threshold
        self.smooth, self.rounding = sums.smooth and model.smooth, model.rounding
        self._rounded = False  # whether kinks of the sums were rounded
        self._sketched: ScoreSum | None = None  # the sums of the sketch's rows
        self._counts: dict[str, np.ndarray] = {}  # thresholded sums, at the last few points

    def at(self, x: Array) -> Sums:
        """Evaluate the sums: one product with the data of a linear model, one exponential a row."""
        point = self.model.at(x)
        sums = self.sums.at(Scores(point.scores))
        if not (self.model.sketchable and sums.bend is not None and isinstance(x, np.ndarray)):
            return sums_at(point, sums, self.model.linear)
        curvature = partial(self._curvature, sums, x)
        whole = sums.separable and self.model.linear and not self._rounded
        matrix = partial(self._matrix, sums) if whole and self.model.sketch().is_exact else None
        return sums_at(point, sums, self.model.linear, curvature, matrix)

    def summing(self, specs: Sequence[SumSpec]) -> MemorySums:
        """Return other sums over the same rows, by the same model."""
        return MemorySums(self.model, self._table.score_sums(specs, self.sums), self.table)

    def release(self) -> None:
        """Let go of what the model has computed of the rows."""
        self.model.release()
        self._sketched = None

    def scored(self, x: Array) -> ModelPoint:
        """Evaluate the scores."""
        return self.model.at(x)

    def _curvature(self, sums: ScoreSumPoint, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Estimate the Hessian of ``u . sums`` from the rows of a sketch."""
        assert sums.bend is not None
        sketch = self.model.sketch(self._rounded)
        if len(sketch.index) == self.n_rows or not sums.separable:
            return self.gram(sums.bend(u))
        if self._sketched is None:
            self._sketched = self.sums.rows(np.asarray(sketch.index), 1.0)
        drawn = self._sketched.at(Scores(sketch.scores(x)))
        assert drawn.bend is not None
        return self._gram(sketch, np.maximum(to_numpy(drawn.bend(u)), 0.0), partial(sums.bend, u))

    def gram(self, bends: Array) -> np.ndarray:
        """Return ``J' diag(bends) J`` for second derivatives (n,) by the scores, from a sketch's rows."""
        sketch = self.model.sketch(self._rounded)
        if len(sketch.index) == self.n_rows:
            return sketch.gram(np.maximum(to_numpy(bends), 0.0))
        # how much a row of the sketch bends depends on all scores; either way it limits a step
        some = np.abs(to_numpy(bends[placed(np.asarray(sketch.index), bends)]))
        return self._gram(sketch, some, lambda: bends)

    def _gram(self, sketch: Sketch, some: np.ndarray, every: Callable[[], Array]) -> np.ndarray:
        """Return the matrix for `some` second derivatives, those of the sketch's rows.

        Where kinks are rounded, few rows bend much: those are taken one by one, as a sample would
        miss them.
        """
        if not self._rounded:
            return sketch.gram(some)
        bends = np.maximum(to_numpy(every()), 0.0)
        heavy = _heaviest(bends, self.dim)
        some[np.isin(np.asarray(sketch.index), heavy)] = 0.0
        rows: Any = self.model.rows(heavy)
        return sketch.gram(some) + Sketch(rows, sketch.diagonal).gram(bends[heavy])

    def _matrix(self, sums: ScoreSumPoint, u: np.ndarray) -> np.ndarray:
        """Return the Hessian of ``u . sums``, of all rows."""
        assert sums.bend is not None
        return self.model.sketch().product_of_all(sums.bend(u))

    def bounds(self) -> SumBounds:
        """Return constants of the sums from the lengths of the rows."""
        return self.sums.bounds(self.model.lengths if self.model.linear else None)

    def sharpened(self, k: float) -> MemorySums:
        """Return the sums with sharper sigmoids."""
        return self._with(self.sums.sharpened(k))

    def smoothed(self, width: float) -> MemorySums:
        """Return the sums with kinks rounded."""
        changed = self._with(self.sums.smoothed(width))
        changed._rounded = True
        return changed

    def some(self, index: np.ndarray, scale: float) -> MemorySums:
        """Return the sums over some rows alone, times `scale`."""
        return MemorySums(self.model.rows(index), self.sums.rows(index, scale))

    def near_kinks(self, x: np.ndarray, width: float, most: int) -> NearKinks | None:
        """Return the rows within `width` of a kink, for a linear model."""
        if not self.model.linear:
            return None
        scores = self.model.scores(x)
        if is_tensor(scores):
            return None
        found = self.sums.kinks(Scores(scores), width)
        if found is None or not 0 < found.rows.size <= most:
            return None
        rows = self.model.rows(found.rows).jacobian()
        if rows is None:
            return None
        return NearKinks(found, rows, scores[found.rows], float(np.abs(scores).max()))

    @property
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient."""
        return self.sums.is_smooth

    @property
    def largest(self) -> np.ndarray:
        """The most that one row adds to each thresholded sum."""
        return self.sums.largest

    def gathered(self) -> MemorySums:
        """Return the rows on the host: itself, if they are there."""
        model = self.model.gathered()
        if model is self.model:
            return self
        table = None if self.table is None else self.table.labelled()
        changed = MemorySums(model, self.sums.rows(np.arange(self.n_rows), 1.0), table)
        changed._rounded = self._rounded
        return changed

    def _with(self, sums: ScoreSum) -> MemorySums:
        """Return other sums of the same rows: nothing that was computed of the old ones is kept."""
        changed = copy(self)
        changed.sums, changed._sketched, changed._counts = sums, None, {}
        changed.smooth = sums.smooth and self.model.smooth
        return changed


def _heaviest(bends: np.ndarray, dim: int) -> np.ndarray:
    """Return the rows with the largest second derivatives: those on a rounded kink, or near one.

    A solution lies on at most `dim` kinks. Twice as many rows are taken, because those next to the kinks
    bend the functions in the directions along which all kinks are kept.
    """
    number = min(max(2 * dim, MIN_HEAVY_ROWS), MAX_HEAVY_ROWS, bends.size)
    return np.sort(np.argpartition(-bends, number - 1)[:number])
