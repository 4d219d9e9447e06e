"""When a point counts as inside a set, and when a bound counts as reached."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from equipoise._array import Array, namespace
from equipoise.sets._set import ACTIVE

SUPPORT = 1e-12
"""A coordinate counts as zero within ``SUPPORT * max(1, scale)``; chosen, above rounding errors."""


def rounding(x: Array) -> float:
    """Return the relative error that sums and norms of `x` carry in its own precision."""
    return _rounding(namespace(x), x.dtype)


@cache
def _rounding(xp: Any, dtype: Any) -> float:
    return 8.0 * float(xp.finfo(dtype).eps)


def reached(x: Array, scale: float = 1.0, width: float = math.inf) -> float:
    """Return the distance within which a bound of size `scale` counts as reached at `x`.

    It is ``ACTIVE * max(1, scale)``, but never below what the precision of `x` resolves
    (single precision), and never so large that a set of size `width` loses its interior.
    """
    return min(max(ACTIVE, 8.0 * rounding(x)) * max(1.0, scale), 1e-3 * width)


def supported(radius: float) -> float:
    """Return the size above which a coordinate is in the support, in a set of size `radius`."""
    return min(SUPPORT * max(1.0, radius), 1e-9 * radius)
