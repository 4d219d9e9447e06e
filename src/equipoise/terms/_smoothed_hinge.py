"""The hinge loss with its corner rounded: what continuation methods see of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._scores import Scores


@final
@dataclass(frozen=True)
class SmoothedHinge(Pointwise):
    """The hinge loss ``max(0, u)``, ``u = 1 - z``, as ``(u + sqrt(u^2 + width^2)) / 2``.

    Convex, twice differentiable (which Newton's method likes), nowhere below the hinge, and nowhere
    more than ``width / 2`` above it.

    Parameters
    ----------
    width : float, default 0.1
    """

    name: ClassVar[str] = "smoothed_hinge"
    lipschitz: ClassVar[float] = 1.0

    width: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", _check.positive("SmoothedHinge", "width", self.width))

    @property
    def curvatures(self) -> tuple[float, float]:
        """0 and ``1 / (2 width)``."""
        return 0.0, 0.5 / self.width

    def value(self, z: Scores) -> Array:
        """Return ``(u + sqrt(u^2 + width^2)) / 2``."""
        u, root = self._parts(z)
        return 0.5 * (u + root)

    def slope(self, z: Scores) -> Array:
        """Return ``-(1 + u / sqrt(u^2 + width^2)) / 2``, from 0 to -1."""
        u, root = self._parts(z)
        return -0.5 * (1.0 + u / root)

    def curvature(self, z: Scores) -> Array:
        """Return ``width^2 / (2 sqrt(u^2 + width^2)^3)``."""
        _, root = self._parts(z)
        return 0.5 * (self.width / root) ** 2 / root

    def _parts(self, z: Scores) -> tuple[Array, Array]:
        """``u`` and the square root."""
        u = 1.0 - z.s
        return u, namespace(u).sqrt(u * u + self.width**2)
