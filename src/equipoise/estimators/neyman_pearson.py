"""Neyman-Pearson classification: bound the error of some classes, minimise that of another."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from equipoise import sets
from equipoise.constraints import bind, rate
from equipoise.estimators.counting import Kept, allowances, measure, prediction_scores
from equipoise.estimators.infeasible import broken_bound, complain, warn_of_constant
from equipoise.estimators.inputs import Rows, column_scales, read_rows
from equipoise.estimators.predictor import LinearPredictor, codes_of
from equipoise.estimators.promise import keep
from equipoise.estimators.threads import suitable_threads
from equipoise.models import LinearModel, MultiClassLinearModel
from equipoise.problems import LearningProblem, MeritProblem
from equipoise.problems.merit import Lagrangian
from equipoise.solvers import Solver
from equipoise.terms.class_loss import ClassLossTerms


class NeymanPearsonClassifier(LinearPredictor, ClassifierMixin, BaseEstimator):
    r"""Minimise the error of one class while the errors of the others stay below bounds.

    With two classes: minimise the loss on the class `minimise` subject to the *counted* error on
    the other class being at most its bound. With K classes (P001): one linear model per class,
    minimise the class loss ``l_1`` subject to ``l_k <= r_k``, where
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
        Keep every class's weights in a ball of this radius (P001 takes 0.1), on the data as given,
        without intercept and penalty. By default weights are free, standardised and penalised.
    C : float
        Inverse strength of the penalty on the weights; of features scaled as in `ConstrainedClassifier`.
    on_infeasible : {"warn", "raise", "ignore"}
    solver : "auto", a solver's name or a Solver
    tol : float
        The KKT residual to reach; at least 1e-4 with float32 features.
    max_steps : int
    random_state : int or None

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, n_iter_ : as in scikit-learn.
    dtype_ : dtype
        What scores are computed in, at the least: float32 features far from 0 are read as float64.
    class_errors_ : ndarray of shape (K,)
        Counted error rate of each class on the training data.
    class_losses_ : ndarray of shape (K,)
        What the bounds speak of: the class losses if K > 2, else the counted error rates.
    certificate_, status_, trace_, result_ : of the last problem solved.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from equipoise import NeymanPearsonClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NeymanPearsonClassifier(bounds=0.01).fit(X, y)
    >>> bool(model.class_errors_[0] <= 0.01)
    True
    """

    _margin = 0.1

    _parameter_constraints: dict = {  # noqa: RUF012
        "bounds": [Interval(Real, 0, None, closed="left"), dict],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "C": [Interval(Real, 1e-20, 1e20, closed="both")],
        "on_infeasible": [StrOptions({"warn", "raise", "ignore"})],
        "solver": [str, Solver],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        bounds: float | dict = 0.1,
        *,
        minimise: Any = None,
        radius: float | None = None,
        C: float = 1.0,
        on_infeasible: str = "warn",
        solver: str | Solver = "auto",
        tol: float = 1e-8,
        max_steps: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.minimise = minimise
        self.radius = radius
        self.C = C
        self.on_infeasible = on_infeasible
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NeymanPearsonClassifier:
        """Fit the model to features (dense or CSR) and labels."""
        self._validate_params()
        self._check_solver()
        rows = read_rows(self, X, y, sample_weight)
        self.classes_ = rows.classes
        target, limits = self._limits()
        free = self.radius is None
        with suitable_threads(rows.X):
            scales = column_scales(type(self).__name__, rows.X, rows.weight) if free else ()
            if len(rows.classes) == 2:
                model: Any = LinearModel(rows.X, free, *scales)
                fit = self._fit_two(model, rows, target, limits)
            else:
                model = MultiClassLinearModel(rows.X, len(rows.classes), free, *scales)
                fit = self._fit_many(model, rows, target, limits)
            self._store(model, fit)
            self._count(model, fit, rows)
        self._judge(limits, target, fit)
        return self

    def _limits(self) -> tuple[int, np.ndarray]:
        """Return the class to minimise and everyone's bound."""
        K, owner = len(self.classes_), type(self).__name__
        known = self.classes_.tolist()
        if self.minimise is None:
            target = 1 if K == 2 else 0
        elif self.minimise in known:
            target = known.index(self.minimise)
        else:
            raise ValueError(f"{owner}: `minimise` must be one of {known}, got {self.minimise!r}.")
        if isinstance(self.bounds, dict):
            unknown = [label for label in self.bounds if label not in known]
            if unknown:
                raise ValueError(
                    f"{owner}: `bounds` names {unknown[0]!r}; the classes are {known}."
                )
            missing = [c for i, c in enumerate(known) if i != target and c not in self.bounds]
            if missing:
                raise ValueError(f"{owner}: `bounds` must hold a bound for class {missing[0]!r}.")
            wrong = [c for c, bound in self.bounds.items() if not isinstance(bound, Real)]
            if wrong:
                got = f"{self.bounds[wrong[0]]!r} for class {wrong[0]!r}"
                raise ValueError(f"{owner}: `bounds` must hold numbers, got {got}.")
            limits = np.array([float(self.bounds.get(label, np.inf)) for label in known])
        else:
            limits = np.full(K, float(self.bounds))
        top = 1.0 if K == 2 else K - 1.0
        others = np.delete(limits, target)
        if not ((others >= 0) & (others <= top)).all():
            raise ValueError(
                f"{owner}: `bounds` must lie in [0, {top:g}] for {K} classes, got {self.bounds!r}."
            )
        return target, limits

    def _fit_two(self, model: Any, rows: Rows, target: int, limits: np.ndarray) -> Kept:
        own, other = rows.classes.tolist()[target], rows.classes.tolist()[1 - target]
        binding = bind(
            rate("error", label=other) <= limits[1 - target],
            rows.y,
            None,
            rows.weight,
            objective=rate("loss", label=own),
        )
        problem = self._problem(model, binding.terms, rows)
        return keep(
            problem,
            np.zeros(model.dim),
            self._run,
            allowances(binding, problem.facts.rounding, self.tol),
        )

    def _fit_many(self, model: Any, rows: Rows, target: int, limits: np.ndarray) -> Kept:
        terms = ClassLossTerms(
            rows.codes,
            np.where(np.arange(limits.size) == target, 0.0, limits),
            objective=target,
            sample_weight=rows.weight,
            names=[f"class {label}" for label in rows.classes],
        )
        problem = self._problem(model, terms, rows)
        zero = np.zeros(model.dim)
        if self.radius is None:
            return self._measured(problem, zero)
        # small weights saturate slowly: start from a classifier that is good for every class
        alike = MeritProblem(problem, Lagrangian(np.ones(terms.n_constraints)))
        fit = self._measured(problem, self._run(alike, zero, rough=True, most=30).x)
        # large features saturate at once: then from where no score is saturated
        return fit if fit.kept else min(fit, self._measured(problem, zero), key=Kept.rank)

    def _measured(self, problem: LearningProblem, start: np.ndarray) -> Kept:
        result = self._run(problem, start)
        return measure(problem, result, np.full(problem.n_constraints, max(1e-6, result.tol)))

    def _problem(self, model: Any, terms: Any, rows: Rows) -> LearningProblem:
        if self.radius is None:
            return LearningProblem(model, terms, l2=1.0 / (self.C * rows.total))
        K = 1 if len(rows.classes) == 2 else len(rows.classes)
        ball = sets.L2Ball(self.radius)
        domain = ball if K == 1 else sets.Product([(ball, model.dim // K)] * K)
        return LearningProblem(model, terms, domain=domain)

    def _count(self, model: Any, fit: Kept, rows: Rows) -> None:
        wrong = codes_of(prediction_scores(model, fit.result.x)) != rows.codes
        weight = np.ones(rows.codes.size) if rows.weight is None else rows.weight
        totals = np.bincount(rows.codes, weight)
        self.class_errors_ = np.bincount(rows.codes, weight * wrong, totals.size) / totals
        self.class_losses_ = self.class_errors_
        if len(self.classes_) > 2:
            terms: Any = fit.problem.terms
            losses = terms.at(model.scores(fit.result.x)).values
            losses[1:] += terms.r[terms.order[1:]]
            self.class_losses_ = losses[np.argsort(terms.order)]

    def _judge(self, limits: np.ndarray, target: int, fit: Kept) -> None:
        known = self.classes_.tolist()
        over = self.class_losses_ - limits - np.insert(fit.allowed, target, np.inf)
        broken = [
            broken_bound(f"class {known[k]!r}", "<=", limits[k], self.class_losses_[k])
            for k in np.argsort(-over, kind="stable")
            if over[k] > 0
        ]
        owner = type(self).__name__
        complain(owner, self.on_infeasible, broken, list(fit.result.blocking))
        never = np.arange(len(known)) == target  # errors if the class is never predicted
        if len(known) == 2 and np.array_equal(self.class_errors_, never):
            warn_of_constant(owner, self.on_infeasible, known[1 - target])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
