"""AUC with a penalty on the correlation of scores and groups (after Beutel et al. 2019)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from equipoise.baselines._rows import LinearRanker, TwoGroups, read_two_groups
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.problems import LearningProblem
from equipoise.run import Result, solve
from equipoise.solvers import Solver
from equipoise.terms import PAIR_LOSSES, Combination, Correlation, PairSums, Terms


@dataclass(eq=False, repr=False)
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
    The absolute value has a kink at 0, where the solutions for all large penalties lie. With s the sign of
    the correlation without a penalty, the loss is first minimised subject to ``s correlation <= 0``; where
    the multiplier of this bound is at most `penalty`, that is the solution. Otherwise
    ``loss + penalty s correlation`` is minimised, which is smooth. Of both, the better one is kept.

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

    _parameter_constraints: ClassVar[dict] = {
        "penalty": [Interval(Real, 0, 1e20, closed="both")],
        "loss": [StrOptions(set(PAIR_LOSSES))],
        "C": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": [str, Solver],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
    }

    penalty: float = 1.0
    _: KW_ONLY
    loss: str = "quadratic"
    C: float = 1.0
    solver: str | Solver = "auto"
    tol: float = 1e-6
    max_steps: int = 1000

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
        column = rows.member.astype(float)
        correlation = Correlation.terms(column)

        def correlation_at(x: np.ndarray) -> float:
            return float(correlation.at(rows.model.scores(x)).values[0])

        loss = self._problem(rows, Terms(self._pairs(rows), Combination([[1.0]])))
        found = self._solved(loss, np.zeros(rows.model.dim))
        side = float(np.sign(correlation_at(found.x)))
        if self.penalty > 0 and side != 0.0:
            found = self._penalised(rows, column, side, found.x)
        self.coef_, self.intercept_ = rows.units.coefficients(found.x)
        self.correlation_, self.result_ = correlation_at(found.x), found
        return self

    def _penalised(
        self, rows: TwoGroups, column: np.ndarray, side: float, start: np.ndarray
    ) -> Result:
        """Return the solution at the kink, or one on the side of the model without a penalty."""
        sums, variance = Correlation.sums(column)
        inside, sums = Correlation(variance, side).placed(1), [self._pairs(rows), *sums]
        loss = np.eye(1, 4)
        bounded = Combination(
            np.vstack((loss, np.zeros(4))), names=["correlation"], bent=[(1, inside)]
        )
        at_kink = self._solved(self._problem(rows, Terms(sums, bounded)), start)
        multipliers = at_kink.multipliers
        if at_kink.success and multipliers is not None and multipliers[0] <= self.penalty:
            return at_kink
        penalised = Combination(loss, bent=[(0, inside.times(self.penalty))])
        problem = self._problem(rows, Terms(sums, penalised))
        beside = self._solved(problem, start)
        return min(beside, at_kink, key=lambda result: problem.at(result.x).objective)

    def _solved(self, problem: LearningProblem, start: np.ndarray) -> Result:
        return solve(problem, self.solver, start, tol=self.tol, max_steps=self.max_steps)

    def _problem(self, rows: TwoGroups, terms: Terms) -> LearningProblem:
        return LearningProblem.of(rows.model, terms, l2=1.0 / (self.C * rows.model.n_rows))

    def _pairs(self, rows: TwoGroups) -> PairSums:
        """Return the mean loss over the pairs of a positive and a negative row."""
        positive = rows.positive
        return PairSums(
            PAIR_LOSSES[self.loss](),
            positive.astype(int),
            np.ones(positive.size),
            above=[[0.0], [1.0 / np.count_nonzero(positive)]],
            below=[[1.0 / np.count_nonzero(~positive)], [0.0]],
        )
