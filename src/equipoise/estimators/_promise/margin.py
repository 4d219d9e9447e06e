"""A margin for new rows by cross-validation: cheap in rows, and without a promise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._errors import MissingRowsError
from equipoise.estimators._continuation import ahead
from equipoise.estimators._counted import Candidate
from equipoise.estimators._promise.apart import CountsApart
from equipoise.estimators._promise.tightening import Tightening
from equipoise.estimators._training import BoundTraining, Training
from equipoise.rows import DeviceTable, MemoryTable

# By how many standard errors of the training rows bounds may be tightened. Chosen.
MARGINS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)

# The rows are divided into this many parts, each of which is left out in turn. Chosen.
FOLDS = 3


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Tightens bounds by the least margin with which rows left out, all taken together, keep them.

    Attributes
    ----------
    owner : str
    training : MemoryTable or DeviceTable
    seed : int
        For the parts of the rows.
    """

    owner: str
    training: MemoryTable | DeviceTable
    seed: int = 0

    def fit(self, given: BoundTraining) -> tuple[Candidate, None]:
        """Return the model under bounds with the margin that was chosen; nothing is promised of it."""
        left_out = np.zeros((len(MARGINS), len(given.binding.inequalities)))
        order = self._order()
        try:
            for fold in range(FOLDS):
                left_out += self._values(given, order[fold::FOLDS]) / FOLDS
        except MissingRowsError as error:
            reason = (
                f'`margin="auto"` leaves out one row in {FOLDS} in turn, and the others are too few for a '
                f"rule: {error.reason} Or fit without a margin."
            )
            raise MissingRowsError(self.owner, reason, "margin") from error
        kept = np.flatnonzero((left_out <= 0.0).all(axis=1))
        chosen = MARGINS[kept[0] if kept.size else -1]
        tightening = Tightening.of(self.owner, given, self.training)
        fit = given.measured(given.fit(tightening.by(chosen)))
        detail = (
            f"Bounds were tightened by {chosen:g} standard errors of their rates, chosen by "
            "cross-validation; nothing is promised of new rows."
        )
        result = fit.result.judged(fit.result.verdict.with_detail(detail))
        return replace(fit, result=result), None

    def _order(self) -> np.ndarray:
        """Return the rows so that every third has its share of every class and group."""
        table = self.training.labelled()
        order = np.random.default_rng(self.seed).permutation(table.n_rows)
        columns = [] if table.groups is None else table.groups.columns.values()
        kinds = [table.positive, *(c.codes for c in columns if c.codes is not None)]
        return order[np.lexsort([kind[order] for kind in kinds[::-1]])]

    def _values(self, whole: BoundTraining, held: np.ndarray) -> np.ndarray:
        """Return the constraint functions on rows left out, for every margin; 0 of groups not there."""
        inside = np.ones(self.training.n_rows, dtype=bool)
        inside[held] = False
        own, other = self.training.part(np.flatnonzero(inside)), self.training.part(held)
        given = Training(whole.training.task, own, whole.training.runner).bind_and_compare()
        apart = CountsApart.of(given, other, whole.binding.names, undefined="skip")
        found = np.zeros((len(MARGINS), apart.size))
        fits: list[tuple[float, Candidate]] = []
        tightening = Tightening.of(self.owner, given, self.training)
        for i, margin in enumerate(MARGINS):
            fit = given.fit(tightening.by(margin), ahead(fits, margin))
            fits = [*fits[-1:], (margin, fit)]
            found[i] = apart.values(fit.x)
        return found
