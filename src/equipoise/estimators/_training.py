"""Training a linear classifier of two classes: bind the rules, solve, search for counted bounds."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise._status import Status
from equipoise.constraints import Binding, bind_table
from equipoise.constraints._rules import needing
from equipoise.estimators._counted import (
    Candidate,
    Unconstrained,
    allowances,
    ended_early,
    fit_counted,
    measure,
)
from equipoise.estimators._rule_checks import is_finite, require_finite, require_ranks
from equipoise.estimators._runner import Runner
from equipoise.estimators._task import Task
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem
from equipoise.rows import RowSums, Table, column_scales
from equipoise.run import Result
from equipoise.sets import L2Ball

KEPT_WITHIN = 1e-6  # a smooth bound counts as kept within this, as in `allowances`


@dataclass(frozen=True)
class Previous:
    """An earlier model of the same kind, to start from."""

    coef: np.ndarray
    intercept: np.ndarray
    result: Result | None


class Training:
    """One task on the rows of one table.

    Parameters
    ----------
    task : Task
    table : Table
    runner : Runner
    previous : Previous, optional
        Where to start; by default from the model without constraints.
    """

    def __init__(
        self, task: Task, table: Table, runner: Runner, previous: Previous | None = None
    ) -> None:
        self.task, self.runner, self.previous = task, runner, previous
        table = table.ordered()
        self.table = task.weighted(table)
        free = task.radius is None
        scales = column_scales(task.owner, table) if free else (None, None)
        self.units = LinearUnits(table.n_columns, task.fit_intercept and free, *scales)
        self._rows: RowSums | None = None  # the sums of the binding below, whose model all share
        self._bound: Binding | None = None
        self._scorer: Callable[[np.ndarray], float] | None = None
        if previous is not None and previous.coef.shape != (1, table.n_columns):
            self.previous = None

    def changed(self, **change: Any) -> Training:
        """Return the training of a changed task on the same rows, in the same units."""
        other = copy(self)
        other.task = replace(self.task, **change)
        if "class_weight" in change:
            other.table, other._rows = other.task.weighted(self.table), None
            other._scorer = None
        return other

    def bind_and_compare(self) -> BoundTraining:
        """Bind the constraints, and fit without them: the model to compare with, and to start from."""
        budget = bool(needing(self.task.constraints, "best_loss"))
        # bound before the work, so that errors come early
        binding = None if budget else self.bind()
        if binding is not None:
            self._rows_of(binding)  # these are needed longest; the model's own are let go of
        bound = binding is None or binding.inequalities
        compared = bound or self.task.objective is not self.task.plain_objective
        unconstrained = self.fit_unconstrained(rough=bool(compared) and not budget)
        if budget and self.runner.budget.wish is Status.INTERRUPTED:
            raise KeyboardInterrupt  # the loss that the bound refers to is not known
        binding = binding or self.bind(unconstrained.loss)
        return BoundTraining(self, binding, self.problem(binding), unconstrained)

    def bind(self, best_loss: float | None = None) -> Binding:
        """Bind the constraints to the rows."""
        task = self.task
        binding = bind_table(
            task.constraints,
            self.table,
            loss=task.loss,
            objective=task.objective,
            best_loss=best_loss,
            min_cell=task.min_cell,
            small_cells=task.small_cells,
            undefined=task.undefined,
            owner=task.owner,
        )
        if task.only_ranks:
            require_ranks(binding, task.owner)
        return binding

    def fit_unconstrained(self, rough: bool = True) -> Unconstrained:
        """Fit without constraints."""
        task = self.task
        free = bind_table(
            (), self.table, loss=task.loss, objective=task.plain_objective, owner=task.owner
        )
        problem = self.problem(free)
        start = np.zeros(problem.dim) if self.previous is None else self._previous_x()
        self.runner.budget.enter("without constraints")
        result = self.runner.solve(problem, start, rough=rough)
        return Unconstrained.of(problem, replace(result, state=None))  # the state is large

    def problem(self, binding: Binding) -> LearningProblem:
        """Return the training problem, with the penalty of scikit-learn's `C`."""
        rows = self._rows_of(binding)
        if self.task.radius is not None:
            return LearningProblem(rows, binding.combination, domain=L2Ball(self.task.radius))
        l2 = 1.0 / (self.task.C * self.table.total())
        return LearningProblem(rows, binding.combination, l2=l2)

    def fit(
        self,
        problem: LearningProblem,
        binding: Binding,
        unconstrained: Unconstrained,
        similar: Candidate | None = None,
        rough: bool = False,
    ) -> Candidate:
        """Solve under the constraints; on counted rates if the task asks for it.

        `similar` is a fit under nearly the same constraints, to continue from; `rough` where it is not so
        near that every problem on the way should be solved to the end.
        """
        task, runner = self.task, self.runner
        allowed = allowances(binding, problem.facts.rounding, runner.tol)
        if not binding.inequalities and task.objective is task.plain_objective:
            return measure(problem, unconstrained.result, allowed)
        if (wish := runner.budget.wish) is not None:
            return ended_early([measure(problem, unconstrained.result, allowed)], wish)
        start, last = unconstrained.x, None
        known = None if task.only_compare else unconstrained
        if similar is not None:
            start, last = similar.x, similar.result
        elif self.previous is not None:
            start, last = self._previous_x(), self.previous.result
        if not is_finite(problem, binding, start):
            start, last, known = np.zeros(problem.dim), None, None
            require_finite(problem, binding, task.owner)
        if task.true_metric:
            return fit_counted(
                problem,
                start,
                runner,
                allowed,
                unconstrained=known,
                previous=last,
                class_factors=self._class_factors(),
                asks_errors=task.costs is not None,
                repair=task.repair,
                rough=rough,
            )
        runner.budget.enter("solving")
        fit = measure(problem, runner.solve(problem, start, last), allowed)
        if runner.budget.wish is Status.INTERRUPTED and fit.result.maxcv > max(
            KEPT_WITHIN, runner.tol
        ):
            raise KeyboardInterrupt  # there is no model to keep
        return fit

    def score(self, x: np.ndarray) -> float:
        """Return the task's score of a model, counted on the rows."""
        if self._scorer is None:
            assert self._rows is not None
            self._scorer = self.task.scorer(self.table, self._rows)
        return self._scorer(x)

    def _class_factors(self) -> np.ndarray | None:
        """Return what wrong predictions of each class cost, where the objective stands for errors."""
        task = self.task
        if task.costs is not None or task.objective is not None:
            return None if task.costs is None else np.array(task.costs)
        if not task.class_weight:
            return np.ones(2)
        weights = task.class_weights(self.table)
        return np.array([weights[label] for label in self.table.classes])

    def _rows_of(self, binding: Binding) -> RowSums:
        """Return the sums over rows of a binding; all share one model of the rows."""
        if self._rows is None:
            self._rows, self._bound = self.table.row_sums(self.units, binding.specs), binding
        return self._rows if binding is self._bound else self._rows.summing(binding.specs)

    def _previous_x(self) -> np.ndarray:
        assert self.previous is not None
        return self.units.parameters(self.previous.coef, self.previous.intercept)


@dataclass(frozen=True, eq=False)
class BoundTraining:
    """A training with its rules bound to the rows, and with the model without constraints.

    Attributes
    ----------
    training : Training
    binding : Binding
    problem : LearningProblem
        Under the bounds that were asked for.
    unconstrained : Unconstrained
    """

    training: Training
    binding: Binding
    problem: LearningProblem
    unconstrained: Unconstrained

    @property
    def allowed(self) -> np.ndarray:
        """By how much each bound that was asked for may be passed; see `allowances`."""
        rounding = self.problem.facts.rounding
        return allowances(self.binding, rounding, self.training.runner.tol)

    def fit(
        self, problem: LearningProblem | None = None, similar: Candidate | None = None
    ) -> Candidate:
        """Solve under the bounds that were asked for, or a problem with stricter ones."""
        problem = self.problem if problem is None else problem
        return self.training.fit(problem, self.binding, self.unconstrained, similar)

    def measured(self, fit: Candidate) -> Candidate:
        """Return the model of a problem with stricter bounds, measured by those that were asked for."""
        own = measure(self.problem, fit.result, self.allowed, fit.problem)
        return replace(own, prices=fit.prices, problems_solved=fit.problems_solved)
