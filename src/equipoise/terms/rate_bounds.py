"""Constants of combinations of rates of a linear model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.terms.channel import Channel
from equipoise.terms.sigmoid import Sigmoid
from equipoise.terms.terms import TermsBounds


def rate_bounds(
    channels: Sequence[Channel],
    coefficients: sparse.csr_array,
    squares: tuple[Any, Any] | None,
    norms: np.ndarray,
) -> TermsBounds:
    r"""Return the constants of ``x -> C r(x) + c`` for scores ``<a_j, x>``, ``|a_j| = norms_j``.

    With :math:`u_r = \sum_j |W_{jr}| |a_j|` and :math:`v_r` the same with squared norms, a rate has
    slopes up to :math:`\mathrm{lip}(\phi) u_r` and curvatures up to :math:`\max|\phi''| v_r`; a
    combination has at most the combination of these. For the lower curvature, signs count:
    minus a convex loss is weakly convex with the loss's largest curvature. The lower bound is that
    of the objective without its offset.
    """
    C = coefficients
    up, down = C.copy(), C.copy()
    np.maximum(C.data, 0.0, out=up.data)
    np.maximum(-C.data, 0.0, out=down.data)
    slopes, low, high = [], [], []
    for channel in channels:
        lipschitz, curvatures = channel.function.lipschitz, channel.function.curvatures
        missing = np.full(channel.weights.shape[1], np.inf)
        total = sum(channel.weights.moments(norms)[1])
        slopes.append(missing if lipschitz is None else lipschitz * total)
        least, largest = max(0.0, -curvatures[0]), max(0.0, curvatures[1])
        plus, minus = channel.weights.moments(norms)[2]
        low.append(_times(least, plus) + _times(largest, minus))  # rate r + low/2 |x|^2 is convex
        high.append(_times(largest, plus) + _times(least, minus))
    slope, below, above = (np.concatenate(parts) for parts in (slopes, low, high))
    lipschitz_ = _product(up + down, slope)
    weak = _product(up, below) + _product(down, above)
    smooth = np.maximum(weak, _product(up, above) + _product(down, below))
    if squares is not None:
        gap = _gap_bound(channels, *squares, norms)
        Q = abs(squares[0])
        lip, curved = _product(Q, slope), _product(Q, np.maximum(below, above))
        lipschitz_[0] += gap @ lip
        weak[0] += gap @ curved
        smooth[0] += gap @ curved + lip @ lip
    return TermsBounds(
        _known(lipschitz_), _known(smooth), _known(weak), lower=_lower(channels, C[[0]], norms)
    )


def _gap_bound(
    channels: Sequence[Channel], Q: sparse.csr_array, q: np.ndarray, norms: np.ndarray
) -> np.ndarray:
    """Return bounds on ``|Q r + q|``: a rate of the sigmoid lies between sums of its weights."""
    least, largest = _range(channels, norms)
    bounded = np.isfinite(least) & np.isfinite(largest)
    centre, radius = np.zeros(least.size), np.full(least.size, np.inf)
    centre[bounded] = (least + largest)[bounded] / 2
    radius[bounded] = (largest - least)[bounded] / 2
    return np.abs(Q @ centre + q) + _product(abs(Q), radius)


def _lower(channels: Sequence[Channel], row: sparse.csr_array, norms: np.ndarray) -> float | None:
    """Return a number not above a combination of rates; None if it has no such bound."""
    least, largest = (ends[row.indices] for ends in _range(channels, norms))
    value = float(np.minimum(row.data * least, row.data * largest)[row.data != 0].sum())
    return value if np.isfinite(value) else None


def _range(channels: Sequence[Channel], norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of every rate: losses are >= 0, sigmoids also <= 1."""
    least, largest = [], []
    for channel in channels:
        positive, negative = channel.weights.moments(norms)[0]
        if not isinstance(channel.function, Sigmoid):
            positive, negative = (np.where(side > 0, np.inf, 0.0) for side in (positive, negative))
        least.append(-negative)
        largest.append(positive)
    return np.concatenate(least), np.concatenate(largest)


def _product(matrix: sparse.csr_array, vector: np.ndarray) -> np.ndarray:
    """Return the product, with ``0 * inf = 0``: a rate that is not used does not count."""
    finite = np.isfinite(vector)
    answer = matrix @ np.where(finite, vector, 0.0)
    if not finite.all():
        answer[(abs(matrix) @ (~finite).astype(float)) > 0] = np.inf
    return answer


def _times(curvature: float, total: np.ndarray) -> np.ndarray:
    """Return the product, with ``inf * 0 = 0``: a kink without weight does not count."""
    return np.where(total > 0.0, curvature * np.where(total > 0.0, total, 1.0), 0.0)


def _known(values: np.ndarray) -> np.ndarray | None:
    return values if np.isfinite(values).all() else None
