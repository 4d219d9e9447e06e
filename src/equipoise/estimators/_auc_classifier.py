"""A linear model that ranks: the largest AUC under constraints on AUCs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from equipoise.constraints import Constraint, auc, pair_loss
from equipoise.estimators._bound_parameters import BoundParameters
from equipoise.estimators._fit import fit_two_classes, walk_of
from equipoise.estimators._fitted_model import with_threshold_where_equal
from equipoise.estimators._inputs import read_table
from equipoise.estimators._predictor import LEAST_MEMORY, LinearPredictor
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.estimators._stream.learn import learn_batch
from equipoise.estimators._training import Task
from equipoise.solvers import Solver
from equipoise.terms import PAIR_LOSSES, PairFunction

SMOOTH_AUC = "sigmoid"  # the loss that is the AUC itself, but for smooth steps


class AUCClassifier(BoundParameters, LinearPredictor, ClassifierMixin, BaseEstimator):
    """A linear model of two classes that ranks well, under constraints on AUCs.

    Maximises the AUC, or minimises a loss over all pairs of a positive and a negative row, subject to
    constraints such as ``auc_parity("inter", 0.05)``. By default the fitted model meets them on the
    *true* AUCs of the training rows, counted by ranks, not only on the smooth ones that training sees.
    Rules on predictions are not for this estimator: it has no threshold while it is trained.

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
    pos_label : label, optional
        The class whose rows are to have the higher scores in `auc` and in the report; as in
        `ConstrainedClassifier`.
    true_metric : bool
        Meet the bounds on counted AUCs. False: on smooth ones only.
    on_infeasible, solver, tol, max_steps, max_seconds, verbose, callback : as in `ConstrainedClassifier`.
    min_cell, small_cells, warm_start, random_state, memory : as in `ConstrainedClassifier`.
    confidence, held_out, ordered : as in `ConstrainedClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, n_iter_ : as in scikit-learn.
        The intercept puts the threshold of `predict` where both classes are equally probable.
    pos_label_, calibration_, report_, certificate_, status_, trace_, result_, stream_ : as in
        `ConstrainedClassifier`.

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
        "small_cells": [StrOptions({"raise", "skip", "pool"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "ordered": ["boolean"],
        "memory": [Interval(Integral, LEAST_MEMORY, None, closed="left")],
    }

    def __init__(
        self,
        constraints: Constraint | list[Constraint] | tuple[Constraint, ...] = (),
        *,
        loss: str | PairFunction = SMOOTH_AUC,
        C: float = 1.0,
        pos_label: Any = None,
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
        confidence: float | None = None,
        held_out: float = 0.5,
        ordered: bool = False,
        memory: int = 8192,
    ) -> None:
        self.constraints = constraints
        self.loss = loss
        self.C = C
        self.pos_label = pos_label
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
        self.confidence = confidence
        self.held_out = held_out
        self.ordered = ordered
        self.memory = memory

    def fit(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> AUCClassifier:
        """Fit the model.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : as in `ConstrainedClassifier.fit`
            A pair counts with the product of its rows' weights.
        groups : as in `ConstrainedClassifier.fit`
        """
        check_parameters(self)
        table, names = read_table(self, X, y, sensitive_features, sample_weight)
        if len(table.classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. {type(self).__name__} got "
                f"{len(table.classes)} classes."
            )
        self.sensitive_names_ = names
        if hasattr(self, "stream_"):
            del self.stream_
        task = self._task()
        walk = walk_of(self, task, table, groups)
        fit_two_classes(self, task, table if walk is None else walk.training, walk=walk)
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

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> AUCClassifier:
        """Take in one row of a stream or many, in any order; as `ConstrainedClassifier.partial_fit`.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight : as in `fit`
            The features and the sensitive columns are those of the first call.
        classes : array of two labels
            Both classes; needed in the first call.
        """
        learn_batch(self, X, y, classes, sensitive_features, sample_weight)
        return self

    def _kept(self, model: dict[str, Any]) -> dict[str, Any]:
        """Move the intercept to where both classes are equally probable."""
        return with_threshold_where_equal(model)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
