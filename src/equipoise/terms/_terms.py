"""Terms: objective and constraints as functions of the scores of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.terms._combination import Combination, FunctionBounds
from equipoise.terms._joined_sums import JoinedSums
from equipoise.terms._kinks import RowKinks
from equipoise.terms._score_sum import ScoreSum
from equipoise.terms._scores import Scores


@dataclass(frozen=True)
class TermsPoint:
    """All functions at one array of scores; in score space what `Point` is for parameters.

    Attributes
    ----------
    values : ndarray of shape (m + 1,)
        The objective first, then the constraints (feasible: ``<= 0``); NumPy float64.
    slope : callable
        Weights ``(m + 1,)`` to the weighted sum of score-gradients, like the scores.
    curve : callable or None
        ``(weights, d)`` to the weighted sum of second derivatives applied to the change `d` of the
        scores; None if a function has a kink or gives no second derivative.
    """

    values: np.ndarray
    slope: Callable[[np.ndarray], Array]
    curve: Callable[[np.ndarray, Array], Array] | None = None


@final
class Terms:
    """Functions ``F(r)`` of sums ``r`` over rows: a `ScoreSum` and the `Combination` made of it.

    Parameters
    ----------
    sums : ScoreSum or sequence of them
    combination : Combination

    Examples
    --------
    Minimise the logistic loss; at most half of all rows predicted positive.

    >>> import numpy as np
    >>> from equipoise.terms import Combination, Logistic, Rates, Sigmoid, Terms
    >>> mean = np.full((4, 1), 0.25)
    >>> terms = Terms(
    ...     [Rates(Logistic(), mean, sign=[1, 1, -1, -1]), Rates(Sigmoid(), mean)],
    ...     Combination([[1, 0], [0, 1]], offsets=[0, -0.5]),
    ... )
    >>> scores = np.array([2.0, 1.0, 1.0, -1.0])
    >>> terms.at(scores).values.round(3), terms.thresholded(scores)[1]
    (array([0.517, 0.153]), np.float64(0.25))
    """

    def __init__(self, sums: ScoreSum | Sequence[ScoreSum], combination: Combination) -> None:
        if not isinstance(sums, ScoreSum):
            parts = _check.sequence("Terms", "sums", sums, ScoreSum)
            if not parts:
                _check.fail("Terms", "sums", "must not be empty", sums)
            sums = parts[0] if len(parts) == 1 else JoinedSums(parts)
        _check.kind("Terms", "combination", combination, Combination)
        if combination.n_sums != sums.size:
            rule = f"must be of {sums.size} sums"
            _check.fail("Terms", "combination", rule, combination.n_sums)
        self.sums, self.combination = sums, combination

    @property
    def n_rows(self) -> int:
        """The rows the sums are over."""
        return self.sums.n_rows

    @property
    def n_constraints(self) -> int:
        """The number of constraints."""
        return self.combination.n_constraints

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the constraints."""
        return self.combination.names

    @property
    def smooth(self) -> bool:
        """Whether every function has a Lipschitz gradient."""
        return self.sums.smooth

    def at(self, scores: Array | Scores) -> TermsPoint:
        """Evaluate every function."""
        sums = self.sums.at(Scores.of(scores))
        point = self.combination.at(sums.values)
        second, bend = sums.curve, point.bend

        def slope(weights: np.ndarray) -> Array:
            return sums.slope(point.pull(weights))

        def curve(weights: np.ndarray, d: Array) -> Array:
            total = second(point.pull(weights), d)  # type: ignore[misc]
            return total if bend is None else total + sums.slope(bend(weights, sums.push(d)))

        return TermsPoint(point.values, slope, curve if second is not None else None)

    def thresholded(self, scores: Array | Scores) -> np.ndarray:
        """Return the values (m + 1,) of predictions: sigmoids as 0-1 functions, and no shift."""
        return self.combination.plain_values(self.sums.thresholded(Scores.of(scores)))

    def rows(self, index: np.ndarray, scale: float) -> Terms:
        """Return the terms of some rows; unbiased for random rows unless a function bends."""
        return Terms(self.sums.rows(index, scale), self.combination)

    def sharpened(self, k: float) -> Terms:
        """Return the terms with every ``sigmoid(s)`` replaced by ``sigmoid(k s)``."""
        k = _check.positive("Terms.sharpened", "k", k)
        return Terms(self.sums.sharpened(k), self.combination)

    def smoothed(self, width: float) -> Terms:
        """Return the terms with every kink rounded."""
        return Terms(self.sums.smoothed(width), self.combination)

    def shifted(self, shift: Any) -> Terms:
        """Return the terms with this added to the constraints; see `Combination.shifted`."""
        return Terms(self.sums, self.combination.shifted(shift))

    def bounds(self, lengths: Array | None) -> FunctionBounds:
        """Return constants for scores linear in the parameters; see `ScoreSum.bounds`."""
        return self.combination.bounds(self.sums.bounds(lengths))

    def kinks(self, scores: Array | Scores, width: float) -> RowKinks | None:
        """Return the rows within `width` of a kink, with masses (K, m + 1) for the functions."""
        return self.combination.kinks(
            self.sums.kinks(Scores.of(scores), width), self.sums.is_smooth
        )

    @staticmethod
    def joined(parts: Sequence[Terms]) -> Terms:
        """Return several terms of the same rows as one: objectives add up, constraints line up."""
        if not parts:
            _check.fail("Terms.joined", "parts", "must not be empty", parts)
        sums = JoinedSums([part.sums for part in parts])
        return Terms(sums, Combination.joined([part.combination for part in parts]))
