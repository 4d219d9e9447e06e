"""The Euclidean ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot, norm
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import Set
from equipoise.sets._stored import recalled, stored
from equipoise.sets._tolerance import reached, rounding


@final
@dataclass(frozen=True, eq=False, repr=False)
class L2Ball(Set):
    r"""The ball :math:`\{x : |x - c|_2 \le r\}`.

    The projection is :math:`c + (x - c) \min(1, r / |x - c|)`. On the boundary, with the
    outward normal :math:`n = (x - c) / |x - c|`, the projection of `v` on the tangent cone
    is :math:`v - [\langle v, n \rangle]_+ n`; inside it is `v`.

    Parameters
    ----------
    radius : float
        The radius ``r > 0``.
    center : array-like of shape (d,), optional
        The centre `c`; the origin (of any dimension) by default.

    Examples
    --------
    >>> import numpy as np
    >>> L2Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    name: ClassVar[str] = "l2_ball"

    radius: float
    center: Array | None = None
    dim: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _check.positive("L2Ball", "radius", self.radius))
        if self.center is not None:
            center = _check.vector("L2Ball", "center", self.center)
            if center.size == 0:
                _check.fail("L2Ball", "center", "must have shape (d,), d >= 1", center.shape)
            object.__setattr__(self, "center", stored(center))
            object.__setattr__(self, "dim", center.size)

    def __repr__(self) -> str:
        if self.center is None:
            return f"L2Ball(radius={self.radius})"
        if self.center.size <= 4:
            return f"L2Ball(radius={self.radius}, center={self.center.tolist()})"
        return f"L2Ball(radius={self.radius}, dim={self.dim})"

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2.0 * self.radius

    def project(self, x: Array) -> Array:
        """Return `x`, or the point of the sphere on the ray from the centre to `x`."""
        x = self._checked(x)
        offset = self._offset(x)
        size = norm(offset)
        if size <= self.radius + rounding(x) * self._scale:
            return x
        nearest = offset / size * self.radius
        return nearest if self.center is None else recalled(self.center, x) + nearest

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the map that removes the normal part, where `v` points out of the ball."""
        x = self._checked(x)
        offset = self._offset(x)
        size = norm(offset)
        if size < self.radius - reached(x, self._scale, self.radius) or dot(v, offset) <= 0.0:
            return lambda w: w
        n = offset / size

        def tangential(w: Array) -> Array:
            outwards = w @ n
            return w - (outwards if w.ndim == 1 else outwards[..., None]) * n

        return tangential

    def bending(self, x: Array, v: Array) -> float:
        """Return ``<v, n> / r`` on the boundary where `v` points out, else 0."""
        offset = self._offset(self._checked(x))
        size = norm(offset)
        if size < self.radius - reached(x, self._scale, self.radius):
            return 0.0
        return max(0.0, dot(v, offset / size)) / size

    def _offset(self, x: Array) -> Array:
        return x if self.center is None else x - recalled(self.center, x)

    @cached_property
    def _scale(self) -> float:
        """The size of the numbers whose rounding moves a point across the boundary."""
        size = 0.0 if self.center is None else float(np.max(np.abs(self.center)))
        return max(self.radius, size)

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the half-space that ``|x + s - c|^2 <= r^2`` is to first order.

        The square is differentiable at the centre too, unlike the norm.
        """
        offset = x if self.center is None else x - self.center
        size = norm(offset)
        room = np.array([(self.radius - size) * (self.radius + size)])  # no square that overflows
        return LinearRows.of(x.size, A=2.0 * offset[None, :], b=room)
