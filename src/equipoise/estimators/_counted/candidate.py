"""Candidates: fitted models, and what became of their bounds when predictions are counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._status import Status
from equipoise.constraints import Binding
from equipoise.estimators._runner import reachable_residual
from equipoise.problems import LearningProblem
from equipoise.rows import Confusion
from equipoise.run import Result

# What rounding errors may add to a counted rate, which is a sum of as many weights as rows. Chosen.
COUNTED = 1e-12

# Rows x parameters beyond which rows are not brought to one place, nor a matrix of their scores made. Chosen.
MOST_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Candidate:
    """A fitted model, and what became of its bounds.

    Attributes
    ----------
    result : Result
        Of the last problem solved for this model; its certificate describes `result.x`.
    problem : LearningProblem
        That problem: shifted, possibly with sharper sigmoids.
    plain : LearningProblem
        The one with plain sigmoids and without a shift.
    objective : float
        The training objective of the plain problem; where nothing has a threshold, by counting and
        without the penalty: smooth AUCs grow with the scores, and could not be compared.
    counted : ndarray of shape (m,)
        The constraint values by counting predictions; at most 0 where the bounds hold.
    allowed : ndarray of shape (m,)
        How far above 0 a counted value still holds: rounding for counted rates, the solver's
        tolerance for losses and callables, which are not counted.
    prices : ndarray of shape (m,)
        The multipliers of the bounds; NaN where the problem solved last has other constraints.
    problems_solved : int
        On the way to this model.
    seen : ndarray of shape (m,) or None
        `smooth`, where it was computed beside the objective.
    """

    result: Result
    problem: LearningProblem
    plain: LearningProblem
    objective: float
    counted: np.ndarray
    allowed: np.ndarray
    prices: np.ndarray
    problems_solved: int = 1
    seen: np.ndarray | None = None

    @property
    def smooth(self) -> np.ndarray:
        """The constraint values (m,) of the plain sigmoids."""
        return self.plain.at(self.x).values[1:] if self.seen is None else self.seen

    @property
    def x(self) -> np.ndarray:
        """The parameters."""
        return self.result.x

    @property
    def holds(self) -> np.ndarray:
        """Which bounds hold by counting."""
        return self.counted <= self.allowed

    @property
    def violation(self) -> float:
        """The largest violation by counting."""
        return float(np.where(self.holds, 0.0, self.counted).max(initial=0.0))

    @property
    def keeps_bounds(self) -> bool:
        """Whether every bound holds by counting."""
        return bool(self.holds.all())

    @property
    def certified(self) -> bool:
        """Whether every bound holds, and the point is optimal for the problem solved last."""
        converged = self.result.status is Status.CONVERGED and self.result.success
        return self.keeps_bounds and converged

    @property
    def unused(self) -> float:
        """What using up the bounds would gain, to first order and relative to the objective."""
        spare = float(self.prices @ np.maximum(-self.counted, 0.0))
        return spare / max(abs(self.objective), 1e-300)

    def rank(self) -> tuple[bool, bool, float]:
        """Return a key for sorting: kept bounds first, then a certified point, then the objective."""
        value = self.objective if self.keeps_bounds else self.violation
        return not self.keeps_bounds, not self.certified, value


@dataclass(frozen=True)
class Unconstrained:
    """The model without constraints: to compare with, and to start from."""

    result: Result
    loss: float  # without the penalty
    spread: float  # the standard deviation of its scores
    counts: Confusion | None  # of its predictions; None where they are not to be compared
    is_constant: bool  # whether it predicts the same of all rows

    @classmethod
    def of(cls, problem: LearningProblem, result: Result) -> Unconstrained:
        """Measure the solution of the problem without constraints."""
        rows, x = problem.rows, result.x
        loss = float(problem.values_of(rows.at(x).values)[0])
        return cls(result, loss, rows.spread(x), rows.confusion(x), rows.is_constant(x))

    @property
    def x(self) -> np.ndarray:
        """Its parameters."""
        return self.result.x


def measure(
    problem: LearningProblem,
    result: Result,
    allowed: np.ndarray,
    solved: LearningProblem | None = None,
) -> Candidate:
    """Count what became of the bounds of `problem` at a result, of `solved` if of another problem."""
    solved = solved or problem
    prices = np.full(problem.n_constraints, np.nan)
    if solved.names == problem.names and result.multipliers.size == prices.size:
        prices = result.multipliers
    counted = problem.thresholded(result.x)
    values = problem.at(result.x).values if problem.rows.uses_threshold else None
    return Candidate(
        result,
        solved,
        problem,
        objective=float((counted if values is None else values)[0]),
        counted=counted[1:],
        allowed=allowed,
        prices=prices,
        seen=None if values is None else values[1:],
    )


def counted_at(problem: LearningProblem, x: np.ndarray) -> np.ndarray:
    """Return the constraint values (m,) by counting predictions."""
    return problem.thresholded(x)[1:]


def counted_minus_smooth(
    problem: LearningProblem, x: np.ndarray, counted: np.ndarray | None = None
) -> np.ndarray:
    """Return by how much counted constraint values exceed smooth ones, whatever the problem's shift."""
    smooth = problem.values_of(problem.rows.at(x).values)[1:]
    return (counted_at(problem, x) if counted is None else counted) - smooth


def allowances(binding: Binding, rounding: float, tol: float) -> np.ndarray:
    """Return how far above 0 the counted value of each inequality may be; see `Candidate.allowed`."""
    smooth = max(1e-6, tol, reachable_residual(rounding))
    return np.array([COUNTED if row.counted else smooth for row in binding.inequalities])


def is_large(problem: LearningProblem) -> bool:
    """Whether rows are so many that nothing is computed of all of them in one place."""
    return problem.rows.n_rows * problem.dim > MOST_ENTRIES


def largest_steps(problem: LearningProblem) -> np.ndarray:
    """Return the most that one row's prediction adds to each counted value (m,); 0 if not known."""
    return problem.combination.largest_changes(problem.rows.largest)[1:]
