"""The dual side of stochastic mirror descent: the special Bregman divergence and its closed forms.

A dual point is ``y`` on the simplex, one weight for each function, and ``alpha``, one slope for each pair,
within ``[-I, I]``. What the theory calls ``alpha~_j`` is ``y_i alpha_j``, with i the block of j: in y and it,
the min-max problem is concave.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise._problem import Saddle

# The least weight of a function, so that it has a logarithm. Chosen, next to the least float.
LEAST_WEIGHT = 1e-300


def block_sums(saddle: Saddle, of_pairs: np.ndarray) -> np.ndarray:
    """Return the sums over the pairs of every function, (m + 1,)."""
    return np.bincount(saddle.blocks, of_pairs, minlength=saddle.offsets.size)


def entropy_weight(saddle: Saddle) -> float:
    r"""Return ``W = 2 (1 + sqrt(k) I)^2``, with at most k pairs in a function.

    Then ``omega = W (sum y ln y + ln(m + 1)) + sum_j alpha~_j^2 / y_i`` is 1-strongly convex in the norm
    ``sqrt(|y|_1^2 + |alpha~|_2^2)``, for which ``W >= 1 + 2 k I^2`` is enough.
    """
    k = int(np.bincount(saddle.blocks).max())
    return 2.0 * (1.0 + math.sqrt(k) * saddle.interval) ** 2


def dual_step(
    saddle: Saddle, y: np.ndarray, alpha: np.ndarray, u: np.ndarray, v: np.ndarray, tau: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimiser of ``-<u, y> - <v, alpha~> + c sum_j alpha~_j^2 / y_i + V / tau``.

    V is the Bregman divergence of omega, ``W sum y ln(y / y0) + sum_j y_i (alpha_j - alpha0_j)^2``.
    For fixed y it separates into one parabola for each alpha_j; what is left is entropic in y (Lemma 3).
    """
    c, I = saddle.bowl, saddle.interval  # noqa: E741
    new = np.clip((v + 2 * alpha / tau) / (2 * (c + 1 / tau)), -I, I)
    cost = -new * v + c * new**2 + (new - alpha) ** 2 / tau
    logs = np.log(np.maximum(y, LEAST_WEIGHT)) - tau / entropy_weight(saddle) * (
        block_sums(saddle, cost) - u
    )
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), new


def largest_value(saddle: Saddle, u: np.ndarray, v: np.ndarray) -> float:
    """Return the maximum of ``<u, y> + <v, alpha~> - c sum_j alpha~_j^2 / y_i`` (Lemma 4)."""
    a = np.clip(v / (2 * saddle.bowl), -saddle.interval, saddle.interval)
    return float((u + block_sums(saddle, a * v - saddle.bowl * a**2)).max())
