"""Least squares with bounds, for multipliers whose gradients may depend on each other.

A quadratic program with a ridge finds about which of them are at a bound, but its normal equations have lost
half the digits, and where columns depend on each other it spreads the weight over all of them. From there on,
least squares on the columns between their bounds, one face of the box after another, go on until the gradient
is nothing but rounding errors (Stark & Parker 1995). Residuals are never compared: where the least one is
large, what is won is below its rounding error.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq

# Added to the diagonal of the normal equations, whose columns have length 1 and may depend on
# each other; the second is tried where the first does not do. Chosen.
RIDGES = 1e-8, 1e-6

# Proximal-point steps: each divides the error that the ridge makes by about the ridge. Chosen.
PROXIMAL_STEPS = 3

# Numbers that stand for 0 where they are divided by, and for infinity in a quadratic program.
NOTHING, ENDLESS = 1e-300, 1e29

# Singular values below this share of the largest count as 0: columns depend on each other. Chosen, above the
# rounding error.
RANK = 1e-12

# Least-squares fits on one face after another, at the most, and the rounding errors of the gradient, in units
# of those of the numbers it is computed from. Chosen.
FACES, UNITS = 200, 8.0


def bounded_least_squares(matrix: np.ndarray, target: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Minimise ``|matrix w - target|^2`` over ``0 <= w <= high``; columns may depend on each other."""
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), NOTHING)
    A, top = matrix / lengths, np.minimum(high * lengths, ENDLESS)
    w = _with_ridge(A, target, top)
    polished = _by_faces(A, target, top, w)
    if _slope(A, target, top, polished) <= _slope(A, target, top, w):
        w = polished
    return np.minimum(w / lengths, high)


def _with_ridge(A: np.ndarray, target: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Return about the minimiser, by quadratic programs."""
    from daqp import solve

    k = top.size
    low, no_rows, sense = np.zeros(k), np.zeros((0, k)), np.zeros(k, dtype=np.int32)
    for ridge in RIDGES:
        w, H = low, A.T @ A + ridge * np.eye(k)
        for _ in range(PROXIMAL_STEPS):
            f = -(A.T @ target + ridge * w)
            w, _, flag, _ = solve(H, f, no_rows, top, low, sense, primal_tol=1e-12)
            w = np.clip(w, 0.0, top)
        if flag == 1:
            break
    return w


def _slope(A: np.ndarray, target: np.ndarray, top: np.ndarray, w: np.ndarray) -> float:
    """Return the largest entry of a gradient step that stays within the bounds: 0 at a minimiser."""
    ahead = np.clip(w + A.T @ (target - A @ w), 0.0, top)
    return float(np.abs(ahead - w).max(initial=0.0))


def _by_faces(A: np.ndarray, target: np.ndarray, top: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the minimiser, by least squares on the faces of the box from that of `w` on.

    A fit that leaves the box stops at its edge and goes on from there on the smaller face. At the minimiser
    of a face, the variable whose bound holds it back most is freed. One that its bound stops at once was
    freed by a rounding error, and is not freed again.
    """
    free, barred = (w > 0.0) & (w < top), np.zeros(w.size, dtype=bool)
    for _ in range(FACES):
        step = np.zeros(w.size)
        if free.any():
            step[free] = lstsq(A[:, free], target - A @ w, RANK, lapack_driver="gelsy")[0]
        room = np.where(step < 0.0, w, top - w)
        reach = np.full(w.size, np.inf)
        np.divide(room, np.abs(step), out=reach, where=step != 0.0)
        share = float(reach.min(initial=1.0))
        at_edge = reach <= share
        w = np.clip(w + share * step, 0.0, top)
        w[at_edge] = np.where(step < 0.0, 0.0, top)[at_edge]
        free &= ~at_edge
        if share < 1.0:
            barred |= at_edge & (share == 0.0)
            continue
        downhill = A.T @ (target - A @ w)
        held_back = np.where(w > 0.0, -downhill, downhill)
        held_back[free | barred] = 0.0
        error = UNITS * np.finfo(float).eps * (float(w.sum()) + float(np.linalg.norm(target)))
        if held_back.max(initial=0.0) <= error:
            break
        free[held_back.argmax()] = True
    return w
