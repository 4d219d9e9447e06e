"""What gradients tell of the curvature of the Lagrangian: BFGS, damped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise._array import all_finite

# Powell's damping: curvature along a step is taken to be at least this share of what the model had.
# His value (Powell 1978).
LEAST_SHARE = 0.2

# Curvature in other directions relative to that along the first step, which goes along the steepest ones.
# Measured with 0.3, 0.5, 0.7 and 1 on COMPAS with gradients alone (`benchmarks.peers`): 0.5 takes 16
# evaluations, 1 takes 22. On the Hock-Schittkowski problems all take about as many.
ELSEWHERE = 0.5

# The least share of its curvature that is left to B in other directions when a step has shown that it falls.
# Measured with 0.2 and 0.5 on the plain problems of `benchmarks.peers` with four constraints each: 0.5 takes
# as much work to a good point, and slightly less to the end. Without it, the end takes a fifth more work.
LEAST_LEFT = 0.5

# Products that the first matrix is made of. Measured with 2, 3 and 5 on the plain problems of
# `benchmarks.peers`: more save nothing. Rows count as at least so long relative to the longest. Chosen.
PROBES, LEAST_LENGTH = 2, 1e-4


def first_matrix(x: np.ndarray, g: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return a diagonal for which a step downhill is no longer than x is, or than 1, in the given units."""
    length = max(1.0, float(np.linalg.norm(x / unit)))
    return np.diag(max(1.0, float(np.linalg.norm(g * unit)) / length) / unit**2)


def probed(product: Callable[[np.ndarray], np.ndarray], unit: np.ndarray) -> np.ndarray:
    """Return a diagonal of the lengths of the Hessian's rows, from its products with vectors of signs.

    An entry of such a product is a sum of a row's entries with signs, whose mean square over all signs is
    the squared length of the row. Unlike a diagonal entry, a length is not negative, and a few products
    tell it up to a small factor (Bekas, Kokiopoulou & Saad 2007).
    """
    count = np.arange(1, unit.size + 1)
    signs = [np.where(np.cos(k * count**2) < 0, -1.0, 1.0) for k in range(1, PROBES + 1)]
    rows = np.array([unit * product(unit * sign) for sign in signs])
    size = np.sqrt(np.square(rows).mean(axis=0))
    largest = float(size.max())
    if not 0 < largest < np.inf:
        return np.diag(1.0 / unit**2)
    return np.diag(np.maximum(size, LEAST_LENGTH * largest) / unit**2)


def updated(B: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the matrix B, positive definite, after the gradient changed by `y` along the step `s`.

    Negative curvature counts by its size, up to that of the model: steps along it stay short.
    """
    Bs = B @ s
    model, seen = float(s @ Bs), float(s @ y)
    if not (0 < model < np.inf and np.isfinite(seen)):
        return B
    goal = max(LEAST_SHARE * model, min(-seen, model))
    if seen < goal:
        share = (model - goal) / (model - seen)
        y = share * y + (1 - share) * Bs
        seen = float(s @ y)
    new = B - (Bs / model)[:, None] * Bs + (y / seen)[:, None] * y
    return new if all_finite(new.ravel()) else B


def shrunk(B: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a first matrix, made without knowledge of the curvature, after the first step has shown some.

    It is made smaller where it is too large: all steps would be too short until BFGS has learnt every
    direction by itself. Where it is too small, the line search shows it, and it is left as it is.
    """
    model, seen = float(s @ B @ s), float(s @ y)
    if not (seen > 0 and 0 < model < np.inf):
        return B
    return min(max(LEAST_SHARE, ELSEWHERE * seen / model), 1.0) * B


def faded(B: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a matrix that was exact along `s` at its beginning, times what was left of that at its end.

    Where curvature falls along a step, it is taken to fall in the other directions too (Al-Baali 1998).
    """
    model, seen = float(s @ B @ s), float(s @ y)
    if not (seen > 0 and 0 < model < np.inf):
        return B
    return min(max(LEAST_LEFT, seen / model), 1.0) * B


def rescaled(B: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a first matrix, a diagonal, times what one step tells of its size (Shanno & Phua 1978)."""
    seen = float(s @ y)
    if seen <= 0:
        return B
    factor = float(y @ (y / B.diagonal())) / seen
    return B * factor if 0 < factor < np.inf else B
