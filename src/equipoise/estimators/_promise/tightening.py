"""Tightened bounds: what is added to constraint functions so that new rows keep the bounds too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from equipoise.estimators._promise.testing import spreads
from equipoise.estimators._training import BoundTraining
from equipoise.problems import LearningProblem
from equipoise.rows import DeviceTable, MemoryTable
from equipoise.terms import Combination

# Bounds are tightened by at most this share of the room that they leave, so that of two opposite bounds,
# such as those of a gap, something remains. Chosen.
MOST_GIVEN_UP = 0.85


@dataclass(frozen=True, eq=False)
class Tightening:
    """By how much the bounds of a training are tightened.

    Attributes
    ----------
    given : BoundTraining
        With the bounds that are tightened.
    errors : ndarray of shape (m,)
        The standard error of every constraint function.
    most : ndarray of shape (m,)
        What is added to it at the most.
    """

    given: BoundTraining
    errors: np.ndarray
    most: np.ndarray

    @staticmethod
    def of(
        owner: str, given: BoundTraining, table: MemoryTable | DeviceTable, rows: int | None = None
    ) -> Tightening:
        """Return the tightening by standard errors, estimated from a table, that `rows` rows will have.

        By default as many as the table has. The model is the one without constraints.
        """
        model = given.training.units.coefficients(given.unconstrained.x)
        rows = table.n_rows if rows is None else rows
        errors = spreads(owner, table, given.binding.inequalities, model, rows)
        return Tightening(given, errors, MOST_GIVEN_UP * room(given.binding.combination))

    def by(self, number: float) -> LearningProblem:
        """Return the problem with its bounds tightened by so many standard errors."""
        offsets = self._offsets(number)
        combination = self.given.binding.combination
        return self.given.problem.recombined(combination.moved(np.r_[0.0, offsets]))

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
