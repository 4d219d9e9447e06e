"""The best pair of a point and multipliers that a method has met."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array


@dataclass(frozen=True)
class BestPair:
    """A point, its multipliers and their residual: the largest of the examiner's `Residuals`."""

    x: Array  # (d,)
    lam: np.ndarray  # (m,)
    residual: float = math.inf

    def or_better(self, x: Array, lam: np.ndarray, residual: float) -> BestPair:
        """Return the pair with the smaller residual."""
        return BestPair(x, lam, residual) if residual < self.residual else self
