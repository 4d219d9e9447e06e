"""The sigmoid, which stands for the prediction "positive", and the pair loss of Ma, Lin & Yang (2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, final

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._scores import Scores

CURVATURE = math.sqrt(3.0) / 18.0
"""The largest second derivative of the sigmoid, 0.0962250."""


@final
@dataclass(frozen=True)
class Sigmoid(Pointwise):
    """``sigmoid(k s)``: a smooth stand-in for ``1[s > 0]``, the closer the larger `k`.

    Parameters
    ----------
    sharpness : float, default 1
        The factor `k`. Slopes grow with `k`, curvatures with ``k^2``.
    """

    name: ClassVar[str] = "sigmoid"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    counts: ClassVar[bool] = True

    sharpness: float = 1.0

    def __post_init__(self) -> None:
        sharpness = _check.positive("Sigmoid", "sharpness", self.sharpness)
        object.__setattr__(self, "sharpness", sharpness)

    @property
    def lipschitz(self) -> float:
        """``k / 4``."""
        return self.sharpness / 4.0

    @property
    def curvatures(self) -> tuple[float, float]:
        """``-+ k^2 sqrt(3) / 18``."""
        largest = CURVATURE * self.sharpness**2
        return -largest, largest

    def value(self, z: Scores) -> Array:
        """Return ``sigmoid(k z)``."""
        return z.sharpened(self.sharpness).sigmoid

    def slope(self, z: Scores) -> Array:
        """Return ``k sigmoid'(k z)``."""
        found = z.sharpened(self.sharpness).variance
        return found if self.sharpness == 1.0 else self.sharpness * found

    def curvature(self, z: Scores) -> Array:
        """Return ``k^2 sigmoid''(k z)``."""
        t = z.sharpened(self.sharpness)
        return self.sharpness**2 * t.variance * (t.complement - t.sigmoid)

    def thresholded(self, z: Scores) -> Array:
        """Return ``1[z > 0]``."""
        return z.positive

    def sharpened(self, k: float) -> Sigmoid:
        """Return the sigmoid of sharpness `k`."""
        return Sigmoid(k)


@final
@dataclass(frozen=True)
class PairLoss(Pointwise):
    """``sigmoid(-k z)``: a smooth stand-in for the error ``1[z <= 0]`` (Ma, Lin & Yang 2020, with ``k = 1``).

    Parameters
    ----------
    sharpness : float, default 1
        The factor `k`.
    """

    name: ClassVar[str] = "pair"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    counts: ClassVar[bool] = True

    sharpness: float = 1.0

    def __post_init__(self) -> None:
        sharpness = _check.positive("PairLoss", "sharpness", self.sharpness)
        object.__setattr__(self, "sharpness", sharpness)

    @property
    def lipschitz(self) -> float:
        """``k / 4``."""
        return Sigmoid(self.sharpness).lipschitz

    @property
    def curvatures(self) -> tuple[float, float]:
        """``-+ k^2 sqrt(3) / 18``."""
        return Sigmoid(self.sharpness).curvatures

    def value(self, z: Scores) -> Array:
        """Return ``sigmoid(-k z)``."""
        return z.sharpened(self.sharpness).complement

    def slope(self, z: Scores) -> Array:
        """Return ``-k sigmoid'(k z)``."""
        return -self.sharpness * z.sharpened(self.sharpness).variance

    def curvature(self, z: Scores) -> Array:
        """Return ``-k^2 sigmoid''(k z)``."""
        t = z.sharpened(self.sharpness)
        return self.sharpness**2 * t.variance * (t.sigmoid - t.complement)

    def thresholded(self, z: Scores) -> Array:
        """Return ``1[z <= 0]``."""
        return namespace(z.s).astype(z.s <= 0, z.s.dtype)

    def sharpened(self, k: float) -> PairLoss:
        """Return the pair loss of sharpness `k`."""
        return PairLoss(k)
