"""Tests of one model on the rows held out: is the population likely to break a bound?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import to_numpy
from equipoise.auditing._audit import broken_chance, rows_needed
from equipoise.auditing._audited_rows import AuditedRows
from equipoise.auditing._measure import Measure
from equipoise.auditing._rules import Rules
from equipoise.constraints import Inequality
from equipoise.constraints._sample import Sample
from equipoise.models import linear_scores
from equipoise.rows import DeviceTable, MemoryTable


@dataclass(frozen=True, eq=False)
class Tested:
    """What the rows held out say of one model: of every bound a value, a loosened bound and a p-value."""

    rows: tuple[Inequality, ...]
    values: np.ndarray
    loosened: np.ndarray  # bounds that the population keeps, all of them at once
    chances: np.ndarray
    needed: float

    @property
    def chance(self) -> float:
        """A p-value of "the population breaks a bound": one that is broken must look kept."""
        return float(self.chances.max(initial=0.0))


class HeldOutRows:
    """Rows to test models on, with the inequalities that training has bound."""

    def __init__(
        self,
        owner: str,
        table: MemoryTable | DeviceTable,
        inequalities: tuple[Inequality, ...],
        confidence: float,
    ) -> None:
        self._owner, self._table, self.level = owner, table, 1.0 - confidence
        self._labelled = table.labelled()
        self.inequalities = inequalities
        self._sample = Sample(self._labelled, owner=owner, min_cell=2, small_cells="skip")

    def rules(self, coef: np.ndarray, intercept: np.ndarray) -> Rules:
        """Return the measures of a linear model's predictions and scores."""
        scores = to_numpy(linear_scores(self._table.X, coef, intercept))
        rows = AuditedRows(self._labelled, scores > 0, scores, self._owner)
        return Rules(rows, self._sample)

    def chance(self, coef: np.ndarray, intercept: np.ndarray) -> float:
        """Return a p-value of "the population breaks a bound"; beyond the level it may stop early."""
        rules, worst = self.rules(coef, intercept), 0.0
        for row in self.inequalities:
            worst = max(worst, broken_chance(row, rules.measure(row), self.level))
            if worst > self.level:
                break
        return worst

    def promised(self, coef: np.ndarray, intercept: np.ndarray, bound: float) -> float:
        """Return the bound that can be promised of a model, where `bound` is that of all inequalities."""
        rules = self.rules(coef, intercept)
        loosened = [
            _outwards(row) * (_limit(row, rules.measure(row), self.level) - row.bound)
            for row in self.inequalities
        ]
        least = all(row.sense == ">=" for row in self.inequalities)
        return bound + max(loosened, default=0.0) * (-1.0 if least else 1.0)

    def tested(self, coef: np.ndarray, intercept: np.ndarray, all_rows: int) -> Tested:
        """Return all that the rows say of a model."""
        rules = self.rules(coef, intercept)
        measures = [rules.measure(row) for row in self.inequalities]
        values = np.array([measure.value for measure in measures])
        chances, needed = [], np.nan
        for row, measure in zip(self.inequalities, measures):
            chances.append(broken_chance(row, measure, self.level))
            if chances[-1] > self.level:
                below = row.sense == "<="
                broken = measure.value > row.bound if below else measure.value < row.bound
                limit = _limit(row, measure, self.level)
                both = (min(limit, measure.value), max(limit, measure.value))
                more = np.inf if broken else rows_needed(all_rows, measure.value, both, row.bound)
                needed = np.fmax(needed, more)
        loosened = self._loosened(measures)
        return Tested(self.inequalities, values, loosened, np.array(chances), float(needed))

    def _loosened(self, measures: list[Measure]) -> np.ndarray:
        """Return the tightest bounds that can be promised together.

        All bounds of a rule are loosened by the same amount: then whatever they are, the promise can only
        be wrong where the limit of the one that the population breaks by most is, and the number of
        bounds needs no correction. The error is divided between rules.
        """
        sources = [id(row.source) for row in self.inequalities]
        level = self.level / max(len(set(sources)), 1)
        by: dict[int, float] = {}
        for source, row, measure in zip(sources, self.inequalities, measures):
            over = _outwards(row) * (_limit(row, measure, level) - row.bound)
            by[source] = max(by.get(source, 0.0), over)
        moves = [_outwards(row) * by[source] for source, row in zip(sources, self.inequalities)]
        return np.array([row.bound for row in self.inequalities]) + np.array(moves)


def _outwards(row: Inequality) -> float:
    """Return the direction in which a bound becomes easier to keep."""
    return 1.0 if row.sense == "<=" else -1.0


def _limit(row: Inequality, measure: Measure, level: float) -> float:
    """Return the limit of the population's value on the side of the bound."""
    return measure.upper(level) if row.sense == "<=" else measure.lower(level)


def spreads(
    owner: str,
    table: MemoryTable | DeviceTable,
    inequalities: tuple[Inequality, ...],
    model: tuple[np.ndarray, np.ndarray],
    rows: int,
) -> np.ndarray:
    """Return the standard error that every constraint function will have on so many rows.

    Planned with the predictions of a model on the training rows, and with rates at their bounds.
    """
    plan = HeldOutRows(owner, table, inequalities, 0.5)
    rules, found = plan.rules(*model), []
    for row in plan.inequalities:
        assert row.expression is not None
        whole, limit = row.expression, row.bound
        if row.denominator is not None:
            whole, limit = whole - row.bound * row.denominator, 0.0
        linear = replace(row, expression=whole, denominator=None)
        found.append(row.factor * rules.measure(linear).spread_at(limit))
    return np.array(found) * np.sqrt(table.n_rows / rows)
