"""What the linear classifiers share: keeping a solver's answer, and predicting."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise import _check
from equipoise._status import Status
from equipoise.certificate import Certificate
from equipoise.estimators._counted import Candidate
from equipoise.estimators._inputs import FLOATS, without
from equipoise.estimators._runner import Runner, seed_of
from equipoise.estimators._sklearn import naming
from equipoise.models import LinearUnits, linear_scores
from equipoise.rows import MemoryTable
from equipoise.run import Budget, Result, Trace
from equipoise.solvers import SOLVERS, Solver

LEAST_MEMORY = (
    10  # rows of a stream's memory, at the least; chosen: with fewer no rate means anything
)

UNFINISHED = {
    Status.MAX_STEPS: "`max_steps` ({max_steps}) was used up; raise it.",
    Status.MAX_SECONDS: "`max_seconds` ({max_seconds}) was used up; raise it.",
    Status.INTERRUPTED: "the fit was interrupted; the best model so far is kept.",
}


class LinearPredictor:
    """A mixin for estimators with `solver`, `tol`, `max_steps`, `max_seconds` and so on."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    result_: Result
    certificate_: Certificate
    status_: Status
    trace_: Trace
    solver: str | Solver
    tol: float
    max_steps: int
    max_seconds: float | None
    verbose: bool | int
    callback: Any
    random_state: Any

    def _budget(self) -> Budget:
        """Return the budget of a fit; solver names are checked first."""
        owner = type(self).__name__
        if isinstance(self.solver, str):
            _check.choice(owner, "solver", self.solver, ("auto", *SOLVERS))
        return Budget(self.max_seconds, self.callback, bool(self.verbose), owner)

    def _runner(self, budget: Budget, aim: float = 1.0) -> Runner:
        seed = seed_of(self.random_state)
        return Runner(budget, self.solver, self.tol, self.max_steps, seed, aim)

    def _store(
        self, units: LinearUnits, fit: Candidate, budget: Budget, dtype: Any, more: dict[str, Any]
    ) -> None:
        """Keep the model, its certificate, what the fit has done, and `more`: all at once, or nothing."""
        coef, intercept = units.coefficients(fit.x)
        result = replace(
            fit.result,
            state=None,  # large, and of no use any more
            nit=budget.steps,
            nfev=budget.counter.values,
            njev=budget.counter.gradients,
            nhev=budget.counter.products,
            seconds=budget.seconds,
            trace=budget.trace,
            error=budget.error,
        )
        vars(self).update(
            coef_=coef,
            intercept_=intercept,
            result_=result,
            certificate_=fit.result.certificate,
            status_=fit.result.status,
            trace_=budget.trace,
            n_iter_=max(1, budget.steps),
            dtype_=np.dtype(dtype),
            **more,
        )

    def _kept(self, table: MemoryTable, coef: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
        """Return the attributes of a model of the rows of a table."""
        return {"coef_": coef, "intercept_": intercept}

    def _warn_unfinished(self) -> None:
        """Warn where the fit ended before it was done; pass on what a callback raised."""
        if self.result_.error is not None:
            raise self.result_.error
        reason = UNFINISHED.get(self.result_.verdict.ended)
        if reason is not None:
            detail = reason.format(max_steps=self.max_steps, max_seconds=self.max_seconds)
            warnings.warn(f"{type(self).__name__}: {detail}", ConvergenceWarning, stacklevel=4)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores: (n,) for two classes, positive for the second; (n, K) for K > 2."""
        check_is_fitted(self, "coef_")
        X = without(X, getattr(self, "sensitive_names_", ()))
        single = getattr(self, "dtype_", np.float32) == np.float32
        dtype = FLOATS if single else np.float64  # no less precise than the fit
        with naming(type(self).__name__, "X"):
            X = validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=False)
        return linear_scores(X, self.coef_, self.intercept_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions."""
        predicted = self.predict(X)
        with naming(type(self).__name__, "y", "sample_weight"):
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities: the logistic function of the score, or its softmax."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return np.column_stack((expit(-scores), expit(scores)))
