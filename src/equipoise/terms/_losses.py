"""Losses of a margin, one small class each, and their registry."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms._pointwise import Kink, Pointwise
from equipoise.terms._scores import Scores
from equipoise.terms._smoothed_hinge import SmoothedHinge


@final
@dataclass(frozen=True)
class Logistic(Pointwise):
    """The logistic loss ``log(1 + exp(-z))``: convex, 1-Lipschitz, 1/4-smooth."""

    name: ClassVar[str] = "logistic"
    lipschitz: ClassVar[float] = 1.0
    curvatures: ClassVar[tuple[float, float]] = (0.0, 0.25)

    def value(self, z: Scores) -> Array:
        """Return ``log(1 + exp(-z))``."""
        return z.softplus_minus

    def slope(self, z: Scores) -> Array:
        """Return ``-sigmoid(-z)``."""
        return -z.complement

    def curvature(self, z: Scores) -> Array:
        """Return ``sigmoid(z) sigmoid(-z)``."""
        return z.variance


@final
@dataclass(frozen=True)
class TruncatedLogistic(Pointwise):
    r"""The logistic loss `l` flattened for outliers (Ma, Lin & Yang 2019): :math:`\alpha \log(1 + l/\alpha)`.

    Parameters
    ----------
    alpha : float, default 2
        The smaller, the flatter; the logistic loss in the limit of large `alpha`.
    """

    name: ClassVar[str] = "truncated_logistic"

    alpha: float = 2.0

    def __post_init__(self) -> None:
        alpha = _check.positive("TruncatedLogistic", "alpha", self.alpha)
        object.__setattr__(self, "alpha", alpha)

    @property
    def lipschitz(self) -> float:
        """The largest slope: 0.443927 for ``alpha = 2``."""
        return _truncated_constants(self.alpha)[0]

    @property
    def curvatures(self) -> tuple[float, float]:
        """The range of the second derivative: -0.0533128 to 0.1464563 for ``alpha = 2``."""
        return _truncated_constants(self.alpha)[1:]

    def value(self, z: Scores) -> Array:
        """Return ``alpha log(1 + l(z) / alpha)``."""
        return self.alpha * namespace(z.s).log1p(z.softplus_minus / self.alpha)

    def slope(self, z: Scores) -> Array:
        """Return ``-sigmoid(-z) / (1 + l(z) / alpha)``."""
        return -z.complement / (1.0 + z.softplus_minus / self.alpha)

    def curvature(self, z: Scores) -> Array:
        """Return ``l'' / (1 + l / alpha) - l'^2 / (alpha (1 + l / alpha)^2)``."""
        damping = 1.0 + z.softplus_minus / self.alpha
        return (z.variance - z.complement * z.complement / (self.alpha * damping)) / damping


@final
@dataclass(frozen=True)
class Hinge(Pointwise):
    """The hinge loss ``max(0, 1 - z)``: convex, 1-Lipschitz, with a kink at 1 (slope 0 there)."""

    name: ClassVar[str] = "hinge"
    lipschitz: ClassVar[float] = 1.0
    curvatures: ClassVar[tuple[float, float]] = (0.0, math.inf)
    kink: ClassVar[Kink] = Kink(1.0, -1.0, 0.0)

    def value(self, z: Scores) -> Array:
        """Return ``max(0, 1 - z)``."""
        xp = namespace(z.s)
        return xp.maximum(1.0 - z.s, xp.zeros_like(z.s))

    def slope(self, z: Scores) -> Array:
        """Return -1 where ``z < 1``, else 0."""
        return -namespace(z.s).astype(z.s < 1, z.s.dtype)

    def curvature(self, z: Scores) -> Array:
        """Return 0."""
        return namespace(z.s).zeros_like(z.s)

    def smoothed(self, width: float) -> SmoothedHinge:
        """Return the hinge with its corner rounded."""
        return SmoothedHinge(width)


@final
@dataclass(frozen=True)
class Squared(Pointwise):
    """The squared loss ``scale (z - target)^2``; the pair loss of Yao, Lin & Yang (2023) with ``c1, c2``.

    Parameters
    ----------
    scale, target : float, default 1
    """

    name: ClassVar[str] = "squared"
    lipschitz: ClassVar[None] = None

    scale: float = 1.0
    target: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.positive("Squared", "scale", self.scale))
        object.__setattr__(self, "target", _check.real("Squared", "target", self.target))

    @property
    def curvatures(self) -> tuple[float, float]:
        """``2 scale``, twice."""
        return 2.0 * self.scale, 2.0 * self.scale

    def value(self, z: Scores) -> Array:
        """Return ``scale (z - target)^2``."""
        return self.scale * (z.s - self.target) ** 2

    def slope(self, z: Scores) -> Array:
        """Return ``2 scale (z - target)``."""
        return 2.0 * self.scale * (z.s - self.target)

    def curvature(self, z: Scores) -> Array:
        """Return ``2 scale``."""
        return namespace(z.s).full_like(z.s, 2.0 * self.scale)


LOSSES: dict[str, type[Pointwise]] = {
    kind.name: kind for kind in (Logistic, TruncatedLogistic, Hinge, Squared)
}
"""Every loss, by name."""


def loss_of(owner: str, loss: Pointwise | str) -> Pointwise:
    """Return a loss given as an object or by its name in `LOSSES`."""
    owner = _check.text("loss_of", "owner", owner)
    if isinstance(loss, str):
        return LOSSES[_check.choice(owner, "loss", loss, LOSSES)]()
    if not isinstance(loss, Pointwise):
        _check.fail(owner, "loss", "must be a loss or the name of one", loss)
    return loss


@lru_cache(maxsize=64)
def _truncated_constants(alpha: float) -> tuple[float, float, float]:
    """The largest slope and the range of the curvature, by a search over ever finer grids."""
    loss = TruncatedLogistic(alpha)
    # Beyond these ends slope and curvature only fade.
    ends = -40.0 - math.log1p(alpha), 40.0 + math.log1p(1.0 / alpha)

    def largest(function: Callable[[Scores], np.ndarray]) -> float:
        low, high = ends
        for _ in range(4):  # narrow the grid around the best point, 1e4 times each
            z = np.linspace(low, high, 20_001)
            values = function(Scores(z))
            best = int(np.argmax(values))
            low, high = z[max(best - 1, 0)], z[min(best + 1, z.size - 1)]
        return float(values[best])

    return (
        largest(lambda z: -loss.slope(z)),
        -largest(lambda z: -loss.curvature(z)),
        largest(loss.curvature),
    )
