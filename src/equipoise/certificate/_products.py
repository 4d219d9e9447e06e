"""Products with the Hessian of a weighted sum of a problem's functions, and how exact they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise._array import like, norm, to_numpy
from equipoise._problem import Point, Problem

# Where differences of gradients disagree with differences of values by more than this share of the
# product, the step is too long for these functions. Chosen.
TOO_LONG = 1e-3

# The steps of central differences that are tried, relative to the first. Chosen.
DIFFERENCE_STEPS = (1.0, 1e-2)

# The error of a one-sided difference is seen along its direction only; others are taken to be at most so
# many times as wrong. Chosen.
OTHER_DIRECTIONS = 10.0


@dataclass
class HessianProducts:
    """``v -> (H v, error)`` for ``H = sum_i weights_i hess f_i`` at an evaluated point.

    Where the point has no `hvp`, the product is a difference of gradients. The values at the same points
    show its error, as they give the curvature along `v` too. Central differences: to leading order the
    curvature from gradients is wrong by ``h^2/6`` times the fourth derivative, that from values by half
    of it, so the error is twice what they differ by. One-sided ones: ``h/2`` and ``h/3`` times the third
    derivative, so it is three times that.

    Parameters
    ----------
    problem : Problem
    point : Point
    weights : ndarray of shape (m + 1,)
    central : bool
        Whether differences take two evaluations, or one, with which they are rough.
    """

    problem: Problem
    point: Point
    weights: np.ndarray
    central: bool = True
    exact: bool = field(init=False)  # whether the problem itself has products

    def __post_init__(self) -> None:
        self.exact = self.point.hvp is not None
        self._x = to_numpy(self.point.x)
        self._value = float(self.weights @ self.point.values)
        self._gradient: np.ndarray | None = None
        # The fourth root of the rounding error balances it, in second differences of the values, with
        # the change of the curvature along the step.
        self._step = max(self.problem.facts.rounding, 1e-16) ** 0.25 * max(1.0, norm(self._x))

    def __call__(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the product with a unit vector, and the error of ``v'Hv``; NaN where there is none."""
        if self.point.hvp is not None:
            product = to_numpy(self.point.hvp(self.weights, like(v, self.point.x)))
            rounding = 100 * self.problem.facts.rounding  # a product is a sum of many terms
            return product, rounding * norm(product)
        if not self.central:
            return self._one_sided(v, self._step)
        best = np.full(v.size, np.nan), np.inf
        for share in DIFFERENCE_STEPS:
            product, error = self._difference(v, share * self._step)
            if error < best[1]:
                best = product, error
            if error <= TOO_LONG * norm(product):
                break
        return best

    def _one_sided(self, v: np.ndarray, h: float) -> tuple[np.ndarray, float]:
        if self._gradient is None:
            self._gradient = to_numpy(self.point.vjp(self.weights))
        ahead, slope = self._at(self._x + h * v)
        product = (slope - self._gradient) / h
        by_values = 2 * (ahead - self._value - h * float(v @ self._gradient)) / h**2
        error = 3 * OTHER_DIRECTIONS * abs(float(v @ product) - by_values)
        return self._checked(product, error, slope, h)

    def _difference(self, v: np.ndarray, h: float) -> tuple[np.ndarray, float]:
        (ahead, slope), (behind, other) = (self._at(self._x + s * h * v) for s in (1, -1))
        product = (slope - other) / (2 * h)
        by_values = (ahead - 2 * self._value + behind) / h**2
        return self._checked(product, 2 * abs(float(v @ product) - by_values), slope, h)

    def _checked(
        self, product: np.ndarray, error: float, slope: np.ndarray, h: float
    ) -> tuple[np.ndarray, float]:
        """Add what rounding of the gradients makes of the error; NaN where something is not finite."""
        error += self.problem.facts.rounding * norm(slope) / h
        if np.isfinite(error):
            return product, error
        return np.full(product.size, np.nan), np.inf

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            point = self.problem.at(like(x, self.point.x))
            return float(self.weights @ point.values), to_numpy(point.vjp(self.weights))
        except (ArithmeticError, ValueError):  # a function may refuse points outside the domain
            return np.nan, np.full(x.size, np.nan)
