"""Training a linear classifier of two classes: bind the rules, solve, search for counted bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._status import Status
from equipoise.constraints import Binding, bind_table
from equipoise.estimators._counted import (
    Candidate,
    Unconstrained,
    allowances,
    ended_early,
    fit_counted,
    measure,
)
from equipoise.estimators._runner import Runner
from equipoise.models import LinearUnits
from equipoise.problems import LearningProblem
from equipoise.rows import RowSums, Table, column_scales
from equipoise.run import Result
from equipoise.sets import L2Ball

ALMOST = 1e-6  # a smooth bound counts as kept within this, as in `allowances`


@dataclass(frozen=True)
class Task:
    """What a fit is asked for, as data.

    Attributes
    ----------
    owner : str
        The estimator, for messages.
    constraints, objective, loss, C, class_weight, true_metric, min_cell, small_cells, fit_intercept :
        As in `ConstrainedClassifier`.
    radius : float or None
        Keep the weights in a ball of this radius, on the data as given, without intercept and penalty.
    costs : pair of float or None
        What a wrong prediction of each class costs, where `objective` stands for it.
    only_compare : bool
        The model without constraints is compared with, but not started from: it minimises something
        else.
    plain_objective : expression of rates, optional
        What the model without constraints minimises; by default the mean loss.
    undefined : {"raise", "skip"}
        What becomes of rules that speak of groups or classes with few rows; see `bind_table`.
    repair : bool
        Whether the fit ends with a search for predictions that keep the bounds where shifting them
        found none, which can take long.
    score : expression of rates, optional
        What the report shows of a model instead of its accuracy, such as the AUC.
    """

    owner: str
    constraints: Any = ()
    objective: Any = None
    loss: str = "logistic"
    C: float = 1.0
    class_weight: Any = None
    true_metric: bool = True
    min_cell: int = 10
    small_cells: str = "raise"
    fit_intercept: bool = True
    radius: float | None = None
    costs: tuple[float, float] | None = None
    only_compare: bool = False
    plain_objective: Any = None
    score: Any = None
    undefined: str = "raise"
    repair: bool = True

    @property
    def is_likelihood(self) -> bool:
        """Whether the logistic function of the score is meant as a probability.

        Where the mean logistic loss is minimised, and bounds, if there are any, are on these
        probabilities.
        """
        asked = self.constraints if isinstance(self.constraints, list | tuple) else True
        counted = bool(asked) and self.true_metric
        special = self.objective is not None or self.class_weight or self.radius is not None
        return self.loss == "logistic" and not counted and not special


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
        self.table = class_weighted(task, table)
        free = task.radius is None
        scales = column_scales(task.owner, table) if free else (None, None)
        self.units = LinearUnits(table.n_columns, task.fit_intercept and free, *scales)
        self._rows: RowSums | None = None  # the sums of the binding below, whose model all share
        self._bound: Binding | None = None
        if previous is not None and previous.coef.shape != (1, table.n_columns):
            self.previous = None

    def bind_and_compare(self) -> tuple[Binding, Unconstrained]:
        """Bind the constraints, and fit without them: the model to compare with, and to start from."""
        given = self.task.constraints
        listed = given if isinstance(given, list | tuple) else (given,)
        budget = any("best_loss" in getattr(rule, "needs", ()) for rule in listed)
        # bound before the work, so that errors come early
        binding = None if budget else self.bind()
        if binding is not None:
            self._rows_of(binding)  # these are needed longest; the model's own are let go of
        bound = binding is None or binding.inequalities
        compared = bound or self.task.objective is not self.task.plain_objective
        unconstrained = self.fit_unconstrained(rough=bool(compared) and not budget)
        if budget and self.runner.budget.wish is Status.INTERRUPTED:
            raise KeyboardInterrupt  # the loss that the bound refers to is not known
        return binding or self.bind(unconstrained.loss), unconstrained

    def bind(self, best_loss: float | None = None) -> Binding:
        """Bind the constraints to the rows."""
        task = self.task
        return bind_table(
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
    ) -> Candidate:
        """Solve under the constraints; on counted rates if the task asks for it.

        `similar` is a fit under nearly the same constraints, to continue from.
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
        if not _is_finite(problem, binding, start):
            start, last, known = np.zeros(problem.dim), None, None
            _require_finite(problem, binding, task.owner)
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
            )
        runner.budget.enter("solving")
        fit = measure(problem, runner.solve(problem, start, last), allowed)
        if runner.budget.wish is Status.INTERRUPTED and fit.result.maxcv > max(ALMOST, runner.tol):
            raise KeyboardInterrupt  # there is no model to keep
        return fit

    def score(self, x: np.ndarray) -> float:
        """Return the task's score of a model, counted on the rows."""
        assert self._rows is not None
        return score_on(self.task, self.table, self._rows, x)

    def _class_factors(self) -> np.ndarray | None:
        """Return what wrong predictions of each class cost, where the objective stands for errors."""
        task = self.task
        if task.costs is not None or task.objective is not None:
            return None if task.costs is None else np.array(task.costs)
        if not task.class_weight:
            return np.ones(2)
        weights = _class_weights(task, self.table)
        return np.array([weights[label] for label in self.table.classes])

    def _rows_of(self, binding: Binding) -> RowSums:
        """Return the sums over rows of a binding; all share one model of the rows."""
        if self._rows is None:
            self._rows, self._bound = self.table.row_sums(self.units, binding.specs), binding
        return self._rows if binding is self._bound else self._rows.summing(binding.specs)

    def _previous_x(self) -> np.ndarray:
        assert self.previous is not None
        return self.units.parameters(self.previous.coef, self.previous.intercept)


