"""Sums over rows of functions of the scores: what every function of a learning problem is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np
from scipy import sparse

from equipoise._array import Array
from equipoise.terms._kinks import RowKinks
from equipoise.terms._scores import Scores

if TYPE_CHECKING:
    from equipoise.terms._rates import Rates


@dataclass(frozen=True)
class ScoreSumPoint:
    """Sums over rows at one array of scores, with their derivatives.

    Attributes
    ----------
    values : ndarray of shape (R,)
        The sums; NumPy float64.
    slope : callable
        Weights `u` of shape (R,) to the derivative of ``u . values`` with respect to the scores.
    push : callable
        A change of the scores to the change of the sums, to first order, shape (R,).
    columns : callable or None
        An index array of k sums to their derivatives with respect to the scores, (n, k): a sparse
        matrix where most entries are 0. None for scores of several classes.
    bend : callable or None
        Weights `u` to the second derivative of ``u . values`` with respect to each score, as far as
        it is known and does not couple the scores.
    curve : callable or None
        ``(u, d)`` to the second derivative of ``u . values`` applied to the change `d` of the scores;
        None where a sum has a kink or gives no second derivative.
    separable : bool
        Whether `curve` is a multiplication by `bend`.
    alone : callable or None
        The number of a sum to the rows that it depends on, and its derivative with respect to their scores,
        where every row counts in one sum alone.
    """

    values: np.ndarray
    slope: Callable[[np.ndarray], Array]
    push: Callable[[Array], np.ndarray]
    columns: Callable[[np.ndarray], Any] | None = None
    bend: Callable[[np.ndarray], Array] | None = None
    curve: Callable[[np.ndarray, Array], Array] | None = None
    separable: bool = False
    alone: Callable[[int], tuple[np.ndarray, Array]] | None = None


@dataclass(frozen=True)
class SumBounds:
    """Constants of every sum as a function of the parameters; infinite where none is known.

    Attributes
    ----------
    slope : a bound on the gradient.
    below : ``sum + below/2 |x|^2`` is convex.
    above : ``-sum + above/2 |x|^2`` is convex.
    least, largest : the range of the values.
    """

    slope: np.ndarray
    below: np.ndarray
    above: np.ndarray
    least: np.ndarray
    largest: np.ndarray

    @staticmethod
    def unknown(size: int) -> SumBounds:
        """Return bounds that say nothing."""
        inf = np.full(size, np.inf)
        return SumBounds.between(-inf, inf)

    @staticmethod
    def between(least: np.ndarray, largest: np.ndarray) -> SumBounds:
        """Return bounds that tell the range of the values alone."""
        unknown = np.full(least.size, np.inf)
        return SumBounds(unknown, unknown, unknown, least, largest)

    @staticmethod
    def joined(parts: list[SumBounds]) -> SumBounds:
        """Return the bounds of sums one after the other."""
        return SumBounds(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in _FIELDS))

    def __add__(self, other: SumBounds) -> SumBounds:
        """Return the bounds of the same sums over the rows of both."""
        return SumBounds(*(getattr(self, f.name) + getattr(other, f.name) for f in _FIELDS))


_FIELDS = fields(SumBounds)


class ScoreSum(ABC):
    """R numbers, each a sum over the rows of a function of the row's own score.

    Where the rows lie in several blocks or on several machines, each has a `ScoreSum` of its own rows, and
    their numbers are added up.

    Attributes
    ----------
    n_rows : int
    size : int
        The number R of sums.
    smooth : bool
        Every sum has a Lipschitz gradient.
    additive : bool
        Whether it is a sum over rows. False for a function of all scores together, which needs
        them in one place.
    """

    n_rows: int
    size: int
    smooth: bool
    additive: bool = True

    @abstractmethod
    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate the sums."""

    @abstractmethod
    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the sums (R,) with every sigmoid replaced by the 0-1 function it stands for."""

    @abstractmethod
    def rows(self, index: np.ndarray, scale: float) -> ScoreSum:
        """Return the sums over the rows `index` alone, times `scale`."""

    @abstractmethod
    def bounds(self, lengths: Array | None) -> SumBounds:
        """Return constants for scores that are linear in the parameters.

        `lengths` holds the norm of each score's gradient; None where scores are not linear: then
        only the range of the sums is known.
        """

    @property
    @abstractmethod
    def used(self) -> Array:
        """Which rows the sums depend on, a boolean array (n,)."""

    @property
    def uses_threshold(self) -> bool:
        """Whether thresholded sums depend on which scores are above 0; False for those of ranks."""
        return self.size > 0

    @property
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient, a boolean array (R,)."""
        return np.full(self.size, self.smooth)

    @property
    def largest(self) -> np.ndarray:
        """The most that one row's prediction adds to each thresholded sum, (R,); 0 if not known."""
        return np.zeros(self.size)

    @property
    def rates(self) -> tuple[Rates, ...]:
        """Those of the sums that are rates, in their order."""
        return ()

    def sharpened(self, k: float) -> ScoreSum:
        """Return the sums with every ``sigmoid(s)`` replaced by ``sigmoid(k s)``."""
        return self

    def smoothed(self, width: float) -> ScoreSum:
        """Return smooth sums within `width` of these, where they are known; else these."""
        return self

    def kinks(self, scores: Scores, width: float) -> RowKinks | None:
        """Return the rows whose scores are within `width` of a kink; None if that is not known."""
        return RowKinks.none(self.size) if self.smooth else None

    def turned(self, positive: np.ndarray) -> Any:
        """Return what every row's prediction, turned over, adds to the thresholded sums: (R, n)."""
        return sparse.csr_array((self.size, self.n_rows))

    def above(self, places: Array, count: int) -> np.ndarray:
        """Return the thresholded sums (count, R) for each of `count` ascending thresholds.

        `places` holds the number of thresholds below each row's score. NaN where a sum does not follow
        from predictions.
        """
        return np.full((count, self.size), np.nan)

    @final
    def values(self, scores: Array | Scores) -> np.ndarray:
        """Return the sums alone."""
        return self.at(Scores.of(scores)).values
