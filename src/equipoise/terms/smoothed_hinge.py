"""The hinge loss with its corner rounded: what continuation methods see of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.scores import Scores


@final
@dataclass(frozen=True)
class SmoothedHinge(Pointwise):
    """The Moreau envelope of the hinge loss: ``(1 - z)^2 / (2 width)`` for ``1 - width <= z <= 1``.

    Convex, nowhere above the hinge, and nowhere more than ``width / 2`` below it.

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
        """0 and ``1 / width``."""
        return 0.0, 1.0 / self.width

    def value(self, z: Scores) -> Array:
        """Return ``over - part + part^2 / (2 width)``, the part of the excess within the width."""
        part = self._part(z)
        over = namespace(z.s).maximum(1.0 - z.s, part)
        return over - part * (1.0 - part / (2.0 * self.width))

    def slope(self, z: Scores) -> Array:
        """Return ``-part / width``, from 0 to -1."""
        return -self._part(z) / self.width

    def curvature(self, z: Scores) -> Array:
        """Return ``1 / width`` where the corner was."""
        inside = (z.s < 1.0) & (z.s > 1.0 - self.width)
        return namespace(z.s).astype(inside, z.s.dtype) / self.width

    def _part(self, z: Scores) -> Array:
        """``1 - z``, but no less than 0 and no more than the width."""
        return namespace(z.s).clip(1.0 - z.s, 0.0, self.width)
