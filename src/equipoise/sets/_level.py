"""The one-dimensional search behind the simplex and the L1 ball."""

from __future__ import annotations

import math

from equipoise._array import Array, namespace

# Steps of `_newton` at the most: two are the rule, as it starts next to the level. Chosen.
MAX_STEPS_TO_LEVEL = 50


def fill_level(heights: Array, total: float, count: int) -> float:
    r"""Return the level `t` with ``sum_i [h_i - t]_+ = count * t - total``.

    Parameters
    ----------
    heights : Array
        The `h_i`, in any order; may be empty when ``count > 0``.
    total, count : float, int
        Sum and number of the entries that always take part. ``(-s, 0)`` gives the
        threshold of the projection on the simplex of sum `s`.
    """
    if heights.shape[0] == 0:
        return total / count
    t = _scan(heights, total, count)
    # A running sum of 10^5 single-precision terms may be wrong in the third digit.
    return t + _newton(heights - t, total - count * t, count)


def project_simplex(x: Array, total: float) -> Array:
    r"""Return the projection of `x` on ``{p >= 0, sum p = total}``.

    The projection does not change when the same number is added to all entries, nor when
    entries more than `total` below the largest are raised to that distance: they end at
    zero either way. So the search handles numbers of the size of `total`, whatever the
    size of `x`, and starts once more where it ended, where the small entries are exact.
    """
    xp = namespace(x)
    top = float(xp.max(x))
    z = x - top
    z = xp.where(z < -total, xp.full_like(z, -total), z)
    z = x - (top + fill_level(z, -total, 0))
    return _positive(z - _newton(z, -total, 0))


def _scan(heights: Array, total: float, count: int) -> float:
    """Search the level by one sort and one cumulative sum.

    Sorted ``h_1 >= h_2 >= ...``, the level after `k` heights is
    ``t_k = (total + h_1 + ... + h_k) / (count + k)``; the next height joins while
    ``h_{k+1} > t_k``. Once one stays out all later ones do, so `k` is a plain count.
    """
    xp = namespace(heights)
    h = xp.flip(xp.sort(heights))
    sizes = xp.arange(1, h.shape[0] + 1, dtype=h.dtype, device=h.device) + count
    levels = (xp.cumsum(h, 0) + total) / sizes
    t = total / count if count else -math.inf
    k = int(h[0] > t) + int(xp.count_nonzero(h[1:] > levels[:-1]))
    return float(levels[k - 1]) if k else t


def _newton(z: Array, total: float, count: int) -> float:
    """Improve a level near 0: exact once the same heights stand above it twice."""
    xp = namespace(z)
    t = 0.0
    above: int | None = None
    for _ in range(MAX_STEPS_TO_LEVEL):
        p = _positive(z - t)
        before, above = above, int(xp.count_nonzero(p))
        t += (total + float(xp.sum(p)) - count * t) / max(count + above, 1)
        if above == before:
            break
    return t


def _positive(z: Array) -> Array:
    xp = namespace(z)
    return xp.where(z < 0, xp.zeros_like(z), z)
