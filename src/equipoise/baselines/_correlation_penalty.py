"""AUC with a penalty on the correlation of scores and groups (after Beutel et al. 2019)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from equipoise.baselines._rows import LinearRanker, TwoGroups, read_two_groups
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.problems import LearningProblem
from equipoise.run import solve
from equipoise.solvers import Solver
from equipoise.terms import PAIR_LOSSES, Combination, Correlation, PairSums, Terms


class CorrelationPenalty(LinearRanker, BaseEstimator):
    """A linear model that ranks, with a penalty on the correlation of its scores with the group.

    Minimises the loss over all pairs of a positive and a negative row plus ``penalty |correlation|``. It
    has no bound to keep: the AUC of one group over the other comes close to 1/2 as `penalty` grows.

    Parameters
    ----------
    penalty : float
    loss : {"quadratic", "logistic", "squared_hinge"}
        Of a pair.
    C : float
        Inverse strength of the penalty on the weights, as in `AUCClassifier`.
    solver : "auto", a solver's name or a Solver
    tol : float
    max_steps : int

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn.
    correlation_ : float
        Of the scores of the training rows with the second group, in sorting order.
    result_ : Result

    Notes
    -----
    The absolute value has a kink where most solutions for large penalties lie. So with s the sign of the
    correlation without a penalty, the problem that is solved is to minimise ``loss + penalty s correlation``
    subject to ``s correlation >= 0``, which is smooth.

    References
    ----------
    Beutel et al. 2019.

    Examples
    --------
    >>> from equipoise.baselines import CorrelationPenalty
    >>> from equipoise.datasets import make_census
    >>> data = make_census(2000, seed=0)
    >>> model = CorrelationPenalty(penalty=10.0).fit(data.X, data.y, sensitive_features=data.groups)
    >>> bool(abs(model.correlation_) < 1e-3)
    True
    """

    _parameter_constraints: dict = {  # noqa: RUF012
        "penalty": [Interval(Real, 0, 1e20, closed="both")],
        "loss": [StrOptions(set(PAIR_LOSSES))],
        "C": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": [str, Solver],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        penalty: float = 1.0,
        *,
        loss: str = "quadratic",
        C: float = 1.0,
        solver: str | Solver = "auto",
        tol: float = 1e-6,
        max_steps: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> CorrelationPenalty:
        """Fit the model.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels of two classes.
        sensitive_features : array of shape (n,), or the name of a column of X
            Two groups.
        """
        check_parameters(self)
        rows = read_two_groups(self, X, y, sensitive_features)
        free = self._solved(self._problem(rows, 0.0, 1.0), np.zeros(rows.model.dim))
        correlation = Correlation.terms(rows.member.astype(float))
        value = float(correlation.at(rows.model.scores(free.x)).values[0])
        side = -1.0 if value < 0 else 1.0
        found = free
        if self.penalty > 0 and value != 0.0:
            found = self._solved(self._problem(rows, self.penalty, side), free.x)
        self.coef_, self.intercept_ = rows.units.coefficients(found.x)
        self.correlation_ = float(correlation.at(rows.model.scores(found.x)).values[0])
        self.result_ = found
        return self

    def _solved(self, problem: LearningProblem, start: np.ndarray) -> Any:
        return solve(problem, self.solver, start, tol=self.tol, max_steps=self.max_steps)

    def _problem(self, rows: TwoGroups, penalty: float, side: float) -> LearningProblem:
        """Return the loss, with a penalty on a correlation that must have one sign."""
        n = rows.model.n_rows
        pairs = PairSums(
            PAIR_LOSSES[self.loss](),
            rows.positive.astype(int),
            np.ones(n),
            above=[[0.0], [1.0 / np.count_nonzero(rows.positive)]],
            below=[[1.0 / np.count_nonzero(~rows.positive)], [0.0]],
        )
        options = {"l2": 1.0 / (self.C * n)}
        if penalty == 0.0:
            return LearningProblem.of(rows.model, Terms(pairs, Combination([[1.0]])), **options)
        sums, variance = Correlation.sums(rows.member.astype(float))
        correlation = Correlation(variance, side).placed(1)
        combination = Combination(
            [[1.0, 0.0, 0.0, 0.0], np.zeros(4)],
            names=["correlation turned over"],
            bent=[(0, correlation.times(penalty)), (1, correlation.times(-1.0))],
        )
        return LearningProblem.of(rows.model, Terms([pairs, *sums], combination), **options)
