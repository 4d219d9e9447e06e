"""The L1 ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.sets._level import fill_level, project_simplex
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import Set
from equipoise.sets._tolerance import reached, rounding, supported


@final
@dataclass(frozen=True)
class L1Ball(Set):
    r"""The ball :math:`\{x : \sum_i |x_i| \le r\}`.

    Outside the ball the projection is the soft threshold
    :math:`\mathrm{sign}(x) [|x| - \theta]_+` with
    :math:`\sum_i [|x_i| - \theta]_+ = r`. On the boundary, with support `S` of `x`, the
    normal cone is :math:`\{t s : t \ge 0, s_S = \mathrm{sign}(x_S), |s_i| \le 1\}`, so
    the distance of `v` from it is one-dimensional,

    .. math:: \min_{t \ge 0} \sum_{i \in S} (v_i - t\,\mathrm{sign}\,x_i)^2
        + \sum_{i \notin S} [|v_i| - t]_+^2,

    and no face is enumerated. Both searches cost one sort, `O(d log d)`.

    Parameters
    ----------
    radius : float
        The radius ``r > 0``.

    Examples
    --------
    >>> import numpy as np
    >>> L1Ball(1.0).project(np.array([2.0, -1.5, 0.1]))
    array([ 0.75, -0.25,  0.  ])
    """

    name: ClassVar[str] = "l1_ball"

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _check.positive("L1Ball", "radius", self.radius))

    @property
    def diameter(self) -> float:
        """Twice the radius, between opposite vertices."""
        return 2.0 * self.radius

    def project(self, x: Array) -> Array:
        """Return `x`, or its soft threshold with L1 norm `radius`."""
        x = self._checked(x)
        xp = namespace(x)
        size = xp.abs(x)
        if float(xp.sum(size)) <= self.radius * (1.0 + rounding(x)):
            return x
        return xp.sign(x) * project_simplex(size, self.radius)

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the identity, or the projection on a face of the tangent cone."""
        x = self._checked(x)
        xp = namespace(x)
        size, height = xp.abs(x), xp.abs(v)
        if float(xp.sum(size)) < self.radius - reached(x, self.radius, self.radius):
            return lambda w: w
        support = size > supported(self.radius)
        sign = xp.where(support, xp.sign(x), xp.sign(v))
        total = float(xp.sum((sign * v)[support]))
        t = fill_level(height[~support], total, int(xp.count_nonzero(support)))
        if not t > 0.0:  # v lies in the tangent cone
            return lambda w: w
        kept = support | (height > t)
        sign = xp.where(kept, sign, xp.zeros_like(sign))
        n = int(xp.count_nonzero(kept))

        def on_face(w: Array) -> Array:
            mean = xp.sum(sign * w, axis=-1, keepdims=True) / n
            return xp.where(kept, w - sign * mean, xp.zeros_like(w))

        return on_face

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the rows of ``|x_j + s_j| <= |x_j| + v_j`` and ``sum_j v_j <= r - |x|_1``."""
        one, size = eye_array(x.size, format="csr"), np.abs(x)
        A = block_array([[one], [-one], [csr_array((1, x.size))]], format="csr")
        B = block_array([[-one], [-one], [csr_array(np.ones((1, x.size)))]], format="csr")
        b = np.concatenate((size - x, size + x, [self.radius - size.sum()]))
        return LinearRows.of(x.size, A=A, B=B, b=b)
