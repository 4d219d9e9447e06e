"""Where the dual side of stochastic mirror descent starts, as a user gives it, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._problem import Saddle

OWNER, PARAMETER = "SMD", "dual_start"

# How far the sum of the weights may be from 1: a rounding error of every one of a thousand weights. Chosen.
ROUNDING = 1e-12


def check_dual(given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what is given as y, on a simplex, and alpha."""
    pair = _check.sequence(OWNER, PARAMETER, given)
    if len(pair) != 2:
        _check.fail(OWNER, PARAMETER, "must be a pair of y and alpha", given)
    y, alpha = (_check.vector(OWNER, f"{PARAMETER}[{i}]", part) for i, part in enumerate(pair))
    if not (abs(y.sum() - 1.0) <= ROUNDING and y.min() >= 0.0):
        rule = "must be weights, non-negative with the sum 1"
        _check.fail(OWNER, f"{PARAMETER}[0]", rule, y)
    return y, alpha


def fitting_dual(saddle: Saddle, given: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return y and alpha if they are of this min-max form."""
    y, alpha = check_dual(given)
    for i, part, size in ((0, y, saddle.offsets.size), (1, alpha, saddle.blocks.size)):
        if part.shape != (size,):
            _check.fail(OWNER, f"{PARAMETER}[{i}]", f"must have shape ({size},)", part.shape)
    if np.abs(alpha).max() > saddle.interval:
        rule = f"must have entries between -{saddle.interval:g} and {saddle.interval:g}"
        _check.fail(OWNER, f"{PARAMETER}[1]", rule, alpha)
    return y, alpha
