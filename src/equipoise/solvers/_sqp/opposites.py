"""Constraints that come in opposite pairs, such as ``|c| <= b``: one gradient tells the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import to_numpy
from equipoise._problem import Point

# By how much rounding errors alone may change the sum of two values, relative to their sizes: each value
# and the sum is off by at most half a unit in the last place, and twice that is allowed. Derived.
ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Opposites:
    """Pairs of functions whose gradients were opposite at the start, and whose sum has never changed.

    As long as that is so, one gradient of a pair is taken to be minus the other. Steps are made
    of it, but no verdict: the sum may also bend in a direction that no step has taken.
    """

    first: np.ndarray  # (k,) indices of functions, 0 for the objective
    second: np.ndarray  # (k,)
    sums: np.ndarray  # (k,) of their values

    @staticmethod
    def none() -> Opposites:
        """Return no pairs."""
        nothing = np.empty(0, dtype=np.intp)
        return Opposites(nothing, nothing, np.empty(0))

    @staticmethod
    def among(values: np.ndarray, J: np.ndarray) -> Opposites:
        """Return the pairs of constraints that the start shows."""
        first, second = opposite_rows(J[1:])
        first, second = 1 + first[second >= 0], 1 + second[second >= 0]
        return Opposites(first, second, values[first] + values[second])

    def still(self, values: np.ndarray) -> Opposites:
        """Return the pairs whose sum is the same at a new point."""
        f, g = values[self.first], values[self.second]
        same = np.abs(f + g - self.sums) <= ROUNDING * (np.abs(f) + np.abs(g))
        if same.all():
            return self
        return Opposites(self.first[same], self.second[same], self.sums[same])

    def gradients(self, point: Point) -> np.ndarray:
        """Return the gradients of all functions (m + 1, d), one of each pair computed.

        That is the one of the larger function: it is active if one is, and then the examiner needs it.
        """
        every = range(point.values.size)
        if self.first.size == 0:
            return to_numpy(point.gradients(every))
        larger = point.values[self.first] >= point.values[self.second]
        own = np.where(larger, self.first, self.second)
        other = np.where(larger, self.second, self.first)
        taken = set(other.tolist())
        computed = [i for i in every if i not in taken]
        J = np.empty((len(every), point.x.shape[0]))
        J[computed] = to_numpy(point.gradients(computed))
        J[other] = -J[own]
        return J


def opposite_rows(J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows i, and for each the row j with the opposite gradient, -1 where there is none."""
    first: list[int] = []
    second: list[int] = []
    seen: dict[bytes, int] = {}
    for i, (row, opposite) in enumerate(zip(J + 0.0, 0.0 - J)):  # no negative zeros
        k = seen.pop(opposite.tobytes(), None)
        if k is None:
            seen[row.tobytes()] = len(first)
            first.append(i)
            second.append(-1)
        else:
            second[k] = i
    return np.array(first, dtype=np.intp), np.array(second, dtype=np.intp)
