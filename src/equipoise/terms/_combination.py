"""Combinations: from sums over rows to objective and constraints."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.terms._combination_point import CombinationPoint, FunctionBounds
from equipoise.terms._functionals import Functional, product_of
from equipoise.terms._kinks import RowKinks
from equipoise.terms._score_sum import SumBounds

# Coefficients of at most this many numbers are multiplied as a dense matrix: a sparse product takes longer
# to begin than such a dense one takes. Measured with one product each: 1 to 2 against 7 microseconds.
MAX_DENSE = 1 << 10


@final
class Combination:
    """Objective and m constraints as functions of R sums: ``f = C r + c``, plus functions that bend.

    Parameters
    ----------
    coefficients : array or sparse matrix of shape (m + 1, R)
        The matrix `C`; its first row is the objective.
    offsets : array of shape (m + 1,), default 0
        The vector `c`.
    names : sequence of str, optional
        One for each constraint.
    bent : sequence of (int, Functional)
        Functions to add: to the objective (0) or to a constraint (1..m).
    """

    def __init__(
        self,
        coefficients: Any,
        offsets: Any = None,
        *,
        names: Sequence[str] | None = None,
        bent: Sequence[tuple[int, Functional]] = (),
    ) -> None:
        owner = "Combination"
        if not sparse.issparse(coefficients):
            coefficients = _check.matrix(owner, "coefficients", coefficients, "m + 1", "R")
        self.coefficients = sparse.csr_array(coefficients)
        count = self.coefficients.shape[0]
        self.offsets = (
            np.zeros(count) if offsets is None else _check.vector(owner, "offsets", offsets, count)
        )
        self.n_constraints, self.n_sums = count - 1, self.coefficients.shape[1]
        given = [f"f_{i}" for i in range(1, count)] if names is None else names
        self.names = _check.names(owner, "names", given, self.n_constraints)
        self.bent = _check.sequence(owner, "bent", bent, tuple)
        for entry in self.bent:
            if len(entry) != 2 or not isinstance(entry[1], Functional):
                _check.fail(owner, "bent", "must hold pairs (place, Functional)", entry)
            place, function = entry
            if function.first + function.n_sums > self.n_sums or not 0 <= place < count:
                rule = f"must be functions of at most {self.n_sums} sums, for one of {count} places"
                _check.fail(owner, "bent", rule, (place, function.n_sums))
        self.shift = np.zeros(self.n_constraints)
        small = count * self.n_sums <= MAX_DENSE
        self._matrix = self.coefficients.toarray() if small else self.coefficients
        self._transposed = self._matrix.T

    def at(self, r: np.ndarray) -> CombinationPoint:
        """Evaluate every function."""
        values, bent = self._values(r)
        values[1:] += self.shift

        def pull(weights: np.ndarray) -> np.ndarray:
            u = self._transposed @ np.asarray(weights, dtype=np.float64)
            for place, slope, _ in bent:
                u = u + weights[place] * slope
            return u

        def bend(weights: np.ndarray, change: np.ndarray) -> np.ndarray:
            return sum((weights[k] * product(change) for k, _, product in bent), 0.0 * change)

        def rows(index: np.ndarray) -> tuple[np.ndarray, Any]:
            found = self._matrix[index]
            for place, slope, _ in bent:
                more = np.outer(np.asarray(index) == place, slope)
                found = found + (more if isinstance(found, np.ndarray) else sparse.csr_array(more))
            dense = isinstance(found, np.ndarray)
            used = np.flatnonzero(found.any(axis=0)) if dense else np.unique(found.indices)
            return used, found[:, used]

        def push(change: np.ndarray) -> np.ndarray:
            found = self._matrix @ change
            for place, slope, _ in bent:
                found[place] += slope @ change
            return found

        return CombinationPoint(values, pull, bend if bent else None, rows, push)

    def plain_values(self, r: np.ndarray) -> np.ndarray:
        """Return the values (m + 1,) without the shift."""
        return self._values(r)[0]

    def shifted(self, shift: Any) -> Combination:
        """Return the combination with this added to the constraints; it replaces an earlier shift.

        Positive numbers tighten. `plain_values` does not see it.
        """
        changed = copy(self)
        m = self.n_constraints
        given = [shift] * m if _check.is_number(shift) else shift
        changed.shift = _check.vector("Combination.shifted", "shift", given, m)
        return changed

    def moved(self, offsets: np.ndarray) -> Combination:
        """Return the combination with these numbers added to the offsets: other bounds."""
        changed = copy(self)
        changed.offsets = self.offsets + offsets
        return changed

    def selected(self, places: Sequence[int]) -> Combination:
        """Return some of the functions, the first of them as the objective."""
        order, others = list(places), [p - 1 for p in places[1:]]
        changed = Combination(
            self.coefficients[order],
            self.offsets[order],
            names=[self.names[i] for i in others],
            bent=[(order.index(place), f) for place, f in self.bent if place in order],
        )
        return changed.shifted(self.shift[others])

    @staticmethod
    def joined(parts: Sequence[Combination]) -> Combination:
        """Return combinations of different sums as one: objectives add up, constraints line up."""
        ends = np.cumsum([0, *(part.n_sums for part in parts)]).tolist()
        places = np.cumsum([1, *(part.n_constraints for part in parts)]).tolist()
        first = sparse.hstack([part.coefficients[[0]] for part in parts])
        others = sparse.block_diag([part.coefficients[1:] for part in parts])
        bent = [
            (0 if row == 0 else row - 1 + place, function.placed(function.first + start))
            for part, start, place in zip(parts, ends, places)
            for row, function in part.bent
        ]
        changed = Combination(
            sparse.vstack((first, others), format="csr"),
            np.r_[sum(p.offsets[0] for p in parts), *(p.offsets[1:] for p in parts)],
            names=[name for part in parts for name in part.names],
            bent=bent,
        )
        return changed.shifted(np.concatenate([part.shift for part in parts]))

    def bounds(self, sums: SumBounds) -> FunctionBounds:
        """Return the constants of the functions, from those of the sums."""
        C, size = self._matrix, abs(self._matrix)
        up, down = (size + C) / 2, (size - C) / 2
        lipschitz = product_of(size, sums.slope)
        weak = product_of(up, sums.below) + product_of(down, sums.above)
        smooth = np.maximum(weak, product_of(up, sums.above) + product_of(down, sums.below))
        for place, function in self.bent:
            own = slice(function.first, function.first + function.n_sums)
            part = SumBounds(
                *(getattr(sums, f)[own] for f in ("slope", "below", "above", "least", "largest"))
            )
            for total, more in zip((lipschitz, smooth, weak), function.bounds(part)):
                total[place] += more
        return FunctionBounds(_known(lipschitz), _known(smooth), _known(weak), self._lower(sums))

    def largest_changes(self, sizes: np.ndarray) -> np.ndarray:
        """Return the most that a change of one sum, by at most its size, changes each function by, (m + 1,).

        What functions that bend add is left out.
        """
        changes = abs(self._matrix) * sizes
        found = changes.max(axis=1)
        return found if isinstance(found, np.ndarray) else found.toarray()

    def kinks(self, found: RowKinks | None, smooth: np.ndarray) -> RowKinks | None:
        """Return the kinks of sums as kinks of the functions; `smooth` says which sums have none.

        None where a function that bends depends on a sum with a kink.
        """
        if found is None or not all(smooth[f.uses].all() for _, f in self.bent):
            return None
        return replace(found, masses=(self.coefficients @ found.masses.T).T)

    def _values(self, r: np.ndarray) -> tuple[np.ndarray, list[tuple[int, np.ndarray, Any]]]:
        finite = np.isfinite(r.sum())  # else a sum counts only where it is used: not 0 times NaN
        values = (self._matrix if finite else self.coefficients) @ r + self.offsets
        bent = []
        for place, function in self.bent:
            value, slope, product = function.at(r)
            values[place] += value
            bent.append((place, slope, product))
        return values, bent

    def _lower(self, sums: SumBounds) -> float | None:
        """Return a number not above the objective; None if there is no such bound."""
        least = sum(function.least for place, function in self.bent if place == 0)
        end = self.coefficients.indptr[1]
        row, places = self.coefficients.data[:end], self.coefficients.indices[:end]
        row, places = row[row != 0], places[row != 0]
        value = float(np.minimum(row * sums.least[places], row * sums.largest[places]).sum())
        value += least + float(self.offsets[0])
        return value if np.isfinite(value) else None


def _known(values: np.ndarray) -> np.ndarray | None:
    return values if np.isfinite(values).all() else None
