"""A linear model that ranks: the largest AUC under constraints on AUCs."""

from __future__ import annotations

from typing import Any

from equipoise.constraints import Constraint, auc, pair_loss
from equipoise.estimators._fitted_model import with_threshold_where_equal
from equipoise.estimators._model_file import storable
from equipoise.estimators._rule_classifier import RuleClassifier
from equipoise.estimators._sklearn import StrOptions
from equipoise.estimators._task import Task
from equipoise.solvers import Solver
from equipoise.terms import PAIR_LOSSES, PairFunction

SMOOTH_AUC = "sigmoid"  # the loss that is the AUC itself, but for smooth steps


@storable
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

    _parameter_constraints: dict = {  # noqa: RUF012
        **RuleClassifier._parameter_constraints,
        "loss": [StrOptions({*PAIR_LOSSES, SMOOTH_AUC}), PairFunction],
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
