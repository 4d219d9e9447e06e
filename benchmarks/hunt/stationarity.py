"""Stationarity by the judge's own means: whether any multipliers make a point stationary."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import EXTENDED, UNIT, UNITS

# Rounding errors of a least-squares fit, relative to its largest column.
FIT = 1e-12
# Weight of the equation "shares add up to the multiplier" in the fit at kinks.
HEAVY = 1e3


def not_stationary(case: Case, x: np.ndarray, multipliers: np.ndarray, tol: float) -> float | None:
    """The least stationarity there is at `x`, where that is above `tol` for certain; else None."""
    with np.errstate(all="ignore"):
        values = np.array([float(f.value(x.astype(EXTENDED))) for f in case.functions])
        gradients = np.array([f.gradient(x.astype(EXTENDED)) for f in case.functions])
        sizes = UNITS * UNIT * np.array([f.size(x) for f in case.functions[1:]])
    # the gradient that the library was given is that of the objective up to its own rounding error
    allowed = tol * (1 + 1e-9) + UNITS * UNIT * case.functions[0].steepness(x)
    claimed = (gradients[0] + multipliers.astype(EXTENDED) @ gradients[1:]).astype(float)
    slack = float(np.abs(multipliers * values[1:]).sum())
    if slack <= 2 * tol and _cone_distance(case, x, claimed) <= allowed:
        return None
    if case.smooth:
        with np.errstate(over="ignore"):
            most = 2 * tol / np.maximum(np.abs(values[1:]), sizes + 1e-300)
        best = _fit(gradients.astype(float), most, case.region.normals(x))
    else:
        allowed, best = _near_kinks(case, x, values, tol)
    return best if best > allowed else None


def _cone_distance(case: Case, x: np.ndarray, gradient: np.ndarray) -> float:
    """The distance of minus the gradient from the normal cone."""
    size = np.abs(gradient).max()
    if size == 0.0 or not np.isfinite(size):
        return float(size)
    normals = case.region.normals(x)
    if not len(normals):
        return size * float(np.linalg.norm(gradient / size))
    return size * float(nnls(normals.T, -gradient / size, maxiter=50 * len(normals) + 300)[1])


def _fit(gradients: np.ndarray, most: np.ndarray, normals: np.ndarray) -> float:
    """The least stationarity over multipliers up to `most`, less the rounding error of the fit."""
    size = max(float(np.abs(gradients[0]).max()), 1e-300)
    lengths = np.maximum(np.abs(gradients[1:]).max(axis=1, initial=0.0), 1e-300)
    columns = np.vstack((gradients[1:] / lengths[:, None], normals)).T
    with np.errstate(over="ignore"):
        tops = np.concatenate(
            (np.maximum(most * (lengths / size), 1e-300), np.full(len(normals), np.inf))
        )
    target = -gradients[0] / size
    if not columns.shape[1]:
        return size * float(np.linalg.norm(target))
    answer = lsq_linear(columns, target, (0.0, tops), method="bvls", tol=1e-15)
    return size * (float(np.linalg.norm(columns @ answer.x - target)) - FIT)


def _near_kinks(case: Case, x: np.ndarray, values: np.ndarray, tol: float) -> tuple[float, float]:
    """What stationarity may be, and the least one with what is within 2 `tol`: subgradients and normals."""
    d, radius = x.size, 2 * tol
    bend = max(max(abs(v) for v in f.bends()) for f in case.functions)
    steep = [
        np.linalg.norm(f.gradient(x)) + sum(np.abs(rows).max() for rows in f.jumps(x, radius))
        for f in case.functions
    ]
    active = [v >= -tol - 2 * radius * slope for v, slope in zip(values, steep)]
    usable = [i for i in range(len(values)) if i == 0 or active[i]]
    # constraints with room may have small multipliers
    carried = sum(2 * tol / -values[i] * steep[i] for i in range(1, len(values)) if not active[i])
    columns, target, sums = [], np.zeros(d), []
    for i in usable:
        f = case.functions[i]
        g, owner = f.smooth_gradient(x), len(columns)
        if i == 0:
            target = -g
        else:
            columns.append(g)
        for rows in f.jumps(x, radius):
            first = len(columns)
            columns += list(rows)
            sums.append((owner if i else None, first, len(columns)))
    first_normal = len(columns)
    columns += list(case.region.normals(x, radius))
    matrix = np.zeros((d + len(sums), len(columns)))
    matrix[:d] = np.array(columns).T if columns else 0.0
    right = np.concatenate((target, np.zeros(len(sums))))
    heavy = HEAVY * max(1.0, float(np.abs(matrix).max(initial=0.0)))
    for row, (owner, first, last) in enumerate(sums, start=d):
        matrix[row, first:last] = heavy
        if owner is None:
            right[row] = heavy
        else:
            matrix[row, owner] = -heavy
    weights, best = nnls(matrix, right, maxiter=100 * len(columns) + 300)
    total = 1 + sum(weights[o] for o, _, _ in sums if o is not None)
    carried += radius * case.region.bend * float(weights[first_normal:].sum())
    return 3 * tol * (1 + total * (1 + bend)) + carried + 1e-9, best
