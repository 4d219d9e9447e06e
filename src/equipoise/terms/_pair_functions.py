"""Functions of the difference of two scores, which are summed over pairs of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from equipoise import _check
from equipoise.terms._cell_pairs import squared_hinges
from equipoise.terms._lattice import Lattice
from equipoise.terms._pair_point import PairedRows, PairPoint
from equipoise.terms._sigmoid import CURVATURE
from equipoise.terms._sorted_pairs import QuadraticPairs

# In widths of the function: beyond this difference sigmoids are 0 or 1, and softplus is linear, to
# double precision (exp(-40) = 4e-18). Derived.
REACH = 40.0


class PairFunction(ABC):
    """A function `phi` of the difference ``t = s - s'`` of two scores.

    Attributes
    ----------
    name : str
    range : pair of float
        The least and the largest value.
    lipschitz : float
        The largest slope; infinite where there is none.
    curvatures : pair of float
        The least and the largest second derivative.
    counts : bool
        Whether it stands for ``1[t > 0]``: then it is counted by ranks, ties as one half.
    """

    name: ClassVar[str]
    range: tuple[float, float]
    lipschitz: float
    curvatures: tuple[float, float]
    counts: ClassVar[bool] = False

    @abstractmethod
    def value(self, t: np.ndarray) -> np.ndarray:
        """Return ``phi(t)``."""

    @abstractmethod
    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums of ``phi`` over all pairs of rows of every two atoms, and their derivatives."""

    def sharpened(self, k: float) -> PairFunction:
        """Return the function with ``k t`` in the place of ``t``, where it stands for a count."""
        return self


@final
@dataclass(frozen=True)
class SigmoidPair(PairFunction):
    """``sigmoid(k t)``: a smooth stand-in for ``1[t > 0]``, whose mean over pairs is the AUC.

    Parameters
    ----------
    sharpness : float, default 1
        The factor `k`.
    """

    name: ClassVar[str] = "sigmoid"
    counts: ClassVar[bool] = True

    sharpness: float = 1.0

    def __post_init__(self) -> None:
        sharpness = _check.positive("SigmoidPair", "sharpness", self.sharpness)
        object.__setattr__(self, "sharpness", sharpness)

    range = (0.0, 1.0)

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        """``k / 4``."""
        return self.sharpness / 4.0

    @property
    def curvatures(self) -> tuple[float, float]:  # type: ignore[override]
        """``-+ k^2 sqrt(3) / 18``."""
        largest = CURVATURE * self.sharpness**2
        return -largest, largest

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return ``sigmoid(k t)``."""
        return expit(self.sharpness * t)

    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums by a lattice."""
        return Lattice(self.value, 1.0 / self.sharpness, REACH).over(rows)

    def sharpened(self, k: float) -> SigmoidPair:
        """Return the function of sharpness `k`."""
        return SigmoidPair(k)


@final
@dataclass(frozen=True)
class LogisticPair(PairFunction):
    """``log(1 + exp(-t))``: convex, the loss of a pair in the wrong order."""

    name: ClassVar[str] = "logistic"
    range = (0.0, np.inf)
    lipschitz = 1.0
    curvatures = (0.0, 0.25)

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return ``log(1 + exp(-t))``."""
        return np.logaddexp(0.0, -t)

    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums by a lattice; pairs far in the wrong order cost ``-t``."""
        return Lattice(self.value, 1.0, REACH, slope_below=-1.0).over(rows)


@final
@dataclass(frozen=True)
class SquaredHingePair(PairFunction):
    """``max(0, margin - t)^2``: convex, 0 for pairs in the right order by a margin.

    Parameters
    ----------
    margin : float, default 1
    """

    name: ClassVar[str] = "squared_hinge"
    range = (0.0, np.inf)
    lipschitz = np.inf
    curvatures = (0.0, 2.0)

    margin: float = 1.0

    def __post_init__(self) -> None:
        margin = _check.positive("SquaredHingePair", "margin", self.margin)
        object.__setattr__(self, "margin", margin)

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return ``max(0, margin - t)^2``."""
        return np.maximum(0.0, self.margin - t) ** 2

    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums from the moments of the scores in cells, or by sorting the scores."""
        return squared_hinges(rows, self.margin)


@final
@dataclass(frozen=True)
class QuadraticPair(PairFunction):
    """``c1 (t - c2)^2``, the surrogate of Yao, Lin & Yang (2023): sums over pairs are moments of the scores.

    Parameters
    ----------
    c1, c2 : float
    """

    name: ClassVar[str] = "quadratic"
    range = (0.0, np.inf)
    lipschitz = np.inf

    c1: float = 0.5
    c2: float = 1.0

    def __post_init__(self) -> None:
        for parameter in ("c1", "c2"):
            value = _check.positive("QuadraticPair", parameter, getattr(self, parameter))
            object.__setattr__(self, parameter, value)

    @property
    def curvatures(self) -> tuple[float, float]:  # type: ignore[override]
        """``2 c1``, everywhere."""
        return 0.0, 2.0 * self.c1

    def value(self, t: np.ndarray) -> np.ndarray:
        """Return ``c1 (t - c2)^2``."""
        return self.c1 * (t - self.c2) ** 2

    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums from the moments of the scores."""
        return QuadraticPairs(rows, self.c1, self.c2, everywhere=True)


PAIR_LOSSES: dict[str, type[PairFunction]] = {
    f.name: f for f in (LogisticPair, QuadraticPair, SquaredHingePair)
}
"""Every convex loss of a pair in the wrong order, by name."""
