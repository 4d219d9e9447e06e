"""The walk from the tightest bounds to those asked for, with a test of every model on the way.

Tests in an order that was fixed before the rows held out were looked at need no correction for their number:
whoever stops at the first failure and keeps the last model that passed promises a bound that the population
breaks with the probability ``1 - confidence`` at the most (Angelopoulos et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from equipoise._status import Status
from equipoise.estimators._continuation import ahead
from equipoise.estimators._counted import Candidate
from equipoise.estimators._promise.parts import Parts
from equipoise.estimators._promise.stricter import Promised
from equipoise.estimators._promise.testing import HeldOutRows, Tested
from equipoise.estimators._promise.tightening import Tightening
from equipoise.estimators._promised import Promise, PromiseLine
from equipoise.estimators._training import BoundTraining
from equipoise.rows import DeviceTable, MemoryTable

# By how many standard errors of the rows held out the bounds are tightened, one after the other. Chosen: a
# test at the usual levels passes from about 1.6 to 2.5 on, and the first one should nearly always.
TIGHTENED = (4.5, 3.6, 3.0, 2.6, 2.3, 2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)


@dataclass(frozen=True, eq=False)
class Walk:
    """Trains models under tightened bounds and tests them on rows held out.

    Attributes
    ----------
    owner : str
    parts : Parts
    confidence : float
    """

    owner: str
    parts: Parts[Any]
    confidence: float

    @property
    def training(self) -> MemoryTable | DeviceTable:
        """The rows to train on."""
        return self.parts.training

    def fit(self, given: BoundTraining) -> tuple[Candidate, Promised]:
        """Return the model to keep, and what may be promised of it.

        1. tighten all bounds as far as is useful, then less and less
        2. fit on the training rows, each model starting from the last; one that breaks its tightened
           bounds there is left out
        3. stop at the first model whose test fails; keep the last that passed, or the first
        """
        inequalities, training = given.binding.inequalities, given.training
        held = HeldOutRows(self.owner, self.parts.testing, inequalities, self.confidence)
        fits: list[tuple[float, Candidate]] = []
        kept: Candidate | None = None
        tested = 0
        rows = self.parts.testing.n_rows
        tightening = Tightening.of(self.owner, given, self.parts.training, rows)  # 1
        plan = tightening.different(TIGHTENED)
        for number in plan:
            fit = given.fit(tightening.by(number), ahead(fits, number))  # 2
            fits = [*fits[-1:], (number, fit)]
            ended = training.runner.budget.wish is not None
            if not (fit.keeps_bounds or ended or number == plan[-1]):
                continue
            tested += 1
            passed = held.chance(*training.units.coefficients(fit.x)) <= held.level
            if passed or kept is None:
                kept = fit
            if not passed or ended:  # 3
                break
        assert kept is not None
        rows += self.parts.training.n_rows
        said = held.tested(*training.units.coefficients(kept.x), rows)
        return given.measured(kept), partial(self.promise, said, tested)

    def promise(self, tested: Tested, models: int, training: np.ndarray) -> Promise:
        """Return what may be promised after a test; `training` holds the values on the training rows."""
        kept = tested.chance <= 1.0 - self.confidence
        lines = []
        for i, row in enumerate(tested.rows):
            promised = row.bound if kept else float(tested.loosened[i])
            found = float(training[i]), float(tested.values[i]), float(tested.chances[i])
            lines.append(PromiseLine(row.name, row.sense, row.bound, promised, *found))
        return Promise(
            kept,
            self.confidence,
            tuple(lines),
            self.parts.training.n_rows,
            self.parts.testing.n_rows,
            tested.needed,
            models,
        )


def unpromised(fit: Candidate, promise: Promise) -> Candidate:
    """Return the model with the status that says that its bounds could not be promised."""
    if promise.kept or fit.result.status not in (Status.CONVERGED, Status.FEASIBLE):
        return fit
    verdict = replace(fit.result.verdict, status=Status.NOT_PROMISED, detail="", claim=None)
    return replace(fit, result=fit.result.judged(verdict))
