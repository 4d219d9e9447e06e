"""The walk from the tightest bounds to those asked for, with a test of every model on the way.

Tests in an order that was fixed before the rows held out were looked at need no correction for their number:
whoever stops at the first failure and keeps the last model that passed promises a bound that the population
breaks with the probability ``1 - confidence`` at the most (Angelopoulos et al. 2025).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from equipoise._status import Status
from equipoise.constraints import Binding
from equipoise.estimators._continuation import ahead
from equipoise.estimators._counted import Candidate, Unconstrained, allowances, measure
from equipoise.estimators._promise.parts import Parts
from equipoise.estimators._promise.testing import HeldOutRows, Tested, spreads
from equipoise.estimators._promised import Promise, PromiseLine
from equipoise.estimators._training import Training
from equipoise.problems import LearningProblem
from equipoise.rows import MemoryTable
from equipoise.terms import Combination

# By how many standard errors of the rows held out the bounds are tightened, one after the other. Chosen: a
# test at the usual levels passes from about 1.6 to 2.5 on, and the first one should nearly always.
TIGHTENED = (4.5, 3.6, 3.0, 2.6, 2.3, 2.0, 1.75, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0)

# Bounds are tightened by at most this share of the room that they leave, so that of two opposite bounds,
# such as those of a gap, something remains. Chosen.
MOST_GIVEN_UP = 0.85


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
    parts: Parts
    confidence: float

    @property
    def training(self) -> MemoryTable:
        """The rows to train on."""
        return self.parts.training

    def fit(
        self,
        training: Training,
        binding: Binding,
        problem: LearningProblem,
        unconstrained: Unconstrained,
    ) -> tuple[Candidate, Tested, int]:
        """Return the model to keep, what its test says, and how many models were tested.

        1. tighten all bounds as far as is useful, then less and less
        2. fit on the training rows, each model starting from the last; one that breaks its tightened
           bounds there is left out
        3. stop at the first model whose test fails; keep the last that passed, or the first
        """
        held = HeldOutRows(self.owner, self.parts.testing, binding.inequalities, self.confidence)
        fits: list[tuple[float, Candidate]] = []
        kept: Candidate | None = None
        tested = 0
        plan = list(self._tightened(training, binding, problem, unconstrained))  # 1
        for number, offsets in plan:
            moved = problem.recombined(binding.combination.moved(np.r_[0.0, offsets]))
            fit = training.fit(moved, binding, unconstrained, ahead(fits, number))  # 2
            fits = [*fits[-1:], (number, fit)]
            ended = training.runner.budget.wish is not None
            if not (fit.keeps_bounds or ended or number == plan[-1][0]):
                continue
            tested += 1
            passed = held.chance(*training.units.coefficients(fit.x)) <= held.level
            if passed or kept is None:
                kept = fit
            if not passed or ended:  # 3
                break
        assert kept is not None
        allowed = allowances(binding, problem.facts.rounding, training.runner.tol)
        solved = measure(problem, kept.result, allowed, kept.problem)
        solved = replace(solved, problems_solved=kept.problems_solved, prices=kept.prices)
        rows = self.parts.training.n_rows + self.parts.testing.n_rows
        return solved, held.tested(*training.units.coefficients(kept.x), rows), tested

    def _tightened(
        self,
        training: Training,
        binding: Binding,
        problem: LearningProblem,
        unconstrained: Unconstrained,
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield what is added to the constraint functions, with its size in standard errors."""
        model = training.units.coefficients(unconstrained.x)
        rows = self.parts.testing.n_rows
        errors = spreads(self.owner, self.parts.training, binding.inequalities, model, rows)
        most = MOST_GIVEN_UP * room(binding.combination)
        last = None
        for number in TIGHTENED:
            offsets = np.minimum(number * errors, most)
            if last is None or not np.array_equal(offsets, last):
                yield number, offsets
            last = offsets

    def promise(self, tested: Tested, training: np.ndarray, models: int) -> Promise:
        """Return what may be promised; `training` holds the values on the training rows."""
        kept = tested.chance <= 1.0 - self.confidence
        lines = []
        for i, row in enumerate(tested.rows):
            fine = kept or tested.chances[i] <= 1.0 - self.confidence
            promised = row.bound if fine else float(tested.limits[i])
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


def unpromised(fit: Candidate, promise: Promise) -> Candidate:
    """Return the model with the status that says that its bounds could not be promised."""
    if promise.kept or fit.result.status not in (Status.CONVERGED, Status.FEASIBLE):
        return fit
    verdict = replace(fit.result.verdict, status=Status.NOT_PROMISED, detail="", claim=None)
    return replace(fit, result=fit.result.judged(verdict))
