"""What the linear classifiers share: running a solver, keeping its answer, predicting."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise import _check
from equipoise.estimators.counting import Kept, reachable
from equipoise.estimators.inputs import FLOATS, without
from equipoise.models.linear import linear_scores
from equipoise.problem import Problem
from equipoise.run import Result, solve
from equipoise.solvers import SOLVERS, Solver, choose
from equipoise.status import Status

ROUGH = 1e-4  # the residual to reach where a problem is only a step on the way


class LinearPredictor:
    """A mixin for estimators with `solver`, `tol`, `max_steps` and `random_state`."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    solver: str | Solver
    tol: float
    max_steps: int
    random_state: Any
    _margin = 1.0  # the share of `tol` that the solver aims for

    def _check_solver(self) -> None:
        if isinstance(self.solver, str):
            _check.choice(type(self).__name__, "solver", self.solver, ("auto", *SOLVERS))

    def _run(
        self,
        problem: Problem,
        x0: np.ndarray,
        near: Result | None = None,
        rough: bool = False,
        most: int | None = None,
    ) -> Result:
        """Solve a problem; `near` is the result of a similar one, whose multipliers help."""
        tol = max(self.tol, reachable(problem.facts.rounding), ROUGH if rough else 0.0)
        solver = choose(problem, self._margin * tol) if self.solver == "auto" else self.solver
        if near is not None and isinstance(solver, Solver):
            solver = solver.warm_started(near)
        seed = self.random_state or 0
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        steps = min(self.max_steps, most or self.max_steps)
        result = solve(problem, solver, x0, max_steps=steps, tol=tol, seed=int(seed), density=1)
        if rough or tol == self.tol:
            return result
        least = f"within {tol:.1g} (`tol` is less than rounding errors allow)"
        return replace(result, message=result.message.replace("within `tol`", least))

    def _store(self, model: Any, fit: Kept) -> None:
        coef, intercept = model.coefficients(fit.result.x)
        self.coef_ = np.atleast_2d(coef)
        self.intercept_ = np.atleast_1d(np.asarray(intercept, dtype=np.float64))
        self.result_ = replace(fit.result, state=None)  # large, and of no use any more
        self.certificate_ = fit.result.certificate
        self.status_, self.trace_ = fit.result.status, fit.result.trace
        self.n_iter_ = max(1, fit.result.nit)
        self.dtype_ = np.dtype(model.features.dtype)
        if self.status_ is Status.MAX_STEPS:
            message = (
                f"{type(self).__name__}: `max_steps` ({self.max_steps}) was used up; raise it."
            )
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n,) for two classes, positive for the second; (n, K) for K > 2."""
        check_is_fitted(self, "coef_")
        X = without(X, getattr(self, "sensitive_names_", ()))
        single = getattr(self, "dtype_", np.float32) == np.float32
        dtype = FLOATS if single else np.float64  # no less precise than the fit
        X = validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=False)
        return linear_scores(X, self.coef_, self.intercept_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels."""
        codes = codes_of(self.decision_function(X))
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities: the logistic function of the score, or its softmax."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return np.column_stack((expit(-scores), expit(scores)))


def codes_of(scores: np.ndarray) -> np.ndarray:
    """Return the class that scores predict, as its position."""
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
