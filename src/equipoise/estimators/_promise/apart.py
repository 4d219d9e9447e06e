"""Rules counted on rows that a model is not fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise.constraints import Binding, bind_table
from equipoise.estimators._counted import Candidate
from equipoise.estimators._promise.tightening import MOST_GIVEN_UP, room
from equipoise.estimators._training import BoundTraining
from equipoise.rows import DeviceTable, MemoryTable, RowSums

# How often bounds are tightened for rows apart. Chosen: two are usual.
TIGHTENINGS = 6

# By how much more than what is too much bounds are tightened, as a share of it. Chosen: a count should end
# below its bound rather than just above.
MORE = 0.1


@dataclass(frozen=True, eq=False)
class CountsApart:
    """The constraint functions of models in the units of a training, counted on other rows.

    Attributes
    ----------
    size : int
        The number of constraint functions of the training.
    places, known : ndarray of int
        Which of them there are on the other rows, and where.
    binding : Binding
    rows : RowSums
    """

    size: int
    places: np.ndarray
    known: np.ndarray
    binding: Binding
    rows: RowSums

    @staticmethod
    def of(
        given: BoundTraining,
        other: MemoryTable | DeviceTable,
        names: tuple[str, ...] | None = None,
        undefined: str = "raise",
    ) -> CountsApart:
        """Bind a training's rules, or those of some `names`, to other rows.

        See `bind_table` for `undefined`.
        """
        task, names = given.training.task, given.binding.names if names is None else names
        apart = bind_table(
            task.constraints,
            other,
            loss=task.loss,
            objective=task.objective,
            best_loss=given.unconstrained.loss,
            min_cell=2,
            small_cells="skip",
            undefined=undefined,
            owner=task.owner,
        )
        known = [i for i, name in enumerate(apart.names) if name in names]
        places = [names.index(apart.names[i]) for i in known]
        rows = other.row_sums(given.training.units, apart.specs)
        return CountsApart(len(names), np.array(places, int), np.array(known, int), apart, rows)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the constraint functions (m,) of the parameters `x`; 0 of groups that are not there."""
        found = np.zeros(self.size)
        counted = self.binding.combination.plain_values(self.rows.thresholded(x))[1:]
        found[self.places] = counted[self.known]
        return found


@dataclass(frozen=True, eq=False)
class KeptApart:
    """Tightens bounds on the training rows until they are kept on validation rows too, by counting.

    Only the bounds that are broken there are tightened, by what they are broken by: of two opposite ones
    mostly one, so that it may lie beyond the middle between them. The first model that keeps all of them
    is taken, or of those that keep them on the training rows the one that breaks them least.

    Attributes
    ----------
    other : MemoryTable or DeviceTable
        The validation rows.
    """

    other: MemoryTable | DeviceTable

    def fit(self, given: BoundTraining) -> tuple[Candidate, None]:
        """Return the model; nothing is promised of it."""
        apart, combination = CountsApart.of(given, self.other), given.binding.combination
        offsets, most = np.zeros(apart.size), 2.0 * MOST_GIVEN_UP * room(combination)
        kept: tuple[tuple[bool, float], Candidate] | None = None
        fit: Candidate | None = None
        for _ in range(TIGHTENINGS + 1):
            moved = given.problem.recombined(combination.moved(np.r_[0.0, offsets]))
            fit = given.fit(moved, fit)
            own = given.measured(fit)
            values = apart.values(fit.x)
            broken = max(float(values.max(initial=0.0)), 0.0)
            merit = not own.keeps_bounds, broken
            if kept is None or merit < kept[0]:
                kept = merit, own
            tighter = np.minimum(offsets + (1.0 + MORE) * np.maximum(values, 0.0), most)
            ended = given.training.runner.budget.wish is not None
            if broken == 0.0 or ended or np.array_equal(tighter, offsets):
                break
            offsets = tighter
        assert kept is not None
        (_, broken), own = kept
        said = f"a bound is broken by {broken:.2g}" if broken else "all bounds hold too"
        detail = f"On the validation rows {said}, by counting; nothing is promised of other rows."
        result = own.result.judged(own.result.verdict.with_detail(detail))
        return replace(own, result=result), None
