"""Several row sums as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, is_tensor, namespace, placed
from equipoise.terms._kinks import RowKinks
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores

if TYPE_CHECKING:
    from equipoise.terms._rates import Rates


@final
class JoinedSums(ScoreSum):
    """The sums of several parts, one after the other.

    All parts see the same `Scores`, so they share its exponential.

    Parameters
    ----------
    parts : sequence of ScoreSum
        Over the same rows.
    """

    def __init__(self, parts: Sequence[ScoreSum]) -> None:
        self.parts = _check.sequence("JoinedSums", "parts", parts, ScoreSum)
        counts = [part.n_rows for part in self.parts]
        if len(set(counts)) != 1:
            _check.fail("JoinedSums", "parts", "must be over the same rows", counts)
        self.n_rows = counts[0]
        self.size = sum(part.size for part in self.parts)
        self.smooth = all(part.smooth for part in self.parts)
        self.additive = all(part.additive for part in self.parts)
        ends = np.cumsum([0, *(part.size for part in self.parts)]).tolist()
        self.places = tuple(slice(a, b) for a, b in zip(ends, ends[1:]))

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate every part."""
        points = [part.at(scores) for part in self.parts]

        def total(u: np.ndarray, derivatives: list[Any], *more: Array) -> Array:
            """Sum what the parts that `u` weighs contribute."""
            found = None
            for derivative, place in zip(derivatives, self.places):
                if derivative is not None and (part := u[place]).any():
                    term = derivative(part, *more)
                    found = term if found is None else found + term
            return namespace(scores.s).zeros_like(scores.s) if found is None else found

        def push(d: Array) -> np.ndarray:
            return np.concatenate([point.push(d) for point in points])

        def columns(index: np.ndarray) -> Any:
            index = np.asarray(index)
            inside = [(index >= p.start) & (index < p.stop) for p in self.places]
            found = [
                point.columns(index[mask] - place.start)
                for point, place, mask in zip(points, self.places, inside)
            ]
            order = np.concatenate([np.flatnonzero(mask) for mask in inside])
            return _side_by_side(found)[:, np.argsort(order)]

        slopes, curves = [p.slope for p in points], [p.curve for p in points]
        bends = [p.bend for p in points]
        return ScoreSumPoint(
            np.concatenate([point.values for point in points]),
            lambda u: total(u, slopes),
            push,
            columns if all(p.columns is not None for p in points) else None,
            _latest(lambda u: total(u, bends)) if any(bends) else None,
            (lambda u, d: total(u, curves, d)) if all(curves) else None,
            separable=all(point.separable for point in points),
        )

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the thresholded sums of every part."""
        return np.concatenate([part.thresholded(scores) for part in self.parts])

    def above(self, places: Array, count: int) -> np.ndarray:
        """Return the thresholded sums of every part, for each threshold."""
        return np.hstack([part.above(places, count) for part in self.parts])

    def rows(self, index: np.ndarray, scale: float) -> JoinedSums:
        """Return the sums over some rows, of every part."""
        return self._with(part.rows(index, scale) for part in self.parts)

    def bounds(self, lengths: Array | None) -> SumBounds:
        """Return the constants of every part."""
        return SumBounds.joined([part.bounds(lengths) for part in self.parts])

    @property
    def used(self) -> Array:
        """Which rows some part depends on."""
        found = [part.used for part in self.parts]
        beside = next(filter(is_tensor, found), None)
        return reduce(or_, found if beside is None else [placed(part, beside) for part in found])

    @property
    def uses_threshold(self) -> bool:
        """Whether those of some part depend on which scores are above 0."""
        return any(part.uses_threshold for part in self.parts)

    @property
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient."""
        return np.concatenate([part.is_smooth for part in self.parts])

    @property
    def largest(self) -> np.ndarray:
        """The most that one row adds to each thresholded sum."""
        return np.concatenate([part.largest for part in self.parts])

    @property
    def rates(self) -> tuple[Rates, ...]:
        """The rates of all parts."""
        return tuple(rates for part in self.parts for rates in part.rates)

    def sharpened(self, k: float) -> JoinedSums:
        """Return every part with sharper sigmoids."""
        return self._with(part.sharpened(k) for part in self.parts)

    def smoothed(self, width: float) -> JoinedSums:
        """Return every part smoothed."""
        return self._with(part.smoothed(width) for part in self.parts)

    def kinks(self, scores: Scores, width: float) -> RowKinks | None:
        """Return the kinks of all parts, where all know them."""
        found = [RowKinks.none(self.size)]
        for part, place in zip(self.parts, self.places):
            kinks = part.kinks(scores, width)
            if kinks is None:
                return None
            masses = np.zeros((kinks.rows.size, self.size))
            masses[:, place] = kinks.masses
            found.append(replace(kinks, masses=masses))
        return RowKinks.joined(found)

    def turned(self, positive: np.ndarray) -> Any:
        """Return what turning predictions over adds to the thresholded sums of all parts."""
        return sparse.vstack([part.turned(positive) for part in self.parts], format="csr")

    def _with(self, parts: Any) -> JoinedSums:
        return JoinedSums(tuple(parts))


def _latest(function: Callable[[np.ndarray], Array]) -> Callable[[np.ndarray], Array]:
    """Remember the answer for the latest weights: conjugate gradients ask for them many times."""
    kept: list[Any] = [None, None]

    def remembered(u: np.ndarray) -> Array:
        if kept[0] is None or not np.array_equal(kept[0], u):
            kept[:] = np.array(u), function(u)
        return kept[1]

    return remembered


def _side_by_side(blocks: list[Any]) -> Any:
    """Return matrices beside one another; sparse where one of them is."""
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack(blocks, format="csc")
    return namespace(blocks[0]).concat(blocks, axis=1)
