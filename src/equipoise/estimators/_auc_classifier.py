"""A linear model that ranks: the largest AUC under constraints on AUCs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags

from equipoise.constraints import Constraint, auc, pair_loss
from equipoise.estimators._fit import fit_two_classes
from equipoise.estimators._inputs import read_table
from equipoise.estimators._predictor import LinearPredictor
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.estimators._training import Task
from equipoise.models import linear_scores
from equipoise.rows import MemoryTable
from equipoise.solvers import Solver
from equipoise.terms import PAIR_LOSSES, PairFunction

# Of the calibration's slope, on scores of standard deviation 1: weak, but enough to keep the slope
# finite where the scores separate the classes. Chosen.
CALIBRATION_C = 1e4
SMOOTH_AUC = "sigmoid"  # the loss that is the AUC itself, but for smooth steps


class AUCClassifier(LinearPredictor, ClassifierMixin, BaseEstimator):
    """A linear model of two classes that ranks well, under constraints on AUCs.

    Maximises the AUC, or minimises a loss over all pairs of a positive and a negative row, subject to
    constraints such as ``auc_parity("inter", 0.05)``. By default the fitted model meets them on the *true* AUCs of the
    training rows, counted by ranks, not only on the smooth ones that training sees. Rules on predictions
    are not for this estimator: it has no threshold while it is trained.

    Parameters
    ----------
    constraints : Constraint or sequence of them
        ``auc_parity(...)``, or comparisons of `auc`, such as ``auc("F", "F") >= 0.8``.
    loss : {"sigmoid", "logistic", "squared_hinge", "quadratic"} or PairFunction
        The loss of a pair. ``"sigmoid"`` is the AUC itself but for smooth steps, and is trained from the
        model without constraints of ``"logistic"``, which the report compares with. The others are convex:
        they cost AUC where a bound pulls against them.
    C : float
        Inverse strength of the penalty on the weights, as in `ConstrainedClassifier`.
    true_metric : bool
        Meet the bounds on counted AUCs. False: on smooth ones only.
    on_infeasible, solver, tol, max_steps, max_seconds, verbose, callback : as in `ConstrainedClassifier`.
    min_cell, small_cells, warm_start, random_state : as in `ConstrainedClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, n_iter_ : as in scikit-learn.
        The intercept puts the threshold of `predict` where both classes are equally probable.
    calibration_ : float
        The probability of the second class is the logistic function of `calibration_` times the score.
    report_, certificate_, status_, trace_, result_ : as in `ConstrainedClassifier`.

    Examples
    --------
    >>> from equipoise import AUCClassifier, auc_parity
    >>> from equipoise.datasets import make_census
    >>> data = make_census(2000, seed=0)
    >>> model = AUCClassifier(auc_parity("group", 0.02))
    >>> model = model.fit(data.X, data.y, sensitive_features=data.groups)
    >>> all(line.holds for line in model.report_.constraints)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "loss": [StrOptions({*PAIR_LOSSES, SMOOTH_AUC}), PairFunction],
        "C": [Interval(Real, 1e-20, 1e20, closed="both")],
        "true_metric": ["boolean"],
        "on_infeasible": [StrOptions({"warn", "raise", "ignore"})],
        "solver": [str, Solver],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0, None, closed="left"), None],
        "verbose": ["boolean", Interval(Integral, 0, None, closed="left")],
        "callback": [callable, None],
        "min_cell": [Interval(Integral, 2, None, closed="left")],
        "small_cells": [StrOptions({"raise", "skip"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        constraints: Constraint | list[Constraint] | tuple[Constraint, ...] = (),
        *,
        loss: str | PairFunction = SMOOTH_AUC,
        C: float = 1.0,
        true_metric: bool = True,
        on_infeasible: str = "warn",
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_steps: int = 1000,
        max_seconds: float | None = None,
        verbose: bool | int = False,
        callback: Any = None,
        min_cell: int = 10,
        small_cells: str = "raise",
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.constraints = constraints
        self.loss = loss
        self.C = C
        self.true_metric = true_metric
        self.on_infeasible = on_infeasible
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps
        self.max_seconds = max_seconds
        self.verbose = verbose
        self.callback = callback
        self.min_cell = min_cell
        self.small_cells = small_cells
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sensitive_features: Any = None, sample_weight: Any = None
    ) -> AUCClassifier:
        """Fit the model.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : as in `ConstrainedClassifier.fit`
            A pair counts with the product of its rows' weights.
        """
        check_parameters(self)
        table, names = read_table(self, X, y, sensitive_features, sample_weight)
        if len(table.classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. {type(self).__name__} got "
                f"{len(table.classes)} classes."
            )
        self.sensitive_names_ = names
        fit_two_classes(self, self._task(), table)
        self._calibrate(table)
        return self

    def _task(self) -> Task:
        smooth = isinstance(self.loss, str) and self.loss == SMOOTH_AUC
        plain = pair_loss("logistic" if smooth else self.loss)
        return Task(
            type(self).__name__,
            self.constraints,
            objective=1.0 - auc() if smooth else plain,
            plain_objective=plain,
            score=auc(),
            C=self.C,
            true_metric=self.true_metric,
            min_cell=self.min_cell,
            small_cells=self.small_cells,
            fit_intercept=False,
        )

    def _calibrate(self, table: MemoryTable) -> None:
        """Choose slope and intercept such that the logistic function of the score is a probability.

        Where higher scores do not mean a higher share of the second class, all rows get that share.
        """
        scores = linear_scores(table.X, self.coef_, self.intercept_).astype(np.float64)
        weight = table.weights()
        centre = float(np.average(scores, weights=weight))
        size = max(float(np.sqrt(np.average((scores - centre) ** 2, weights=weight))), 1e-300)
        fitted = LogisticRegression(C=CALIBRATION_C).fit(
            ((scores - centre) / size)[:, None], table.positive, weight
        )
        slope, at_centre = float(fitted.coef_[0, 0]) / size, float(fitted.intercept_[0])
        if not slope > 0.0:
            share = table.class_totals()[1] / table.total()
            slope = 1e-9 / size
            at_centre = float(np.log(share / (1.0 - share)))
        self.calibration_ = slope
        self.intercept_ = self.intercept_ + (at_centre / slope - centre)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, calibrated on the training rows."""
        scores = self.decision_function(X) * self.calibration_
        return np.column_stack((expit(-scores), expit(scores)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
