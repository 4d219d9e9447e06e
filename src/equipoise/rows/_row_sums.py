"""RowSums: everything that a fit asks of the training rows, as sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from equipoise._array import Array
from equipoise.models import ModelPoint
from equipoise.rows._cross_table import Confusion
from equipoise.rows._sums import Sums
from equipoise.terms import RowKinks, SumBounds

if TYPE_CHECKING:
    from equipoise.rows._entries import SumSpec
    from equipoise.rows._memory_sums import MemorySums


@dataclass(frozen=True)
class NearKinks:
    """Rows next to a kink, with their derivatives: what is needed to move onto it."""

    kinks: RowKinks  # `rows` numbers the rows of `jacobian`
    jacobian: np.ndarray  # (K, d) of their scores
    scores: np.ndarray  # (K,)
    largest: float  # the largest |score| of all rows

    @staticmethod
    def joined(parts: list[NearKinks]) -> NearKinks:
        """Return the rows of several blocks, one block after the other."""
        return NearKinks(
            RowKinks.joined([part.kinks for part in parts]),
            np.vstack([part.jacobian for part in parts]),
            np.concatenate([part.scores for part in parts]),
            max(part.largest for part in parts),
        )


class RowSums(ABC):
    """R sums over the training rows as functions of the parameters, wherever the rows are.

    Problems, estimates of curvature, counts, reports and repairs ask it, and touch no row.

    Attributes
    ----------
    dim : int
        The number of parameters.
    n_rows : int
    n_sums : int
        R.
    smooth : bool
        Every sum has a Lipschitz gradient.
    linear : bool
        Whether scores are linear in the parameters.
    additive : bool
        Whether all are sums over rows; False where a function of all scores is among them.
    uses_threshold : bool
        Whether thresholded sums depend on which scores are above 0; False for those of ranks.
    penalised : ndarray of shape (dim,)
        1 for a weight, 0 for an intercept.
    rounding : float
        The relative rounding error of the sums; 1e-7 for single precision.
    start : ndarray of shape (dim,) or None
        Where to start, if not at 0.
    """

    dim: int
    n_rows: int
    n_sums: int
    smooth: bool
    linear: bool
    additive: bool
    uses_threshold: bool
    penalised: np.ndarray
    rounding: float
    start: np.ndarray | None = None

    @abstractmethod
    def at(self, x: Array) -> Sums:
        """Evaluate the sums and what follows from them: one pass over the rows."""

    @abstractmethod
    def summing(self, specs: Sequence[SumSpec]) -> RowSums:
        """Return other sums over the same rows, by the same model."""

    def release(self) -> None:  # noqa: B027 (most have nothing to let go of)
        """Let go of what was computed of the rows; it is computed again where it is asked for."""

    @abstractmethod
    def scored(self, x: Array) -> ModelPoint:
        """Evaluate the scores of all rows, in one place."""

    @abstractmethod
    def bounds(self) -> SumBounds:
        """Return constants of the sums; only their range is known where scores are not linear."""

    @abstractmethod
    def sharpened(self, k: float) -> RowSums:
        """Return the sums with every ``sigmoid(s)`` replaced by ``sigmoid(k s)``."""

    @abstractmethod
    def smoothed(self, width: float) -> RowSums:
        """Return the sums with kinks rounded."""

    @abstractmethod
    def some(self, index: np.ndarray, scale: float) -> RowSums:
        """Return the sums over some rows alone, times `scale`."""

    @abstractmethod
    def near_kinks(self, x: np.ndarray, width: float, most: int) -> NearKinks | None:
        """Return the rows within `width` of a kink.

        None where that is not known, where there are none, or more than `most`.
        """

    @property
    @abstractmethod
    def is_smooth(self) -> np.ndarray:
        """Which of the sums have a Lipschitz gradient, (R,)."""

    @property
    @abstractmethod
    def largest(self) -> np.ndarray:
        """The most that one row's prediction adds to each thresholded sum, (R,); 0 if not known."""

    # What is counted of predictions.

    @abstractmethod
    def thresholded(self, x: np.ndarray) -> np.ndarray:
        """Return the sums (R,) of predictions, scores rounded as predictions will round them."""

    @abstractmethod
    def predicted(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of all rows in one place, rounded as predictions will round them."""

    @abstractmethod
    def class_scores(self, x: np.ndarray) -> tuple[Array, Array, Array]:
        """Return the scores of all rows as predictions round them, their class and their weight.

        A class is True for the positive one. All three are tensors where the rows are.
        """

    @abstractmethod
    def positives(self, x: np.ndarray) -> tuple[int, int]:
        """Return how many of the rows that count are predicted positive, and how many count."""

    @abstractmethod
    def at_thresholds(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the sums (E, R) with each of E numbers subtracted from all scores."""

    @abstractmethod
    def above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the thresholded sums (E, R) at each of E ascending thresholds, all in one pass.

        NaN where a sum does not follow from predictions.
        """

    @abstractmethod
    def classes_above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the weight (E, 2) of the rows of each class above each of E ascending thresholds."""

    @abstractmethod
    def sorted_scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows that count, ascending: quantiles are read off them."""

    @abstractmethod
    def score_moments(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return the sums of ``w``, ``w (s - center)`` and ``w (s - center)^2`` over the rows."""

    @abstractmethod
    def score_products(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return the sum of ``w (s - center)`` times the slope of `s`, over the rows, (dim,)."""

    @abstractmethod
    def confusion(self, x: np.ndarray, column: str | tuple[str, ...] | None = None) -> Confusion:
        """Count labels and predictions: of all rows, or of every group of a column or several."""

    @abstractmethod
    def wrong_by_class(self, x: np.ndarray) -> np.ndarray:
        """Return the weight of the rows of each class that are predicted as another."""

    @abstractmethod
    def gathered(self) -> MemorySums:
        """Return the rows in one place; for few of them."""

    @final
    def is_constant(self, x: np.ndarray) -> bool:
        """Whether the model says the same of all rows that count: one label, or one score for ranks."""
        if not self.uses_threshold:
            return self.spread(x) == 0.0
        positive, all_rows = self.positives(x)
        return positive in (0, all_rows)

    @final
    def spread(self, x: np.ndarray) -> float:
        """Return the standard deviation of the scores, rows counted by weight."""
        total, first, _ = self.score_moments(x, 0.0)
        _, _, second = self.score_moments(x, first / total)
        return float(np.sqrt(second / total))

    @final
    def spread_slope(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient (dim,) of the spread; 0 where all scores are the same."""
        total, first, _ = self.score_moments(x, 0.0)
        return self.score_products(x, first / total) / max(total * self.spread(x), 1e-300)

    @final
    def sample(self, rng: np.random.Generator, batch: int) -> RowSums:
        """Return the sums over random rows, drawn without replacement: unbiased estimates."""
        index = rng.choice(self.n_rows, batch, replace=False, shuffle=False)
        return self.some(index, self.n_rows / batch)
