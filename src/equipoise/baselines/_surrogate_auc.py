"""AUC under a bound on a gap of AUCs, by the quadratic surrogate of Yao, Lin & Yang (2023)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from equipoise.baselines._rows import LinearRanker, read_two_groups, require_compared
from equipoise.constraints import AUC_PARITIES
from equipoise.estimators._runner import seed_of
from equipoise.estimators._sklearn import Interval, StrOptions, check_parameters
from equipoise.problems import AUCFairness
from equipoise.problems._auc_inputs import reachable_bound, surrogate
from equipoise.run import Iteration, solve
from equipoise.sets import L2Ball
from equipoise.solvers import Solver


@dataclass(eq=False, repr=False)
class SurrogateAUC(LinearRanker, BaseEstimator):
    """A linear model that ranks, with a quadratic surrogate of the AUC and of a bound on a gap of AUCs.

    The problem is `equipoise.problems.AUCFairness`. With ``solver="sfls"`` (or an `SFLS`) it is the level-set
    method of Yao, Lin & Yang; with ``solver="proxy_lagrangian"`` that of Cotter, Jiang & Sridharan, in which
    the surrogates give the gradients and AUCs by ranks the multipliers; ``"auto"`` solves the surrogate
    exactly. `AUCClassifier` meets bounds on the AUCs themselves, which no surrogate promises.

    Parameters
    ----------
    kind : str
        See `auc_parity`.
    bound : float
        kappa; at least ``2 c1 c2^2 - 1``.
    c1, c2 : float
        The loss of a pair is ``c1 (t - c2)^2`` of the difference t of its scores.
    radius : float
        Of the ball that holds the weights of scaled columns. With ``c2 = 1``, the best weights without a
        bound were no longer than 1.3 on three data sets.
    solver : str or Solver
    batch : int, optional
        The rows of a mini-batch; by default all, and never more than there are.
    tol : float
    max_steps : int
    snapshots : int
        So many iterates, spread evenly over `max_steps`, are kept in `path_`.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_ : as in scikit-learn.
    path_ : ndarray of shape (k, d)
        The coefficients of iterates, to choose from on other rows: the method's own answer comes last.
    result_ : Result

    References
    ----------
    Yao, Lin & Yang 2023.

    Examples
    --------
    >>> from equipoise.baselines import SurrogateAUC
    >>> from equipoise.datasets import make_census
    >>> data = make_census(2000, seed=0)
    >>> model = SurrogateAUC("inter", 0.1, solver="auto").fit(data.X, data.y, sensitive_features=data.groups)
    >>> model.result_.success
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "kind": [StrOptions(set(AUC_PARITIES))],
        "bound": [Interval(Real, None, None, closed="neither")],
        "c1": [Interval(Real, 0, None, closed="neither")],
        "c2": [Interval(Real, 0, None, closed="neither")],
        "radius": [Interval(Real, 1e-20, 1e20, closed="both")],
        "solver": [str, Solver],
        "batch": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "snapshots": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    kind: str = "inter"
    bound: float = 0.05
    _: KW_ONLY
    c1: float = 0.5
    c2: float = 1.0
    radius: float = 3.0
    solver: str | Solver = "sfls"
    batch: int | None = None
    tol: float = 1e-6
    max_steps: int = 3000
    snapshots: int = 0
    random_state: Any = None

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> SurrogateAUC:
        """Fit the model.

        Parameters
        ----------
        X, y, sensitive_features : as in `CorrelationPenalty.fit`
        """
        check_parameters(self)
        owner = type(self).__name__
        reachable_bound(owner, self.bound, surrogate(owner, self.c1, self.c2), "bound")
        rows = read_two_groups(self, X, y, sensitive_features)
        require_compared(owner, self.kind, rows.positive, rows.member)
        problem = AUCFairness(
            rows.model,
            rows.positive,
            rows.member,
            kind=self.kind,
            kappa=self.bound,
            c1=self.c1,
            c2=self.c2,
            domain=L2Ball(self.radius),
            batch=None if self.batch is None else min(self.batch, rows.model.n_rows),
        )
        path: list[np.ndarray] = []
        every = max(1, self.max_steps // max(1, self.snapshots))

        def keep(iteration: Iteration) -> None:
            if iteration.step % every == 0:
                path.append(np.array(iterate_of(iteration.state)[: problem.dim]))

        self.result_ = solve(
            problem,
            self.solver,
            tol=self.tol,
            max_steps=self.max_steps,
            seed=seed_of(self.random_state),
            callback=keep if self.snapshots else None,
        )
        path.append(self.result_.x)
        self.path_ = np.vstack([rows.units.coefficients(x)[0] for x in path])
        self.coef_, self.intercept_ = rows.units.coefficients(self.result_.x)
        return self


def iterate_of(state: Any) -> np.ndarray:
    """Return the iterate of a method, or of its inner method where it has two loops."""
    return getattr(state, "inner", state).x
