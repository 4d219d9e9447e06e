"""Keeping the promise: bounds that hold on thresholded rates, not only on smooth ones.

Training sees smooth rates (sigmoids); the user counts predictions. The difference of the two at the
current model is added to the smooth constraints as a shift, and the problem solved again from there:
at a fixed point the shifted smooth rates are the counted ones. Sharper sigmoids differ less, and are
used where the plain ones do not settle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.constraints import Binding, Row
from equipoise.problems.learning import LearningProblem
from equipoise.run import Result
from equipoise.status import Status

SHARPNESS = (1.0, 3.0, 6.0, 12.0)
ROUNDS = 5  # of shifting, at each sharpness
CLOSE = 2e-3  # a bound met with less than this to spare is used up
COUNTED = 1e-12  # what rounding may add to a counted rate

Run = Callable[[LearningProblem, np.ndarray], Result]


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
    rounds : int
        How many problems were solved.
    """

    result: Result
    problem: LearningProblem
    objective: float
    true: np.ndarray
    smooth: np.ndarray
    allowed: np.ndarray
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


def allowances(binding: Binding, tol: float) -> np.ndarray:
    """Return how far above 0 the true value of each row may be; see `Kept.allowed`."""

    def counted(row: Row) -> bool:
        return row.expression is not None and any(r.kind != "loss" for _, r in row.expression.parts)

    return np.array([COUNTED if counted(row) else max(1e-6, tol) for row in binding.rows])


def linear_scores(X: Any, coef: np.ndarray, intercept: Any) -> np.ndarray:
    """Return the scores that predictions are made from, in the precision of `X`."""
    scores = np.asarray(X @ coef.T.astype(X.dtype, copy=False)) + intercept
    return scores.ravel() if len(coef) == 1 else scores


def prediction_scores(model: Any, x: np.ndarray) -> np.ndarray:
    """Return the scores of the training rows as `decision_function` will give them.

    The model's own centre and scale inside the product, so its scores round differently, and a
    row whose score is nearly 0 would be counted on the wrong side.
    """
    coef, intercept = model.coefficients(x)
    return linear_scores(model.features.A, np.atleast_2d(coef), intercept)


def measure(
    problem: LearningProblem,
    result: Result,
    allowed: np.ndarray,
    solved: LearningProblem | None = None,
    rounds: int = 1,
) -> Kept:
    """Count what became of the bounds of `problem` at a result, of `solved` if of another problem."""
    values = problem.at(result.x).values
    true = problem.terms.hard(prediction_scores(problem.model, result.x))[1:]
    return Kept(result, solved or problem, float(values[0]), true, values[1:], allowed, rounds)


def keep(problem: LearningProblem, x0: np.ndarray, run: Run, allowed: np.ndarray) -> Kept:
    """Fit so that the bounds hold on counted rates, at little loss.

    1. solve the smooth problem; stop if the bounds hold by counting and are used up
    2. for each sharpness, a few times: shift <- counted - smooth at the current model (damped);
       solve again, from the current model
    3. of all models whose counted rates meet the bounds, return the one with the least objective;
       if there is none, the one with the least violation

    Parameters
    ----------
    problem : LearningProblem
    x0 : array of shape (dim,)
    run : callable
        Solves a problem from a starting point.
    allowed : array of shape (m,)
        See `Kept`.
    """
    best = latest = measure(problem, run(problem, x0), allowed)  # 1
    if _settled(latest):
        return best
    rounds = 1
    for sharpness in SHARPNESS:  # 2
        sharp = problem.with_terms(problem.terms.with_(sharpness=sharpness))
        x, shift = latest.result.x, None
        for attempt in range(ROUNDS):
            gap = _gap(sharp, x)
            shift = gap if shift is None else 0.5 * (shift + gap)
            if attempt == ROUNDS - 1 and not best.kept:
                shift = shift + 1.5 * latest.violation  # rather too tight than broken
            shifted = sharp.with_terms(sharp.terms.with_(shift=shift))
            result = run(shifted, x)
            rounds += 1
            latest = measure(problem, result, allowed, shifted, rounds)
            best = _better(best, latest)  # 3
            if _settled(latest):
                return replace(best, rounds=rounds)
            if result.status is Status.INFEASIBLE:
                break
            x = result.x
        if best.kept and best.result.success:
            break
        latest = best
    return replace(best, rounds=rounds)


def _gap(problem: LearningProblem, x: np.ndarray) -> np.ndarray:
    """Counted minus smooth constraint values."""
    plain = problem.terms.with_(shift=np.zeros(problem.n_constraints))
    smooth = plain.at(problem.model.scores(x)).values[1:]
    return problem.terms.hard(prediction_scores(problem.model, x))[1:] - smooth


def _settled(fit: Kept) -> bool:
    """Whether the bounds hold by counting, and loosening the smooth ones would gain little."""
    if not (fit.kept and fit.result.success):
        return False
    binding = fit.result.multipliers > 1e-9
    return bool(not binding.any() or fit.true[binding].max() >= -CLOSE)


def _better(one: Kept, two: Kept) -> Kept:
    """Kept bounds first, then a certified point, then the objective."""

    def rank(fit: Kept) -> tuple[bool, bool, float]:
        return not fit.kept, not fit.result.success, fit.objective if fit.kept else fit.violation

    return two if rank(two) < rank(one) else one