def score_on(task: Task, table: Table, rows: RowSums, x: np.ndarray) -> float:
    """Return the task's score of a model, counted on the rows of any table."""
    binding = bind_table(task.score >= 0.0, table, owner=task.owner)
    counted = rows.summing(binding.specs).thresholded(x)
    values = binding.combination.plain_values(counted)[1:]
    return float(binding.measured(values, lambda: counted)[0])


def class_weighted(task: Task, table: Any) -> Any:
    """Return the table with the task's class weights in the objective."""
    return table.class_weighted(_class_weights(task, table)) if task.class_weight else table


def _class_weights(task: Task, table: Table) -> Mapping[Any, float]:
    """Return the weight of every class in the loss, as scikit-learn computes it."""
    counts, given = table.class_counts(), task.class_weight
    if given == "balanced":
        return dict(zip(table.classes, (table.n_rows / (len(counts) * counts)).tolist()))
    unknown = [label for label in given if label not in table.classes]
    if unknown:
        reason = f"`class_weight` names {unknown[0]!r}; the classes are {list(table.classes)}."
        raise _check.InputError(task.owner, reason, "class_weight")
    weights = {label: given.get(label, 1.0) for label in table.classes}
    values = np.array(list(weights.values()), dtype=object)
    numbers = all(isinstance(value, int | float | np.number) for value in values)
    if not numbers or not all(np.isfinite(v) and v >= 0 for v in values) or not any(values):
        reason = f"`class_weight` must hold numbers >= 0, got {given!r}."
        raise _check.InputError(task.owner, reason, "class_weight")
    return {label: float(value) for label, value in weights.items()}


def _is_finite(problem: LearningProblem, binding: Binding, x: np.ndarray) -> bool:
    """Whether users' functions and their slopes are finite at `x`; rates always are."""
    return _culprit(problem, binding, x) is None


def _require_finite(problem: LearningProblem, binding: Binding, owner: str) -> None:
    """Raise unless users' functions are finite where all scores are 0."""
    found = _culprit(problem, binding, np.zeros(problem.dim))
    if found is not None:
        reason = (
            f"the constraint {found[0]!r} {found[1]}, at the model without constraints and where "
            "all scores are 0; training must start where it is finite."
        )
        raise _check.InputError(owner, reason, "constraints")


def _culprit(problem: LearningProblem, binding: Binding, x: np.ndarray) -> tuple[str, str] | None:
    """Return the first user's function that is not finite at `x`, and what it is."""
    calls = [i for i, row in enumerate(binding.inequalities) if row.expression is None]
    if not calls:
        return None
    point = problem.at(x)
    for i in calls:
        value, name = point.constraints[i], binding.inequalities[i].name
        if not np.isfinite(value):
            return name, f"is {value}"
        if not np.isfinite(point.gradient(1 + i)).all():
            return name, "has a slope that is not finite"
    return None
