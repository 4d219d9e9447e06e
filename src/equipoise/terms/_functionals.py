"""Functions of sums over rows that bend: squared gaps, ratios."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.terms._score_sum import SumBounds

SecondDerivative = Callable[[np.ndarray], np.ndarray]


class Functional(ABC):
    """A smooth function of some of the sums, with first and second derivatives.

    It looks at `n_sums` sums from the place `first` on, and is never below `least`.
    """

    n_sums: int
    first: int = 0
    least: float = -np.inf

    @abstractmethod
    def _at(self, r: np.ndarray) -> tuple[float, np.ndarray, SecondDerivative]:
        """Return value, slope and Hessian product at its own sums."""

    @abstractmethod
    def bounds(self, sums: SumBounds) -> tuple[float, float, float]:
        """Return bounds on the gradient, its Lipschitz constant and the weak convexity; inf: unknown."""

    @property
    @abstractmethod
    def uses(self) -> np.ndarray:
        """The places of the sums that it depends on."""

    @final
    def at(self, r: np.ndarray) -> tuple[float, np.ndarray, SecondDerivative]:
        """Return the value, the slope (R,) and the product of the Hessian with a change of the sums."""
        own = slice(self.first, self.first + self.n_sums)
        value, inner, product = self._at(r[own])
        slope = np.zeros(r.size)
        slope[own] = inner

        def widened(change: np.ndarray) -> np.ndarray:
            answer = np.zeros(r.size)
            answer[own] = product(change[own])
            return answer

        return value, slope, widened

    @final
    def placed(self, first: int) -> Self:
        """Return the same function of sums that begin at `first`."""
        moved = copy(self)
        moved.first = first
        return moved


@final
class SquaredGaps(Functional):
    r"""Half the squared length of gaps between sums, :math:`|Q r + q|^2 / 2`.

    Parameters
    ----------
    Q : array or sparse matrix of shape (k, R)
    q : array of shape (k,)
    """

    least = 0.0

    def __init__(self, Q: Any, q: Any) -> None:
        given = Q if sparse.issparse(Q) else _check.matrix("SquaredGaps", "Q", Q, "k", "R")
        self.Q = sparse.csr_array(given)
        self.q = _check.vector("SquaredGaps", "q", q, self.Q.shape[0])
        self.n_sums = self.Q.shape[1]

    def _at(self, r: np.ndarray) -> tuple[float, np.ndarray, SecondDerivative]:
        Q = self.Q
        gaps = Q @ r + self.q
        return 0.5 * float(gaps @ gaps), Q.T @ gaps, lambda change: Q.T @ (Q @ change)

    def bounds(self, sums: SumBounds) -> tuple[float, float, float]:
        """Return constants from the range of the gaps."""
        least, largest = sums.least, sums.largest
        bounded = np.isfinite(least) & np.isfinite(largest)
        centre, radius = np.zeros(least.size), np.full(least.size, np.inf)
        centre[bounded] = (least + largest)[bounded] / 2
        radius[bounded] = (largest - least)[bounded] / 2
        size = abs(self.Q)
        gap = np.abs(self.Q @ centre + self.q) + product_of(size, radius)
        slope = product_of(size, sums.slope)
        bend = float(gap @ product_of(size, np.maximum(sums.below, sums.above)))
        return float(gap @ slope), bend + float(slope @ slope), bend

    @property
    def uses(self) -> np.ndarray:
        """The sums in some gap."""
        return self.first + np.unique(self.Q.indices)


@final
class Ratio(Functional):
    """The ratio ``(a . r + a_0) / (b . r + b_0)`` of two combinations of sums, such as precision.

    Parameters
    ----------
    numerator, denominator : pair (coefficients of shape (R,), constant)
    otherwise : float
        The value where the denominator is 0.
    """

    def __init__(self, numerator: Any, denominator: Any, otherwise: float = 0.0) -> None:
        self.a, self.a_0 = _affine("numerator", numerator)
        self.b, self.b_0 = _affine("denominator", denominator, self.a.size)
        self.otherwise, self.n_sums = _check.real("Ratio", "otherwise", otherwise), self.a.size

    def _at(self, r: np.ndarray) -> tuple[float, np.ndarray, SecondDerivative]:
        a, b, below = self.a, self.b, float(self.b @ r) + self.b_0
        if below == 0.0:
            return self.otherwise, np.zeros(r.size), np.zeros_like
        value = (float(a @ r) + self.a_0) / below
        slope = (a - value * b) / below

        def product(change: np.ndarray) -> np.ndarray:
            return -((b @ change) * slope + (slope @ change) * b) / below

        return value, slope, product

    def bounds(self, sums: SumBounds) -> tuple[float, float, float]:
        """Return nothing: the denominator may come close to 0."""
        return np.inf, np.inf, np.inf

    @property
    def uses(self) -> np.ndarray:
        """The sums in numerator or denominator."""
        return self.first + np.flatnonzero((self.a != 0) | (self.b != 0))


def _affine(parameter: str, pair: Any, size: int | None = None) -> tuple[np.ndarray, float]:
    """Return coefficients and constant of one combination."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        _check.fail("Ratio", parameter, "must be a pair (coefficients, constant)", pair)
    coefficients = _check.vector("Ratio", parameter, pair[0], size)
    return coefficients, _check.real("Ratio", parameter, pair[1])


def product_of(matrix: Any, vector: np.ndarray) -> np.ndarray:
    """Return the product, with ``0 * inf = 0``: a sum that is not used does not count."""
    finite = np.isfinite(vector)
    answer = matrix @ np.where(finite, vector, 0.0)
    if not finite.all():
        answer[(abs(matrix) @ (~finite).astype(float)) > 0] = np.inf
    return answer
