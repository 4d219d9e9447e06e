"""The main product: a linear classifier that keeps its constraints on the true metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.metrics import get_scorer_names

from equipoise.constraints import Expression, Quotient, Unfairness
from equipoise.estimators._model_file import storable
from equipoise.estimators._rule_classifier import RuleClassifier
from equipoise.estimators._sklearn import StrOptions
from equipoise.estimators._task import Task


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class ConstrainedClassifier(RuleClassifier):
    """A linear classifier of two classes under constraints on its predictions.

    Minimises the (logistic) loss subject to the constraints, which are written as data and bound
    in `fit`. By default the fitted model meets the bounds on *thresholded* training rates, the
    metric a user computes, not only on the smooth rates that training sees.

    Parameters
    ----------
    constraints : Constraint or sequence of them
        For example ``demographic_parity(0.02)``, or ``[recall(at_least=0.9), coverage(at_most=0.3)]``. Their
        bounds are parameters too: ``constraints__bound`` of one, ``constraints__0__bound`` of several.
    objective : expression of rates, ratio of them or unfairness(), optional
        What to minimise instead of the mean loss.
    loss : {"logistic", "truncated_logistic", "hinge", "squared"}
    C : float
        Inverse strength of the penalty on the weights, as in `LogisticRegression`. Features are first
        divided by their standard deviation; those that are mostly 0, such as indicators, by the root
        mean square of their other values.
    fit_intercept : bool
    pos_label : label, optional
        The positive class, which rules such as ``recall(...)`` and the report speak of; by default the
        last in sorted order. `classes_`, scores and predictions keep scikit-learn's order.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss; the constraints count rows as they are.
    true_metric : bool
        Meet the bounds on counted rates. False: on smooth rates only.
    on_infeasible : {"warn", "raise", "ignore"}
        What to do when the bounds cannot all be met.
    solver : "auto", a solver's name or a Solver
    tol : float
        The KKT residual to reach; at least 1e-4 with float32 features.
    max_steps : int
        Solver steps for each problem solved.
    max_seconds : float, optional
        For the whole fit. When it is used up, the best model so far that keeps its bounds is returned,
        with `status_` MAX_SECONDS; so it is after Ctrl-C, with INTERRUPTED.
    verbose : bool
        Show a progress bar, which names the stage of the fit.
    callback : callable, optional
        Called with an `Iteration` (see `equipoise.run`) after every solver step; raising `StopIteration`
        ends the fit.
    min_cell : int
        Intersections with fewer rows are small.
    small_cells : {"raise", "skip", "pool"}
        Whether small intersections are an error; are left unconstrained; or are taken as one group,
        "other (pooled)", for whose rows together the bounds then hold. The report lists them.
    warm_start : bool
        Start from the previous solution.
    random_state : int, RandomState or None
        For the rows held out, for those that `partial_fit` remembers, and for solvers that draw; None
        is the same as 0.
    confidence : float, optional
        Promise the bounds for the population that the rows were drawn from: a part of the rows is held out,
        models are trained on the others under tighter bounds, and the loosest that a test on the rows held
        out lets through is kept. The probability, over the draw of the rows, that the
        population breaks a promised bound is at most ``1 - confidence``. Where nothing can be promised,
        `status_` is NOT_PROMISED and a warning says what could be. By default the bounds
        are met on the training rows, which are all rows, and nothing is said of others.
    held_out : float
        The share of rows held out, with `confidence`.
    ordered : bool
        The rows are in order of time: hold out the last ones.
    margin : "auto", optional
        For few rows: tighten the bounds by the least margin with which rows left out keep them in
        cross-validation, then fit to all rows. Nothing is promised.
    memory : int
        Rows that `partial_fit` remembers, at the most (with many groups at least one of each class and
        group). More of them bring the model of a stream closer to that of a fit on all its rows, and
        take as much more time and room.
    scoring : str, callable or None
        What the model should be good at, at the same bounds: accuracy, or any scorer of scikit-learn (its
        name, or a function of model, features and labels). After the first fit, a few other objectives (the
        truncated logistic loss; for other scores than accuracy, balanced classes too) are fitted to a third
        of the rows and scored on the others. The best is fitted to all rows, and kept if it is certified and
        no worse there; then what is left of the bounds is used up. All bounds are kept as in the first fit,
        at about three times its cost; `report_.choice` says what was compared. None: the first fit alone.
        Nothing is searched for where `objective`, `loss` or `class_weight` is given, where a bound is not on
        counted rates, with more than 20 inequalities or 1,000 columns, for rows in blocks, in
        `frontier` and in `partial_fit`; with less than 2,000 rows nothing is compared.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, n_iter_ : as in scikit-learn.
    pos_label_ : label
        The positive class.
    calibration_ : Calibration
        Makes probabilities of scores: fitted to the training rows, unless the mean logistic loss is all
        that is minimised.
    fingerprint_ : str
        Of the training rows: their labels, groups and weights, and the features of up to 1,024 of them.
    dtype_ : dtype
        What scores are computed in, at the least: float32 features far from 0 are read as float64.
    report_ : Report
        Per constraint the bound, surrogate, true value and price; per group the rates.
    certificate_ : Certificate
        Of the point returned, for the last problem solved.
    status_ : Status
    trace_ : Trace
        Of the whole fit, with the stage of each row.
    result_ : Result
        With the steps, evaluations and seconds of the whole fit.
    stream_ : Stream
        After `partial_fit`, instead of the report and the certificate: what was seen, and what is known of
        the rules; `print` it.

    Examples
    --------
    >>> from equipoise import ConstrainedClassifier, demographic_parity
    >>> from equipoise.datasets import make_census
    >>> data = make_census(2000, seed=0)
    >>> model = ConstrainedClassifier(demographic_parity(0.02))
    >>> model = model.fit(data.X, data.y, sensitive_features=data.groups)
    >>> all(line.holds for line in model.report_.constraints)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **RuleClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "margin": [StrOptions({"auto"}), None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }

    objective: Expression | Quotient | Unfairness | None = None
    loss: str = "logistic"
    fit_intercept: bool = True
    class_weight: Any = None
    margin: str | None = None
    scoring: Any = "accuracy"

    def _task(self) -> Task:
        return Task(
            type(self).__name__,
            self.constraints,
            self.objective,
            self.loss,
            self.C,
            self.class_weight,
            self.true_metric,
            self.min_cell,
            self.small_cells,
            self.fit_intercept,
        )
