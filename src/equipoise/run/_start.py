"""Where a run starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor
from equipoise._problem import Problem


def starting_point(owner: str, problem: Problem, x0: Any) -> Array:
    """Return a checked copy of the starting point; by default the problem's own, or 0, projected."""
    domain = problem.domain
    if x0 is None:
        start = np.zeros(problem.dim) if problem.start is None else problem.start.copy()
        return domain.project(start)
    x0 = _check.point(owner, "x0", x0, problem.dim)
    if is_tensor(x0):  # which stays on its device
        x0 = x0.detach().clone()
    if not domain.contains(x0, atol=1e-6 if x0.dtype.itemsize < 8 else 1e-8):
        raise ValueError(
            f"{owner}: `x0` must lie in the domain {domain!r}, but is {domain.distance(x0):.3g} away "
            f"from it. Start from `problem.domain.project(x0)`."
        )
    return x0
