"""Tightened bounds: what is added to constraint functions so that new rows keep the bounds too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators._promise.testing import spreads
from equipoise.problems import LearningProblem
from equipoise.rows import DeviceTable, MemoryTable
from equipoise.terms import Combination

# Bounds are tightened by at most this share of the room that they leave, so that of two opposite bounds,
# such as those of a gap, something remains. Chosen.
MOST_GIVEN_UP = 0.85


@dataclass(frozen=True, eq=False)
class Tightening:
    """By how much the bounds of a binding are tightened.

    Attributes
    ----------
    binding : Binding
    errors : ndarray of shape (m,)
        The standard error of every constraint function.
    most : ndarray of shape (m,)
        What is added to it at the most.
    """

    binding: Binding
    errors: np.ndarray
    most: np.ndarray

    @staticmethod
    def of(
        owner: str,
        table: MemoryTable | DeviceTable,
        binding: Binding,
        model: tuple[np.ndarray, np.ndarray],
        rows: int,
    ) -> Tightening:
        """Return the tightening by standard errors that `rows` rows will have, estimated from a table."""
        errors = spreads(owner, table, binding.inequalities, model, rows)
        return Tightening(binding, errors, MOST_GIVEN_UP * room(binding.combination))

    def by(self, number: float, problem: LearningProblem) -> LearningProblem:
        """Return the problem with its bounds tightened by so many standard errors."""
        offsets = self._offsets(number)
        return problem.recombined(self.binding.combination.moved(np.r_[0.0, offsets]))

    def different(self, numbers: Iterable[float]) -> list[float]:
        """Return the numbers of standard errors without those that change nothing after the one before."""
        kept: list[float] = []
        for number in numbers:
            if not kept or not np.array_equal(self._offsets(number), self._offsets(kept[-1])):
                kept.append(number)
        return kept

    def _offsets(self, number: float) -> np.ndarray:
        return np.minimum(number * self.errors, self.most)


def room(combination: Combination) -> np.ndarray:
    """Return how far every constraint function can be moved before no model can keep it.

    Of two opposite functions, by half of what lies between their bounds; of the others, by the bound itself.
    """
    matrix, offsets = combination.coefficients[1:].tocsr(), combination.offsets[1:]
    places: dict[bytes, int] = {}
    found = np.abs(offsets).astype(float)
    for i in range(matrix.shape[0]):
        row = matrix[[i]]
        row.sort_indices()
        key = row.indices.tobytes()
        other = places.get(key + (-row.data).tobytes())
        if other is not None:
            found[i] = found[other] = max(-0.5 * (offsets[i] + offsets[other]), 0.0)
        places[key + row.data.tobytes()] = i
    return found
