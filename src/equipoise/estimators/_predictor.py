"""What the linear classifiers share: keeping a solver's answer, and predicting."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise import _check
from equipoise._array import Array, is_tensor, on_host
from equipoise._positive import with_positive_last
from equipoise._status import Status
from equipoise.auditing import Audit
from equipoise.auditing._audit import audit_rows, with_absent
from equipoise.auditing._audited_rows import AuditedRows
from equipoise.certificate import Certificate
from equipoise.constraints._rules import needing, one_or_several
from equipoise.estimators._calibration import Calibration
from equipoise.estimators._counted import Candidate
from equipoise.estimators._fit_parameters import FitParameters
from equipoise.estimators._inputs import FLOATS, read_weight, split_sensitive, without
from equipoise.estimators._model_file import save_model
from equipoise.estimators._onnx import save_onnx
from equipoise.estimators._runner import Runner, seed_of
from equipoise.estimators._sklearn import naming
from equipoise.estimators._tensors import tensor_labels, tensor_scores
from equipoise.models import linear_scores
from equipoise.rows import MemoryTable
from equipoise.run import Budget, Result, Trace
from equipoise.solvers import SOLVERS, Solver

UNFINISHED = {
    Status.MAX_STEPS: "`max_steps` ({max_steps}) was used up; raise it.",
    Status.MAX_SECONDS: "`max_seconds` ({max_seconds}) was used up; raise it.",
    Status.INTERRUPTED: "the fit was interrupted; the best model so far is kept.",
}


class LinearPredictor(FitParameters):
    """A mixin for estimators with `solver`, `tol`, `max_steps`, `max_seconds` and so on."""

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray
    calibration_: Calibration
    result_: Result
    certificate_: Certificate
    status_: Status
    trace_: Trace
    solver: str | Solver

    def _budget(self) -> Budget:
        """Return the budget of a fit; solver names are checked first."""
        owner = type(self).__name__
        if isinstance(self.solver, str):
            _check.choice(owner, "solver", self.solver, ("auto", *SOLVERS))
        return Budget(self.max_seconds, self.callback, bool(self.verbose), owner)

    def _rules(self) -> Any:
        """Return the constraints of the fit."""
        return self.constraints  # type: ignore[attr-defined]

    def _runner(self, budget: Budget, aim: float = 1.0) -> Runner:
        seed = seed_of(self.random_state)
        return Runner(budget, self.solver, self.tol, self.max_steps, seed, aim)

    def _store(self, fit: Candidate, budget: Budget, dtype: Any, model: dict[str, Any]) -> None:
        """Keep the model, its certificate, and what the fit has done: all at once, or nothing."""
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
            result_=result,
            certificate_=fit.result.certificate,
            status_=fit.result.status,
            trace_=budget.trace,
            n_iter_=max(1, budget.steps),
            dtype_=np.dtype(dtype),
            **model,
        )

    def _kept(self, model: dict[str, Any]) -> dict[str, Any]:
        """Return what is kept of a model: its attributes, as they are."""
        return model

    def _warn_unfinished(self) -> None:
        """Warn where the fit ended before it was done; pass on what a callback raised."""
        if self.result_.error is not None:
            raise self.result_.error
        reason = UNFINISHED.get(self.result_.verdict.ended)
        if reason is not None:
            detail = reason.format(max_steps=self.max_steps, max_seconds=self.max_seconds)
            warnings.warn(f"{type(self).__name__}: {detail}", ConvergenceWarning, stacklevel=4)

    def decision_function(self, X: Any) -> Array:
        """Return the scores: (n,) for two classes, positive for the second; (n, K) for K > 2.

        Scores of a tensor are a tensor on its device; so are labels (where they are numbers) and
        probabilities.
        """
        check_is_fitted(self, "coef_")
        if is_tensor(X):
            return tensor_scores(self, X)
        X = without(X, getattr(self, "sensitive_names_", ()))
        dtype = FLOATS if self._is_single else np.float64  # no less precise than the fit
        with naming(type(self).__name__, "X"):
            X = validate_data(self, X, accept_sparse="csr", dtype=dtype, reset=False)
        return linear_scores(self._features(X), self.coef_, self.intercept_)

    def _features(self, X: Any) -> Any:
        """Return what the weights multiply, of checked rows: the rows themselves."""
        return X

    def predict(self, X: Any) -> Array:
        """Return the predicted labels."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return self.classes_[scores.argmax(axis=1)]
        # a score of exactly 0 is not of the positive class, whichever that is, as the fit has counted
        above = scores >= 0 if self._positive_is_first else scores > 0
        if is_tensor(scores):
            return tensor_labels(self.classes_, 1 * above)
        return self.classes_[above.astype(int)]

    @property
    def _is_single(self) -> bool:
        """Whether the fit was in single precision."""
        return bool(getattr(self, "dtype_", np.float32) == np.float32)

    @property
    def _positive_is_first(self) -> bool:
        return bool(getattr(self, "pos_label_", self.classes_[1]) == self.classes_[0])

    def _packed(self) -> dict[str, Any]:
        """Return the attributes to store, as data."""
        return vars(self)

    @classmethod
    def _unpacked(cls, found: dict[str, Any], module: Any) -> dict[str, Any]:
        """Return the attributes of what was stored; raise where something does not fit."""
        if module is not None:
            reason = f"`module` is for networks, and the file holds a {cls.__name__}."
            raise _check.InputError("load_model", reason, "module")
        return found

    def save(self, path: Any) -> None:
        """Write the model to a file, which `load_model` reads without running any code in it.

        It holds parameters and rules, all that was fitted, the report, the certificate and versions
        (docs/model_file.md). Rules that are functions of yours cannot be stored: `ModelFileError`.

        Parameters
        ----------
        path : path
        """
        save_model(self, path)

    def to_onnx(self, path: Any) -> None:
        """Write what predicts to an ONNX file, for programs that have no Python.

        Its input is `X` (n, d), without sensitive columns: float32 where `dtype_` is, else float64. Its
        outputs are `label`, `probabilities` and `scores`, those of `predict`, `predict_proba` and
        `decision_function`. It needs ``pip install 'equipoise[onnx]'``; docs/model_file.md.

        Parameters
        ----------
        path : path
        """
        save_onnx(self, path)

    def evaluate(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        *,
        confidence: float = 0.95,
        sample_weight: Any = None,
    ) -> Audit:
        """Return what rows that the fit has not seen tell of its rules for the population.

        The rules are those of the fit, whatever has become of the parameters since.

        Parameters
        ----------
        X, y, sensitive_features : as in `fit`
            Rows that played no part in the fit.
        confidence, sample_weight : as in `equipoise.audit`
        """
        owner = type(self).__name__
        confidence = _check.inside(owner, "confidence", confidence, 0.0, 1.0)
        rest, columns, _ = split_sensitive(owner, X, sensitive_features)
        scores, y = on_host(self.decision_function(rest)), on_host(y)
        if scores.ndim > 1:
            reason = "`evaluate` is for two classes."
            raise _check.InputError(owner, reason, "y")
        labels = _check.labels(owner, "y", y)
        if labels.size != scores.size:
            _check.fail(owner, "y", f"must have one entry for each of the {scores.size} rows", y)
        given = None if sample_weight is None else read_weight(owner, sample_weight, rest)
        unknown = set(np.unique(labels).tolist()) - set(self.classes_.tolist())
        if unknown:
            _check.fail(owner, "y", f"must hold labels of {self.classes_.tolist()}", unknown)
        known = with_positive_last(owner, self.classes_, getattr(self, "pos_label_", None))
        table = MemoryTable(labels, None, columns, weight=given, classes=known, owner=owner)
        scores = (-scores if self._positive_is_first else scores).astype(np.float64)
        rows = AuditedRows(table, scores > 0, scores, owner)
        report, rules = getattr(self, "report_", None), getattr(self, "rules_", None)
        rules = self._rules() if rules is None else rules  # of a stream
        if needing(rules, "all_rows"):
            reason = (
                "`evaluate` cannot compare new rows with predictions for the training rows (churn), nor "
                "with a function of them (custom); give `audit` a rule with predictions for the new rows."
            )
            raise _check.InputError(owner, reason, "constraints")
        if report is None:  # of a stream
            return audit_rows(rows, one_or_several(rules), confidence)
        found = audit_rows(rows, one_or_several(rules), confidence, report.pooled)
        return with_absent(found, report.constraints)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions."""
        predicted, y = on_host(self.predict(X)), on_host(y)
        with naming(type(self).__name__, "y", "sample_weight"):
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities, calibrated on the training rows.

        They grow with the scores, and say how probable a class is; `predict` says what keeps the bounds.
        So a row may be predicted to be of a class that is not the most probable one.
        """
        scores = self.decision_function(X)
        return self.calibration_.probabilities(scores)
