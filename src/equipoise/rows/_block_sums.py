"""Sums over rows in several blocks: those of the blocks, added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.models import ModelPoint
from equipoise.rows._cross_table import Confusion
from equipoise.rows._memory_sums import MemorySums
from equipoise.rows._row_sums import NearKinks, RowSums
from equipoise.rows._sums import Sums, added, joined, sums_at
from equipoise.terms import Scores, ScoreSum, ScoreSumPoint, SumBounds

if TYPE_CHECKING:
    from equipoise.rows._blocks import Blocks
    from equipoise.rows._entries import SumSpec


@final
class BlockSums(RowSums):
    """Sums over the rows of several blocks; but for `whole`, only sums and parameters travel.

    Parameters
    ----------
    parts : sequence of MemorySums
        The same sums over the rows of each block.
    whole : ScoreSum, optional
        Functions of all scores, which cannot be added up; they come after the sums, and the scores
        are brought together for them.
    table : Blocks, optional
        The labels, weights and groups of the rows.
    gather : callable, optional
        Returns the sums with all rows in one place.
    """

    def __init__(
        self,
        parts: Sequence[MemorySums],
        whole: ScoreSum | None = None,
        table: Blocks | None = None,
        gather: Callable[[], MemorySums] | None = None,
    ) -> None:
        parts = _check.sequence("BlockSums", "parts", parts, MemorySums)
        if not parts:
            _check.fail("BlockSums", "parts", "must hold at least one part", parts)
        if whole is not None:
            _check.kind("BlockSums", "whole", whole, ScoreSum)
        if gather is not None:
            _check.function("BlockSums", "gather", gather)
        models, ends = [part.model for part in parts], np.cumsum([p.n_rows for p in parts])
        self.parts = [
            MemorySums(part.model.among(models, int(end) - part.n_rows), part.sums, part.table)
            for part, end in zip(parts, ends)
        ]
        self.whole, self.table, self._gather, self._ends = whole, table, gather, ends
        first = self.parts[0]
        self.dim, self.n_rows = first.dim, int(ends[-1])
        self.n_sums = first.n_sums + (0 if whole is None else whole.size)
        self.linear, self.penalised = first.linear, first.penalised
        self.smooth = first.smooth and (whole is None or whole.smooth)
        self.additive = whole is None
        self.uses_threshold = first.uses_threshold or (whole is not None and whole.uses_threshold)
        self.rounding = max(part.rounding for part in self.parts)

    def at(self, x: Array) -> Sums:
        """Evaluate the sums of every block, and add them up."""
        sums = added([part.at(x) for part in self.parts])
        if self.whole is None:
            return sums
        point = self.scored(x)
        whole = self.whole.at(Scores(point.scores))
        found = joined(sums, sums_at(point, whole, self.linear))
        if found.curvature is None:
            return found
        return replace(found, curvature=partial(self._curvature, point.scores, whole))

    def _curvature(self, scores: np.ndarray, whole: ScoreSumPoint, u: np.ndarray) -> np.ndarray:
        """Estimate the Hessian of ``u . sums``: each block from what all its scores bend, pairs too."""
        own, other = np.split(u, [self.parts[0].n_sums])
        bends = np.zeros(self.n_rows) if whole.bend is None else whole.bend(other)
        matrices = []
        for part, score, bend in zip(
            self.parts, np.split(scores, self._ends[:-1]), np.split(bends, self._ends[:-1])
        ):
            sums = part.sums.at(Scores(score))
            matrices.append(part.gram(bend if sums.bend is None else bend + sums.bend(own)))
        return reduce(add, matrices)

    def summing(self, specs: Sequence[SumSpec]) -> BlockSums:
        """Return other sums over the same rows, by the same models."""
        assert self.table is not None
        return self.table.assembled(specs, [part.summing for part in self.parts])

    def scored(self, x: Array) -> ModelPoint:
        """Bring the scores of all blocks together."""
        points: list[Any] = [part.scored(x) for part in self.parts]

        def pull(gradient: Array) -> Array:
            pieces = np.split(gradient, self._ends[:-1])
            return reduce(add, (point.pull(piece) for point, piece in zip(points, pieces)))

        return ModelPoint(
            np.concatenate([point.scores for point in points]),
            pull,
            lambda v: np.concatenate([point.push(v) for point in points]),
        )

    def bounds(self) -> SumBounds:
        """Return constants of the sums."""
        found = reduce(add, (part.bounds() for part in self.parts))
        if self.whole is None:
            return found
        lengths: list[Any] = [part.model.lengths for part in self.parts]
        known = self.linear and all(own is not None for own in lengths)
        of_all = np.concatenate(lengths) if known else None
        return SumBounds.joined([found, self.whole.bounds(of_all)])

    def sharpened(self, k: float) -> BlockSums:
        """Return the sums with sharper sigmoids."""
        return self._with(lambda sums: sums.sharpened(k))

    def smoothed(self, width: float) -> BlockSums:
        """Return the sums with kinks rounded."""
        return self._with(lambda sums: sums.smoothed(width))

    def some(self, index: np.ndarray, scale: float) -> BlockSums:
        """Return the sums over some rows alone, times `scale`."""
        block = np.searchsorted(self._ends, index, side="right")
        drawn = [
            part.some(index[block == i] - (end - part.n_rows), scale)
            for i, (part, end) in enumerate(zip(self.parts, self._ends))
            if (block == i).any()
        ]
        order = np.concatenate([np.flatnonzero(block == i) for i in range(len(self.parts))])
        whole = None if self.whole is None else self.whole.rows(index[order], scale)
        return BlockSums(drawn, whole)

    def near_kinks(self, x: np.ndarray, width: float, most: int) -> NearKinks | None:
        """Return the rows within `width` of a kink, of all blocks."""
        if self.whole is not None and not self.whole.smooth:
            return None
        found = [near for part in self.parts if (near := part.near_kinks(x, width, most))]
        few = 0 < sum(near.scores.size for near in found) <= most
        return NearKinks.joined(found) if few else None

    @property
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient."""
        return self._then(self.parts[0].is_smooth, lambda whole: whole.is_smooth)

    @property
    def largest(self) -> np.ndarray:
        """The most that one row adds to each thresholded sum."""
        own = np.max([part.largest for part in self.parts], axis=0)
        return self._then(own, lambda whole: whole.largest)

    def thresholded(self, x: np.ndarray) -> np.ndarray:
        """Return the sums of predictions."""
        own = reduce(add, (part.thresholded(x) for part in self.parts))
        return self._then(own, lambda whole: whole.thresholded(Scores(self.predicted(x))))

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """Return the scores that predictions are made from, of all blocks."""
        return np.concatenate([part.predicted(x) for part in self.parts])

    def class_scores(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the scores that predictions are made from, the class and the weight of every row."""
        scores, positive, weights = zip(*(part.class_scores(x) for part in self.parts))
        return np.concatenate(scores), np.concatenate(positive), np.concatenate(weights)

    def positives(self, x: np.ndarray) -> tuple[int, int]:
        """Return how many of the rows that count are predicted positive, and how many count."""
        counts = [part.positives(x) for part in self.parts]
        return sum(positive for positive, _ in counts), sum(rows for _, rows in counts)

    def at_thresholds(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the sums with each of the numbers subtracted from all scores."""
        own = reduce(add, (part.at_thresholds(x, edges) for part in self.parts))
        if self.whole is None:
            return own
        scores, whole = self.scored(x).scores, self.whole
        return np.hstack((own, np.array([whole.values(scores - edge) for edge in edges])))

    def above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the thresholded sums at each threshold."""
        own = reduce(add, (part.above(x, edges) for part in self.parts))
        if self.whole is None:
            return own
        return np.hstack((own, np.full((len(edges), self.whole.size), np.nan)))

    def classes_above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the weight of the rows of each class above each threshold."""
        return reduce(add, (part.classes_above(x, edges) for part in self.parts))

    def sorted_scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows that count, ascending."""
        return np.sort(np.concatenate([part.sorted_scores(x) for part in self.parts]))

    def score_moments(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return weighted sums of the scores and their squares."""
        return reduce(add, (part.score_moments(x, center) for part in self.parts))

    def score_products(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return the weighted sum of the scores, each times its slope."""
        return reduce(add, (part.score_products(x, center) for part in self.parts))

    def confusion(self, x: np.ndarray, column: str | tuple[str, ...] | None = None) -> Confusion:
        """Count labels and predictions, groups in the order of all blocks together."""
        found = [part.confusion(x, column) for part in self.parts]
        if column is not None and self.table is not None and self.table.groups is not None:
            merged = self.table.groups.named(column)
            for i, part in enumerate(self.parts):
                values = part.table.groups.named(column).values  # type: ignore[union-attr]
                places = [merged.find(value) for value in values]
                found[i] = found[i].placed(np.array(places), len(merged.values))
        return reduce(add, found)

    def wrong_by_class(self, x: np.ndarray) -> np.ndarray:
        """Return the weight of the rows of each class that are predicted as another."""
        return reduce(add, (part.wrong_by_class(x) for part in self.parts))

    def gathered(self) -> MemorySums:
        """Return the rows in one place."""
        if self._gather is None:
            raise ValueError("BlockSums: the rows cannot be brought together.")
        return self._gather()

    def _then(self, own: np.ndarray, more: Callable[[ScoreSum], np.ndarray]) -> np.ndarray:
        return own if self.whole is None else np.concatenate((own, more(self.whole)))

    def _with(self, change: Callable[[Any], Any]) -> BlockSums:
        """Return the blocks with every sum changed, those of all scores together too."""
        changed, gather = copy(self), self._gather
        changed.parts = [change(part) for part in self.parts]
        changed.whole = None if self.whole is None else change(self.whole)
        changed.smooth = changed.parts[0].smooth and (changed.whole is None or changed.whole.smooth)
        changed._gather = None if gather is None else lambda: change(gather())
        return changed
