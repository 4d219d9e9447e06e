"""Terms on top of one another."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.terms.kinks import RowKinks
from equipoise.terms.scores import Scores
from equipoise.terms.terms import Terms, TermsBounds, TermsPoint, shift_of


@final
class StackedTerms(Terms):
    """Several terms as one: the objectives add up, the constraints follow one another.

    All parts see the same `Scores`, so they share its exponential.

    Parameters
    ----------
    parts : sequence of Terms
        Over the same rows.
    """

    def __init__(self, parts: Sequence[Terms]) -> None:
        self.parts = tuple(parts)
        if not self.parts:
            _check.fail("StackedTerms", "parts", "must not be empty", parts)
        counts = [part.n_rows for part in self.parts]
        if len(set(counts)) != 1:
            _check.fail("StackedTerms", "parts", "must be over the same rows", counts)
        self.n_rows = counts[0]
        self.n_constraints = sum(part.n_constraints for part in self.parts)
        self.names = tuple(name for part in self.parts for name in part.names)
        self.smooth = all(part.smooth for part in self.parts)
        self._cuts = np.cumsum([part.n_constraints for part in self.parts])[:-1]

    def at(self, scores: Array | Scores) -> TermsPoint:
        """Evaluate every part."""
        s = Scores.of(scores)
        points = [part.at(s) for part in self.parts]

        def slope(weights: np.ndarray) -> Array:
            return sum(p.slope(w) for p, w in zip(points, self._weights(weights)))

        def curve(weights: np.ndarray, d: Array) -> Array:
            return sum(p.curve(w, d) for p, w in zip(points, self._weights(weights)))  # type: ignore[misc]

        def bend(weights: np.ndarray) -> Array:
            parts = zip(points, self._weights(weights))
            return sum(p.bend(w) for p, w in parts if p.bend is not None)

        return TermsPoint(
            _join([p.values for p in points]),
            slope,
            curve if all(point.curve is not None for point in points) else None,
            bend if any(point.bend is not None for point in points) else None,
            separable=all(point.separable for point in points),
        )

    def hard(self, scores: Array | Scores) -> np.ndarray:
        """Return the hard values of every part."""
        s = Scores.of(scores)
        return _join([part.hard(s) for part in self.parts])

    def rows(self, index: np.ndarray, scale: float) -> StackedTerms:
        """Return the mini-batch of every part."""
        return StackedTerms([part.rows(index, scale) for part in self.parts])

    def with_(self, *, sharpness: float | None = None, shift: Any = None) -> StackedTerms:
        """Return a copy with every part changed."""
        changed = copy(self)
        shifts: Sequence[Any] = [None] * len(self.parts)
        if shift is not None:
            shift = shift_of("StackedTerms.with_", shift, self.n_constraints)
            shifts = np.split(shift, self._cuts)
        changed.parts = tuple(
            part.with_(sharpness=sharpness, shift=each) for part, each in zip(self.parts, shifts)
        )
        return changed

    def smoothed(self, width: float) -> StackedTerms:
        """Return every part smoothed."""
        return StackedTerms([part.smoothed(width) for part in self.parts])

    def kinks(self, scores: Array | Scores, width: float) -> RowKinks | None:
        """Return the kinks of all parts, where all know them."""
        s, found, first = Scores.of(scores), [RowKinks.none(self.n_constraints)], 0
        for part in self.parts:
            kinks = part.kinks(s, width)
            if kinks is None:
                return None
            masses = np.zeros((kinks.rows.size, self.n_constraints + 1))
            masses[:, 0] = kinks.masses[:, 0]
            masses[:, 1 + first : 1 + first + part.n_constraints] = kinks.masses[:, 1:]
            found.append(replace(kinks, masses=masses))
            first += part.n_constraints
        return RowKinks.joined(found)

    def bounds(self, norms: np.ndarray) -> TermsBounds:
        """Return the constants of all parts, where all know them."""
        found = [part.bounds(norms) for part in self.parts]

        def joined(name: str) -> np.ndarray | None:
            values = [getattr(bounds, name) for bounds in found]
            return None if any(value is None for value in values) else _join(values)

        lower = [bounds.lower for bounds in found if bounds.lower is not None]
        return TermsBounds(
            joined("lipschitz"),
            joined("smoothness"),
            joined("weak_convexity"),
            lower=sum(lower) if len(lower) == len(found) else None,
        )

    def _weights(self, weights: np.ndarray) -> list[np.ndarray]:
        weights = np.asarray(weights)
        parts = np.split(weights[1:], self._cuts)
        return [np.concatenate((weights[:1], part)) for part in parts]


def _join(values: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(([sum(v[0] for v in values)], *(v[1:] for v in values)))
