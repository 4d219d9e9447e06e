"""Counting predictions: what became of the bounds of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.constraints import Binding, Row
from equipoise.models.linear import LinearModel, linear_scores
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result
from equipoise.status import Status
from equipoise.terms import RateTerms

COUNTED = 1e-12  # what rounding may add to a counted rate


@dataclass(frozen=True)
class Kept:
    """A fitted model and what it promises.

    Attributes
    ----------
    result : Result
        Of the last problem solved for this model; its certificate describes `result.x`.
    problem : LearningProblem
        That problem: the shifted, possibly sharpened, smooth one.
    objective : float
        The training objective, of the plain problem.
    true : ndarray of shape (m,)
        The constraint values by counting predictions; at most 0 where the bounds hold.
    smooth : ndarray of shape (m,)
        The constraint values of the plain sigmoids.
    allowed : ndarray of shape (m,)
        How far above 0 a true value still holds: rounding for counted rates, the solver's
        tolerance for losses and callables, which are not counted.
    prices : ndarray of shape (m,)
        The multipliers of the bounds; NaN where the problem solved last has other constraints.
    rounds : int
        How many problems were solved.
    """

    result: Result
    problem: LearningProblem
    objective: float
    true: np.ndarray
    smooth: np.ndarray
    allowed: np.ndarray
    prices: np.ndarray
    rounds: int = 1

    @property
    def holds(self) -> np.ndarray:
        """Which bounds hold by counting."""
        return self.true <= self.allowed

    @property
    def violation(self) -> float:
        """The largest violation by counting."""
        return float(np.where(self.holds, 0.0, self.true).max(initial=0.0))

    @property
    def kept(self) -> bool:
        """Whether every bound holds by counting."""
        return bool(self.holds.all())

    @property
    def certified(self) -> bool:
        """Whether every bound holds, and the point is optimal for the problem solved last."""
        return self.kept and self.result.success and self.result.status is Status.CONVERGED

    def rank(self) -> tuple[bool, bool, float]:
        """Return a key for sorting: kept bounds first, then a certified point, then the objective."""
        value = self.objective if self.kept else self.violation
        return not self.kept, not self.certified, value


@dataclass(frozen=True)
class Plain:
    """The model without constraints: to compare with, and to start from."""

    result: Result
    loss: float  # without the penalty
    spread: float  # the standard deviation of its scores

    @property
    def x(self) -> np.ndarray:
        """Its parameters."""
        return self.result.x


def reachable(rounding: float) -> float:
    """Return the least residual worth aiming for: with float32 features, about 1e-4."""
    return 1e3 * rounding


def allowances(binding: Binding, rounding: float, tol: float) -> np.ndarray:
    """Return how far above 0 the true value of each row may be; see `Kept.allowed`."""
    smooth = max(1e-6, tol, reachable(rounding))

    def counted(row: Row) -> bool:
        return row.expression is not None and any(r.kind != "loss" for _, r in row.expression.parts)

    return np.array([COUNTED if counted(row) else smooth for row in binding.rows])


def prediction_scores(model: Any, x: np.ndarray) -> np.ndarray:
    """Return the scores of the training rows as `decision_function` will give them.

    The model's own centre and scale inside the product, so its scores round differently, and a
    row whose score is nearly 0 would be counted on the wrong side.
    """
    if isinstance(model, LinearModel):
        return model.raw_scores(x)
    coef, intercept = model.coefficients(x)
    return linear_scores(model.features.A, coef, intercept)


def measure(
    problem: LearningProblem,
    result: Result,
    allowed: np.ndarray,
    solved: LearningProblem | None = None,
    rounds: int = 1,
) -> Kept:
    """Count what became of the bounds of `problem` at a result, of `solved` if of another problem."""
    values = problem.at(result.x).values
    true = counted_at(problem, result.x)
    solved = solved or problem
    prices = np.full(true.size, np.nan)
    if solved.names == problem.names:
        prices = result.multipliers
    return Kept(result, solved, float(values[0]), true, values[1:], allowed, prices, rounds)


def counted_at(problem: LearningProblem, x: np.ndarray) -> np.ndarray:
    """Return the constraint values by counting predictions."""
    return problem.terms.hard(prediction_scores(problem.model, x))[1:]


def gap_at(problem: LearningProblem, x: np.ndarray, true: np.ndarray | None = None) -> np.ndarray:
    """Counted minus smooth constraint values; `true`: the counted ones, where they are known."""
    plain = problem.terms.with_(shift=np.zeros(problem.n_constraints))
    smooth = plain.at(problem.model.scores(x)).values[1:]
    if true is None:
        true = counted_at(problem, x)
    return true - smooth


def grain(problem: LearningProblem) -> np.ndarray:
    """Return the most that one row adds to each counted value by one rate; 0 if not known."""
    terms = problem.terms
    if not isinstance(terms, RateTerms):
        return np.zeros(problem.n_constraints)
    largest = np.concatenate([channel.weights.largest for channel in terms.channels])
    shares = abs(terms.coefficients[1:]) @ sparse.diags_array(largest)
    return shares.max(axis=1).toarray().ravel()


def used_rows(problem: LearningProblem) -> Any:
    """Return an index of the rows that the problem's functions depend on."""
    return problem.terms.used if isinstance(problem.terms, RateTerms) else slice(None)


def is_constant(problem: LearningProblem, x: np.ndarray) -> bool:
    """Whether the model predicts the same of all rows."""
    positive = prediction_scores(problem.model, x) > 0
    if not 0 < np.count_nonzero(positive) < positive.size:
        return True
    positive = positive[used_rows(problem)]
    return bool(positive.all() or not positive.any())
