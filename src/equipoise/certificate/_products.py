"""Products with the Hessian of a weighted sum of a problem's functions, and how exact they are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise._array import like, norm, to_numpy
from equipoise._problem import NonFiniteError, Point, Problem

# Where differences of gradients disagree with differences of values by more than this share of the
# product, the step is too long for these functions. Chosen.
TOO_LONG = 1e-3

# The steps that are tried, relative to the first. Chosen.
STEPS = (1.0, 1e-2)


@dataclass
class HessianProducts:
    """``v -> (H v, error)`` for ``H = sum_i weights_i hess f_i`` at an evaluated point.

    Where the point has no `hvp`, the product is a central difference of gradients. The values at the
    same two points show its error: to leading order the curvature from gradients is wrong by
    ``h^2/6`` times the fourth derivative, that from values by half of it, so the error is twice what
    they differ by.

    Parameters
    ----------
    problem : Problem
    point : Point
    weights : ndarray of shape (m + 1,)
    """

    problem: Problem
    point: Point
    weights: np.ndarray
    exact: bool = field(init=False)  # whether the problem itself has products

    def __post_init__(self) -> None:
        self.exact = self.point.hvp is not None
        self._x = to_numpy(self.point.x)
        # The fourth root of the rounding error balances it, in second differences of the values, with
        # the change of the curvature along the step.
        self._step = max(self.problem.facts.rounding, 1e-16) ** 0.25 * max(1.0, norm(self._x))

    def __call__(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the product with a unit vector, and the error of ``v'Hv``; NaN where there is none."""
        if self.point.hvp is not None:
            product = to_numpy(self.point.hvp(self.weights, like(v, self.point.x)))
            rounding = 100 * self.problem.facts.rounding  # a product is a sum of many terms
            return product, rounding * norm(product)
        best = np.full(v.size, np.nan), np.inf
        for share in STEPS:
            product, error = self._difference(v, share * self._step)
            if error < best[1]:
                best = product, error
            if error <= TOO_LONG * norm(product):
                break
        return best

    def _difference(self, v: np.ndarray, h: float) -> tuple[np.ndarray, float]:
        nothing = np.full(v.size, np.nan), np.inf
        try:
            (ahead, slope), (behind, other) = (self._at(self._x + s * h * v) for s in (1, -1))
        except NonFiniteError:
            return nothing
        product = (slope - other) / (2 * h)
        here = float(self.weights @ self.point.values)
        by_values = (ahead - 2 * here + behind) / h**2
        rounding = self.problem.facts.rounding * max(norm(slope), norm(other)) / h
        error = 2 * abs(float(v @ product) - by_values) + rounding
        return (product, error) if np.isfinite(error) else nothing

    def _at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        point = self.problem.at(like(x, self.point.x))
        return float(self.weights @ point.values), to_numpy(point.vjp(self.weights))
