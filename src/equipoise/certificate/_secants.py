"""Curvature from points that a run has evaluated already: no evaluation is spent on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from equipoise._array import norm, to_numpy
from equipoise._problem import Point
from equipoise.certificate._lanczos import LeastCurvature
from equipoise.certificate._products import OTHER_DIRECTIONS

# The nearest and the farthest points that are used, relative to max(1, |x|). Chosen: nearer, differences of
# gradients are rounding; farther, a step says more about other places.
NEAREST, FARTHEST = 1e-7, 0.1

# A change of the gradient is taken to be wrong by at least this many times its size and the relative
# distance: values show what is wrong along a step, but not across it. Chosen.
LEAST_CHANGE = 1.0

# Steps must make up every direction but for this. Chosen.
MISSED = 1e-8


def secant_curvature(
    point: Point,
    weights: np.ndarray,
    project: Callable[[np.ndarray], np.ndarray],
    bend: np.ndarray,
    earlier: Sequence[Point],
    rounding: float,
) -> LeastCurvature | None:
    r"""Return the least curvature on a subspace, where evaluated points show that it is positive.

    With ``s_k`` the way from `point` to an earlier one, of unit length, the change of the weighted gradient
    is ``z_k = H s_k`` but for an error ``e_k``, which the values at the same points show, as they do for
    differences along a direction of choice (`HessianProducts`). Every direction w of a basis of the subspace
    is made up of them, ``w = sum_k c_k s_k`` with the least ``sum_k (c_k e_k)^2``, so that
    ``H w = sum_k c_k z_k`` but for ``sum_k |c_k| e_k``.

    Parameters
    ----------
    point : Point
    weights : ndarray of shape (m + 1,)
        H is this sum of the functions' Hessians.
    project : callable
        The orthogonal projection on the subspace.
    bend : ndarray of shape (d,)
        What is added to the diagonal of H.
    earlier : sequence of Point
    rounding : float
        The relative error of a gradient.

    Returns
    -------
    LeastCurvature or None
        None where these points do not show that the curvature is positive.
    """
    found = _secants(point, weights, earlier, rounding)
    if not found:
        return None
    steps, changes, errors = map(np.array, zip(*found))
    sizes, vectors = np.linalg.eigh(np.array([project(v) for v in np.eye(len(bend))]))
    W = vectors[:, sizes > 0.5]
    if W.shape[1] == 0:
        return None
    shares = np.linalg.lstsq((steps / errors[:, None]).T, W, rcond=None)[0] / errors[:, None]
    missed = np.linalg.norm(steps.T @ shares - W, axis=0)
    if not (missed <= MISSED).all():
        return None
    M = W.T @ (changes.T @ shares + bend[:, None] * W)
    values, inside = np.linalg.eigh(0.5 * (M + M.T))
    value, largest = float(values[0]), float(np.abs(values).max())
    unseen = float(np.linalg.norm(changes, axis=1).max()) * missed
    error = float((errors @ np.abs(shares) + unseen).sum() + 0.5 * np.linalg.norm(M - M.T))
    if not value > error:
        return None
    return LeastCurvature(value, error, 0.0, largest, W @ inside[:, 0], 0)


def _secants(
    point: Point, weights: np.ndarray, earlier: Sequence[Point], rounding: float
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return steps of length 1, each with the change of the gradient along it and the error of that."""
    x, value = to_numpy(point.x), float(weights @ point.values)
    gradient, scale = to_numpy(point.vjp(weights)), max(1.0, norm(x))
    found = []
    for other in earlier:
        step = to_numpy(other.x) - x
        length = norm(step)
        if not NEAREST * scale <= length <= FARTHEST * scale:
            continue
        slope, step = to_numpy(other.vjp(weights)), step / length
        change = (slope - gradient) / length
        by_values = (
            2 * (float(weights @ other.values) - value - length * (step @ gradient)) / length**2
        )
        error = 3 * OTHER_DIRECTIONS * abs(float(step @ change) - by_values)
        error += rounding * (norm(slope) + norm(gradient)) / length
        error = max(error, LEAST_CHANGE * length / scale * norm(change), 1e-300)
        if np.isfinite(error):
            found.append((step, change, error))
    return found
