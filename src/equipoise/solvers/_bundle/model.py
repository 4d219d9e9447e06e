"""The quadratic program of a bundle step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.sets import LinearRows
from equipoise.solvers._bundle.planes import TangentPlanes
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram

# The height is regularised so that the fall of the step before changes L by about this share. Chosen among
# 0.05, 0.25, 1 and 5 on the problems that `planes.py` speaks of; runs end a little nearer to the solution
# with the least.
CHANGED_SHARE = 0.05

# Where that program fails, or the sum of the weights comes out below the first number, a regularisation
# that suits the steepest slope is tried, times each of the others in turn. Chosen.
LEAST_SUM, SAFE = 1e-3, (1.0, 1e-2, 1e-4)


@dataclass(frozen=True)
class ModelStep:
    """The step that minimises the planes, and what its dual says."""

    s: np.ndarray  # (d,)
    weights: np.ndarray  # (n,) of the planes; those of the objective's have the sum 1
    L: float  # the weight of the regularisation that it belongs to


def minimise(
    planes: TangentPlanes, x: np.ndarray, rows: LinearRows, L: float, fall: float
) -> ModelStep | None:
    """Minimise ``max_j plane_0j(x + s) + L/2 |s|^2`` where all planes of constraints are at most 0.

    The largest plane of the objective is a variable v of the quadratic program, its height above that at x,
    and needs curvature as well: ``delta/2 v^2``. The weights of the objective's planes then have the sum
    ``1 + delta v``. Divided by it, they solve the same program without that term and with L divided by
    it: so delta changes nothing but L. It is chosen by the `fall` to expect of v, which makes all
    numbers of the program about as large. The answer is None where planes exclude each other, or no
    program is solved.
    """
    d, objective = x.size, planes.of_objective
    heights = planes.heights(x)
    f = np.where(objective, heights - heights[objective].max(), heights)
    J = np.hstack((planes.slopes, -objective[:, None].astype(float)))
    g = np.append(np.zeros(d), 1.0)
    wide = LinearRows.joined((rows, LinearRows.of(1)))
    errors = np.where(objective, 0.0, planes.errors(x))
    steepest = float(np.linalg.norm(planes.slopes[objective], axis=1).max()) or 1.0
    safe = L / (2.0 * steepest) ** 2
    for delta in (CHANGED_SHARE / fall, *(safe * share for share in SAFE)):
        H = np.diag(np.append(np.full(d, L), delta))
        answer = QuadraticProgram(H, g, f, J, wide).solve()
        if answer is None:  # rows that exclude each other by no more than rounding errors do not
            answer = QuadraticProgram(H, g, f - errors, J, wide).solve()
        if answer is None:
            continue
        total = float(answer.lam[objective].sum())
        if total > LEAST_SUM:
            return ModelStep(answer.s[:d], answer.lam / total, L / total)
    return None
