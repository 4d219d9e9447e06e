"""The simplex: non-negative entries of a given sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.sets._level import fill_level, project_simplex
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import Set
from equipoise.sets._tolerance import rounding, supported


@final
@dataclass(frozen=True)
class Simplex(Set):
    r"""The simplex :math:`\{x : x \ge 0, \sum_i x_i = s\}`.

    The projection is :math:`[x - \theta]_+` with :math:`\sum_i [x_i - \theta]_+ = s`.
    At `x` with support `S`, the normal cone is :math:`\{c 1 + y : y \le 0, y_S = 0\}`, and
    the distance of `v` from it is

    .. math:: \min_c \sum_{i \in S} (v_i - c)^2 + \sum_{i \notin S} [v_i - c]_+^2 .

    Parameters
    ----------
    total : float
        The sum ``s > 0``.

    Examples
    --------
    >>> import numpy as np
    >>> Simplex().project(np.array([1.0, 0.5, -1.0]))
    array([0.75, 0.25, 0.  ])
    """

    name: ClassVar[str] = "simplex"

    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", _check.positive("Simplex", "total", self.total))

    @property
    def diameter(self) -> float:
        r"""The distance of two vertices, :math:`s \sqrt 2` (a bound in one dimension)."""
        return self.total * math.sqrt(2.0)

    def project(self, x: Array) -> Array:
        """Return `x` lowered by the threshold, and cut at zero."""
        x = self._checked(x)
        xp = namespace(x)
        error = abs(float(xp.sum(x)) - self.total)
        if error <= self.total * rounding(x) and not xp.any(x < 0):
            return x
        return project_simplex(x, self.total)

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the map that removes the mean over a face, and all that is off it."""
        x = self._checked(x)
        xp = namespace(x)
        support = x > supported(self.total)
        c = fill_level(v[~support], float(xp.sum(v[support])), int(xp.count_nonzero(support)))
        kept = support | (v > c)
        n = int(xp.count_nonzero(kept))

        def on_face(w: Array) -> Array:
            w = xp.where(kept, w, xp.zeros_like(w))
            mean = xp.sum(w, axis=-1, keepdims=True) / n
            return xp.where(kept, w - mean, w)

        return on_face

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the steps from `x` that stay in the set."""
        one = np.ones(x.size)  # the sum neither grows nor falls
        opposite = np.stack((one, -one))
        return LinearRows.of(x.size, low=-np.maximum(x, 0.0), A=opposite, b=np.zeros(2))
