"""Few rows held: rates of small groups jump, so their predictions are chosen, and other rates are smooth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import COUNTED, Candidate, is_large
from equipoise.estimators._counted.fixed import SCORE_MARGIN, can_fix
from equipoise.estimators._counted.search import LITTLE_GAIN, SPARE_RANGE, Search, Stage
from equipoise.estimators._counted.secant import Secant
from equipoise.estimators._counted.shifting import sharpened, sharpness_for
from equipoise.estimators._counted.turning import cheapest_turned
from equipoise.problems import LearningProblem
from equipoise.rows import MemorySums
from equipoise.run import Result, Verdict
from equipoise.terms import Terms
from equipoise.terms._fixed_predictions import held_predictions

# A rate is small where one row changes it by more than this. Chosen: twice what may be left of a bound.
LARGE_STEP = 2 * SPARE_RANGE[1]

# With fewer rates shifts settle by themselves. Chosen: two rates of four groups.
MANY_RATES = 8

# The most rows of small rates that are held, as each becomes a constraint of its own; and the same as a
# share of all rows. Chosen.
MOST_HELD, MOST_HELD_SHARE = 1000, 0.1

# How often predictions are chosen anew, and how often the shift is corrected each time. Chosen.
CHOICES, SHIFTS_EACH = 3, 6

ROWS_HELD = (
    "Converged: of all models with the same predictions of {rows} rows of small groups (and their scores at "
    "least {margin:g} from 0) the one returned meets the optimality conditions. All bounds hold on the "
    "counted rates."
)


@dataclass(frozen=True)
class HoldFew(Stage):
    """Where a row more or less in a small group decides whether a bound holds, choose such rows.

    1. turn over the predictions that are the cheapest to turn, so that all bounds hold by counting
    2. hold those of the rows of small rates, and solve under what is left of the bounds for the other
       rates, shifted as usual
    3. where one shift leaves much of the bounds and another breaks them: the shift in their middle
    4. where no shift keeps the bounds: the same from the closest model
    """

    name: ClassVar[str] = "holding few predictions"

    def run(self, search: Search) -> Candidate | None:
        """Return the model if it is certified and uses up its bounds."""
        small = _small(search)
        if small.size == 0:
            return None
        before, fit = len(search.tried), search.tried[-1]
        for _ in range(CHOICES):
            held = self._chosen(search, fit, small)
            if held is None:
                break
            tried = self._shifted(search, held, fit.x)
            if (found := held.finished(search, tried)) is not None:
                return found
            fit = min(tried, key=lambda fit: fit.violation)
        del search.tried[before:]  # other stages know nothing of rows that are held
        return None

    def _chosen(self, search: Search, fit: Candidate, small: np.ndarray) -> _Held | None:
        """Return the problem with predictions chosen next to those of `fit`, if there are such."""
        problem = sharpened(search.problem, sharpness_for(search))
        rows = problem.rows.gathered()
        scores = rows.model.predicted(fit.x)
        mixed = _mixed(problem, small)
        spare, few = search.spare * mixed, _rows_of(rows, small)
        positive = cheapest_turned(problem, rows, scores, fit, search.runner, spare, few)
        return None if positive is None else _Held.of(problem, rows, positive, small)

    def _shifted(self, search: Search, held: _Held, x: np.ndarray) -> list[Candidate]:
        """Return the models that shifts lead to."""
        secant = Secant(held.shift(search, x))
        tried: list[Candidate] = []
        last: Result | None = None
        kept: np.ndarray | None = None
        broken: np.ndarray | None = None
        shift = secant.shift
        for _ in range(SHIFTS_EACH):
            found = search.solve(held.problem.shifted(held.spread(shift)), x, last, True)
            tried.append(found)
            if not found.result.success:
                break
            last, x = found.result, found.x
            if found.keeps_bounds:
                kept = shift
                if held.unused(found) <= LITTLE_GAIN:
                    break
            else:
                broken = shift
            secant.see(held.shift(search, x))
            shift = secant.shift if kept is None or broken is None else (kept + broken) / 2
        return tried


@dataclass(frozen=True)
class _Held:
    """The problem with the predictions of few rows held."""

    problem: LearningProblem
    sharp: LearningProblem  # the same without
    kept: np.ndarray  # (k,) the constraints of it that are left
    rows: int  # that are held

    @staticmethod
    def of(
        sharp: LearningProblem, rows: MemorySums, positive: np.ndarray, small: np.ndarray
    ) -> _Held:
        terms = held_predictions(Terms(rows.sums, sharp.combination), positive, SCORE_MARGIN, small)
        problem = LearningProblem.of(rows.model, terms, domain=sharp.domain, l2=sharp.l2)
        problem = problem.for_programs()  # each row that is held is a constraint
        place = {name: i for i, name in enumerate(sharp.names)}
        kept = [place[name] for name in terms.combination.names if name in place]
        return _Held(problem, sharp, np.array(kept, dtype=int), problem.n_constraints - len(kept))

    def spread(self, shift: np.ndarray) -> np.ndarray:
        """Return a shift of the constraints that are left as one of all; rows are not shifted."""
        return np.concatenate((shift, np.zeros(self.rows)))

    def shift(self, search: Search, x: np.ndarray) -> np.ndarray:
        """Return counted minus smooth values, plus half of what may be left of a bound."""
        counted = search.problem.thresholded(x)[1:][self.kept]
        smooth = self.problem.values_of(self.problem.rows.at(x).values)[1 : 1 + self.kept.size]
        return counted - smooth + 0.5 * search.spare[self.kept]

    def unused(self, fit: Candidate) -> float:
        """Return what using up the bounds would gain; see `Candidate.unused`."""
        prices = fit.result.multipliers[: self.kept.size]
        spare = float(prices @ np.maximum(-fit.counted[self.kept], 0.0))
        return spare / max(abs(fit.objective), 1e-300)

    def finished(self, search: Search, tried: list[Candidate]) -> Candidate | None:
        """Return the best model solved to the end, with what it can claim; None if it breaks a bound."""
        kept = [fit for fit in tried if fit.keeps_bounds and search.is_useful(fit)]
        for fit in sorted(kept, key=lambda fit: fit.objective):
            end = search.solve(fit.problem, fit.x, fit.result, False)
            if end.certified:
                claim = ROWS_HELD.format(rows=self.rows, margin=SCORE_MARGIN)
                verdict = Verdict(Status.CONVERGED, near=end.result.near, claim=claim)
                return replace(end, result=end.result.judged(verdict))
        return None


def _small(search: Search) -> np.ndarray:
    """Return the places of the rates over few rows; none where they cannot be held.

    Nor on small data, where all predictions can be fixed in the end, which leads to more accurate models.
    """
    problem = search.problem
    rows, combination = problem.rows, problem.combination
    linear = all(place == 0 for place, _ in combination.bent)
    if (
        is_large(problem)
        or can_fix(problem, search.allowed)
        or not (linear and rows.additive and problem.facts.smooth)
    ):
        return np.empty(0, dtype=int)
    counted = combination.coefficients[1:][search.allowed <= COUNTED]
    free = combination.coefficients[[0]].indices
    used = np.setdiff1d(np.unique(counted.indices), free)
    small = used[rows.largest[used] > LARGE_STEP]
    if used.size < MANY_RATES:
        return np.empty(0, dtype=int)
    most = min(MOST_HELD, MOST_HELD_SHARE * rows.n_rows)
    if small.size and np.count_nonzero(_rows_of(rows.gathered(), small)) > most:
        return np.empty(0, dtype=int)
    return small


def _rows_of(rows: MemorySums, small: np.ndarray) -> np.ndarray:
    """Return which rows (n,) some of the rates are over."""
    changes = rows.sums.turned(np.zeros(rows.n_rows, dtype=bool))[small]
    return np.asarray(abs(changes).sum(axis=0)).ravel() > 0


def _mixed(problem: LearningProblem, small: np.ndarray) -> np.ndarray:
    """Return 1 for constraints that a rate over many rows is in, else 0."""
    matrix = abs(problem.combination.coefficients[1:])
    many = np.ones(matrix.shape[1])
    many[small] = 0.0
    return (matrix @ many > 0).astype(float)
