"""The search for a model whose bounds hold on counted rates, not only on smooth ones.

Training sees smooth rates (sigmoids); the user counts predictions. The difference of the two at the
current model is added to the smooth constraints as a shift, and the problem is solved again from
there: at a fixed point the shifted smooth rates are the counted ones. The search is made of stages,
each an object, which share one budget.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import (
    Candidate,
    Unconstrained,
    counted_at,
    largest_steps,
    measure,
)
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.rows import Confusion
from equipoise.run import Result

# A bound counts as used up where a model has at most this to spare: six rows' worth, but not less
# than the first number (no need for more) and not more than the second. Of 2 to 10 rows, six gave the
# best accuracy at the same bounds on the data of `make peers`.
SPARE_ROWS = 6
SPARE_RANGE = 2e-3, 5e-3
# The same where nothing that is counted has a threshold: AUCs change by one pair of rows at a time, and can
# be met closely. Chosen.
SPARE_OF_AUCS = 3e-4

# Bounds that are not used up leave something to gain in the objective. A model is good enough where that
# is at most the first number and some bound is used up, or at most the second number. Chosen.
LITTLE_GAIN, NEGLIGIBLE_GAIN = 0.01, 0.003

# A bound on AUCs that is broken by more than this many times `SPARE_OF_AUCS` is not broken because of smooth
# steps, and no shift will mend it. Chosen: where one AUC was trained for alone on 60 to 500 rows, sharper
# steps and smaller penalties gained 4 at the most.
HOPELESS = 10.0

# The most steps for a problem that is only on the way, and solved roughly. Those that lead somewhere took
# up to 72 (Neyman-Pearson, 5,000 rows, 2 % positives, bounds from 0 to .01); the others hundreds, for
# nothing.
MOST_ROUGH_STEPS = 150


class BudgetSpentError(Exception):
    """The budget wishes that the search ends."""


@dataclass
class Search:
    """What the stages of a search share.

    Attributes
    ----------
    problem : LearningProblem
        With plain sigmoids and without a shift.
    start : ndarray of shape (dim,)
    runner : Runner
    allowed : ndarray of shape (m,)
        See `Candidate`.
    unconstrained : Unconstrained or None
        Without it, sigmoids are plain at first and not shifted.
    previous : Result or None
        Of nearly the same problem, at `start`: then nothing is solved roughly.
    class_factors : ndarray of shape (2,)
        What multiplies the weights of the rows of each class where wrong predictions are counted.
    judges_errors : bool
        Whether fewer wrong predictions are what the objective stands for.
    asks_errors : bool
        Whether they are what was asked for, so that one row less is worth another model.
    tried : list of Candidate
        All models so far, in their order, but for those of stages that keep theirs to themselves.
    problems_solved : int
        By all stages.
    rough : bool
        Whether problems on the way are solved roughly: not any more once an exact solution has broken bounds
        that the rough one kept.
    """

    problem: LearningProblem
    start: np.ndarray
    runner: Runner
    allowed: np.ndarray
    unconstrained: Unconstrained | None = None
    previous: Result | None = None
    class_factors: np.ndarray = field(default_factory=lambda: np.ones(2))
    judges_errors: bool = True
    asks_errors: bool = False
    tried: list[Candidate] = field(default_factory=list)
    problems_solved: int = 0

    def __post_init__(self) -> None:
        steps = SPARE_ROWS * largest_steps(self.problem)
        least = SPARE_RANGE[0] if self.problem.rows.uses_threshold else SPARE_OF_AUCS
        self.spare = np.clip(steps, least, SPARE_RANGE[1])
        self.rough = self.previous is None

    @cached_property
    def counted_free(self) -> np.ndarray:
        """The constraint values (m,) of the model without constraints, by counting."""
        assert self.unconstrained is not None
        return counted_at(self.problem, self.unconstrained.x)

    def far(self, counted: np.ndarray) -> np.ndarray:
        """Return which bounds (m,) are broken by more than shifts mend; for bounds on AUCs alone."""
        return counted > HOPELESS * self.spare

    def error(self, x: np.ndarray) -> float:
        """Return the share of the weight that a model predicts wrongly."""
        return self._error(self.problem.rows.confusion(x))

    @property
    def least_error(self) -> float:
        """The error of the model without constraints; 0 where it is not known."""
        counts = None if self.unconstrained is None else self.unconstrained.counts
        return 0.0 if counts is None else self._error(counts)

    def constant_error(self, positive: bool) -> float:
        """Return the error of predicting one class of all rows."""
        counts = self.problem.rows.confusion(self.start)
        return self._error(replace(counts, positive=counts.weight * positive))

    def _error(self, counts: Confusion) -> float:
        wrong = counts.positive[0, 0], counts.weight[0, 1] - counts.positive[0, 1]
        return float(self.class_factors @ wrong / (self.class_factors @ counts.weight[0]))

    @property
    def best(self) -> Candidate:
        """The best model so far."""
        return min(self.tried, key=Candidate.rank)

    def solve(
        self,
        problem: LearningProblem,
        x: np.ndarray,
        previous: Result | None,
        rough: bool | float,
    ) -> Candidate:
        """Solve a shifted problem, count its answer, and remember it."""
        if self.tried:  # what a run learned of the Hessian helps the next one; it is large
            last = self.tried[-1]
            self.tried[-1] = replace(last, result=replace(last.result, state=None))
        most = MOST_ROUGH_STEPS if rough else None
        result = self.runner.solve(problem, x, previous, rough=rough, max_steps=most)
        found = measure(self.problem, result, self.allowed, problem)
        self.tried.append(found)
        self.problems_solved += 1
        self.check_budget()
        return found

    def check_budget(self) -> None:
        """Raise where the budget wishes that the search ends."""
        if self.runner.budget.wish is not None:
            raise BudgetSpentError

    def check_interrupt(self) -> None:
        """Raise after Ctrl-C; other wishes let the stage at work come to its end."""
        if self.runner.budget.wish is Status.INTERRUPTED:
            raise BudgetSpentError

    def has_ended(self, fit: Candidate) -> bool:
        """Whether the problem of a model was solved twice already: roughly, and to the end."""
        return any(other.problem is fit.problem and other.x is not fit.x for other in self.tried)

    def is_useful(self, fit: Candidate) -> bool:
        """Whether bounds hold not just because all predictions have become the same."""
        unconstrained = self.unconstrained
        allowed = unconstrained is not None and unconstrained.is_constant
        return allowed or not self.problem.rows.is_constant(fit.x)


class Stage(ABC):
    """One way to find a model that keeps its bounds; the next one is tried where it finds none."""

    name: ClassVar[str]

    @abstractmethod
    def run(self, search: Search) -> Candidate | None:
        """Return the model to keep, or None."""


def run_stages(
    search: Search,
    stages: tuple[Stage, ...],
    compared: Callable[[Search, Candidate], Candidate],
) -> Candidate | None:
    """Run one stage after the other until one of them finds a model; None where the budget ends first.

    `compared` returns the model found or a better one. The budget ends by time, Ctrl-C or the callback.
    """
    budget = search.runner.budget
    try:
        for stage in stages:
            budget.enter(stage.name)
            found = stage.run(search)
            if found is not None:
                found = compared(search, found)
                return replace(
                    found, problems_solved=max(search.problems_solved, found.problems_solved)
                )
            search.check_budget()
    except KeyboardInterrupt:
        budget.stop(Status.INTERRUPTED)
    except BudgetSpentError:
        pass
    return None
