"""Neyman-Pearson classification: bound the error of some classes, minimise that of another."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from equipoise import _check
from equipoise._positive import is_among
from equipoise.constraints import rate
from equipoise.estimators._class_losses import fit_class_losses
from equipoise.estimators._fit import fit_two_classes, walk_of
from equipoise.estimators._inputs import read_table
from equipoise.estimators._model_file import storable
from equipoise.estimators._predictor import LinearPredictor
from equipoise.estimators._promise.order_statistic import OrderStatistic
from equipoise.estimators._sklearn import Interval, check_parameters
from equipoise.estimators._task import Task
from equipoise.rows import MemoryTable, Table
from equipoise.solvers import Solver

# The share of `tol` that solvers aim for, since class losses near their bounds are flat. Chosen.
AIM = 0.1


@storable
@dataclass(eq=False, repr=False)
class NeymanPearsonClassifier(LinearPredictor, ClassifierMixin, BaseEstimator):
    r"""Minimise the error of one class while the errors of the others stay below bounds.

    With two classes: minimise the loss on the class `minimise` subject to the *counted* error on
    the other class being at most its bound. This is a `ConstrainedClassifier` with that rule and that
    objective; it also takes class weights, and other rules beside it. With K classes (Ma, Lin & Yang
    2020): one linear model per class, minimise the class loss ``l_1`` subject to ``l_k <= r_k``, where
    ``l_k = mean over class k of sum_{l != k} sigmoid(-(x_k - x_l)'a)``, at most ``K - 1``.

    Parameters
    ----------
    bounds : float or dict
        One bound for all other classes, or ``{class: bound}``. Two classes: error rates in [0, 1].
        More classes: class losses in [0, K - 1]; an error rate is at most twice its class loss.
    minimise : label, optional
        The class whose error is minimised; by default the positive (last) of two classes, the first
        of several.
    radius : float, optional
        Keep every class's weights in a ball of this radius (Ma, Lin & Yang take 0.1), on the data as
        given, without intercept and penalty. By default weights are free, standardised and penalised.
    C : float
        Inverse strength of the penalty on the weights; of features scaled as in `ConstrainedClassifier`.
    on_infeasible : {"warn", "raise", "ignore"}
    solver : "auto", a solver's name or a Solver
    tol : float
        The KKT residual to reach; at least 1e-4 with float32 features.
    max_steps, max_seconds, verbose, callback : as in `ConstrainedClassifier`
    warm_start : bool
        Start from the previous solution (two classes).
    random_state : int or None
    confidence : float, optional
        With two classes: promise the bound for the population, as in `ConstrainedClassifier`. A part of the
        rows is held out, and the threshold moves to an order statistic of their scores (Tong, Feng & Li
        2018); with a `radius`, which leaves no threshold to move, tighter bounds are tried.
    held_out, ordered : as in `ConstrainedClassifier`

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, n_iter_ : as in scikit-learn.
    dtype_ : dtype
        What scores are computed in, at the least: float32 features far from 0 are read as float64.
    class_errors_ : ndarray of shape (K,)
        Counted error rate of each class on the training data.
    class_losses_ : ndarray of shape (K,)
        What the bounds speak of: the class losses if K > 2, else the counted error rates.
    report_ : Report
        For two classes.
    calibration_, certificate_, status_, trace_, result_ : as in `ConstrainedClassifier`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from equipoise import NeymanPearsonClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NeymanPearsonClassifier(bounds=0.01).fit(X, y)
    >>> bool(model.class_errors_[0] <= 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearPredictor._parameter_constraints,
        "bounds": [Interval(Real, 0, None, closed="left"), dict],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "warm_start": ["boolean"],
    }

    bounds: float | dict = 0.1
    _: KW_ONLY
    minimise: Any = None
    radius: float | None = None
    solver: str | Solver = "auto"
    tol: float = 1e-8
    warm_start: bool = False

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> NeymanPearsonClassifier:
        """Fit the model to features (dense or CSR) and labels.

        `groups` is as in `ConstrainedClassifier.fit`.
        """
        check_parameters(self)
        table, _ = read_table(self, X, y, None, sample_weight, tensors=True)
        target, limits = self._limits(table)
        if len(table.classes) > 2:
            if self.confidence is not None:
                reason = "`confidence` is for two classes."
                raise _check.InputError(type(self).__name__, reason, "confidence")
            return fit_class_losses(self, table, target, limits, AIM)
        task = self._task(table, target, limits)
        walk = walk_of(self, task, table, groups)
        table = table if walk is None else walk.training
        moving: Any = walk
        if walk is not None and self.radius is None:
            moving = OrderStatistic(walk, 1 - target, float(limits[1 - target]))
        problem, fit = fit_two_classes(self, task, table, AIM, moving)
        self.class_errors_ = problem.rows.wrong_by_class(fit.x) / table.class_totals()
        self.class_losses_ = self.class_errors_
        return self

    def _rules(self) -> Any:
        """Return the bound of the fit."""
        table = MemoryTable(self.classes_, classes=self.classes_)
        return self._task(table, *self._limits(table)).constraints

    def _task(self, table: Table, target: int, limits: np.ndarray) -> Task:
        own, other = table.classes[target], table.classes[1 - target]
        error = rate("error", label=other) <= float(limits[1 - target])
        return Task(
            type(self).__name__,
            constraints=error.named(f"error of class {other!r}"),
            objective=rate("loss", label=own),
            C=self.C,
            radius=self.radius,
            costs=(1.0, 0.0) if target == 0 else (0.0, 1.0),
            only_compare=True,
        )

    def _limits(self, table: Table) -> tuple[int, np.ndarray]:
        """Return the class to minimise and everyone's bound."""
        known, owner = list(table.classes), type(self).__name__
        K = len(known)
        if self.minimise is None:
            target = 1 if K == 2 else 0
        elif is_among(known, _check.label(owner, "minimise", self.minimise)):
            target = known.index(self.minimise)
        else:
            _check.fail(owner, "minimise", f"must be one of {known}", self.minimise)
        if isinstance(self.bounds, dict):
            limits = self._listed_limits(owner, known, target)
        else:
            limits = np.full(K, float(self.bounds))
        top = 1.0 if K == 2 else K - 1.0
        others = np.delete(limits, target)
        if not ((others >= 0) & (others <= top)).all():
            _check.fail(owner, "bounds", f"must lie in [0, {top:g}] for {K} classes", self.bounds)
        return target, limits

    def _listed_limits(self, owner: str, known: list[Any], target: int) -> np.ndarray:
        given: Any = self.bounds
        unknown = [label for label in given if label not in known]
        if unknown:
            reason = f"`bounds` names {unknown[0]!r}; the classes are {known}."
            raise _check.InputError(owner, reason, "bounds")
        missing = [c for i, c in enumerate(known) if i != target and c not in given]
        if missing:
            reason = f"`bounds` must hold a bound for class {missing[0]!r}."
            raise _check.InputError(owner, reason, "bounds")
        for label, bound in given.items():
            if isinstance(bound, bool) or not isinstance(bound, Real):
                got = f"{bound!r} for class {label!r}"
                raise _check.InputError(owner, f"`bounds` must hold numbers, got {got}.", "bounds")
        return np.array([float(given.get(label, np.inf)) for label in known])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
