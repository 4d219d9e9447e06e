"""A linear model that ranks: the largest AUC under constraints on AUCs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from equipoise.constraints import auc, pair_loss
from equipoise.estimators._fitted_model import with_threshold_where_equal
from equipoise.estimators._model_file import storable
from equipoise.estimators._rule_classifier import RuleClassifier
from equipoise.estimators._sklearn import StrOptions
from equipoise.estimators._task import Task
from equipoise.terms import PAIR_LOSSES, PairFunction

SMOOTH_AUC = "sigmoid"  # the loss that is the AUC itself, but for smooth steps


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class AUCClassifier(RuleClassifier):
    """A linear model of two classes that ranks well, under constraints on AUCs.

    Maximises the AUC, or minimises a loss over all pairs of a positive and a negative row, subject to
    constraints such as ``auc_parity("inter", 0.05)``. By default the fitted model meets them on the
    *true* AUCs of the training rows, counted by ranks, not only on the smooth ones that training sees.
    Rules on predictions are not for this estimator: it has no threshold while it is trained. A pair counts
    with the product of its rows' weights.

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

    _parameter_constraints: ClassVar[dict] = {
        **RuleClassifier._parameter_constraints,
        "loss": [StrOptions({*PAIR_LOSSES, SMOOTH_AUC}), PairFunction],
    }

    loss: str | PairFunction = SMOOTH_AUC

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
            only_ranks=True,
        )

    def _kept(self, model: dict[str, Any]) -> dict[str, Any]:
        """Move the intercept to where both classes are equally probable."""
        return with_threshold_where_equal(model)
