"""Online stochastic subgradient method with virtual queues (Yu, Neely & Wei 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._solver import Claim, Finished, Guarantee

__all__ = ["YuNeelyWei"]


@dataclass(frozen=True)
class State:
    """The iterate, the queues, and the mean the theory returns."""

    z: Array  # (d,) iterate
    Q: np.ndarray  # (m,) virtual queues, >= 0; Q / V estimates the multipliers
    mean: Array  # (d,) mean of z_0 .. z_{k-1}
    k: int  # steps taken


@dataclass(frozen=True, kw_only=True)
class YuNeelyWei(Oracle[State]):
    r"""Descend along a Lagrangian whose multipliers are queues of the violation so far.

    Each step sees one mini-batch: values ``th_i`` and subgradients ``ze_i`` at z; Q starts at 0.

    1. z+ <- P_X(z - (V ze_0 + sum_i Q_i ze_i) / (2 alpha))
    2. Q_i <- max(Q_i + th_i + <ze_i, z+ - z>, 0)
    3. z <- z+

    Output: stand-alone the last iterate, as an oracle (`tuned`) the mean of ``z_0 .. z_{K-1}`` that
    the theory speaks of; the multipliers ``Q / V``.

    Guarantee: for convex functions, with V = sqrt(K) and alpha = K, objective gap and every constraint
    at the mean are O(log(K / delta) / sqrt(K)) with probability 1 - delta (`high_probability_bounds`).
    There is no theory for non-convex problems; Ma, Lin & Yang 2019 ran it on them as a baseline.

    Parameters
    ----------
    steps : int
        K.
    objective_weight : float, optional
        V, by default sqrt(K).
    damping : float, optional
        alpha, by default K.
    returns : {"last", "mean"}
        The point to return.
    multipliers : array of shape (m,), optional
        The queues start at V times these; 0 by default.

    Notes
    -----
    Line 1 is one backward pass. Line 2 is one forward pass where the problem has one (`Point.push`), as
    learning problems have. Else it needs gradients one by one, but only where the new queue can be
    positive: with a known bound M on the gradients, ``Q_i + th_i + M |z+ - z| <= 0`` settles the rest
    without them. So a step costs 1 backward pass plus one for every nearly active constraint; and
    1 + m where M is unknown, and on mini-batches, which M need not bound.

    References
    ----------
    Yu, Neely & Wei 2017; Ma, Lin & Yang 2019 and 2020, Algorithm 3 (with the regularised subgradients in
    line 1, which their boxes drop).
    """

    name: ClassVar[str] = "yu_neely_wei"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex, non-smooth, stochastic",
        quantity="objective gap and violation of the mean <= eps, with probability 1 - delta",
        rate="O~(eps^-2)",
        reference="Yu, Neely & Wei 2017; Ma, Lin & Yang 2019, Algorithm 3 and Theorem 3",
    )
    claim: ClassVar[Claim] = Claim(("convex", "auc"), residual=1e-2, steps=10_000)

    steps: int = 10_000
    objective_weight: float | None = None
    damping: float | None = None
    returns: str = "last"
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "YuNeelyWei"
        check_start(owner, self.multipliers)
        _check.count(owner, "steps", self.steps, least=1)
        check_positive_if_given(self, "objective_weight", "damping")
        _check.choice(owner, "returns", self.returns, ("last", "mean"))

    @property
    def _V(self) -> float:
        return math.sqrt(self.steps) if self.objective_weight is None else self.objective_weight

    @property
    def _alpha(self) -> float:
        return self.steps if self.damping is None else self.damping

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem: it returns the mean, and starts at Q = 0."""
        return replace(self, returns="mean")

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        lam = first_multipliers("YuNeelyWei", problem, self.multipliers)
        return State(z=x0, Q=self._V * lam, mean=x0, k=0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        z, Q, V, alpha = state.z, state.Q, self._V, self._alpha
        batch = problem.sample(rng)
        point = batch.at(z)
        d = point.vjp(np.concatenate(([V], Q)))
        after = problem.domain.project(z - d / (2 * alpha))  # 1
        M = problem.facts.lipschitz if batch is problem else None  # a batch may be steeper
        Q = _queues(point, Q, after - z, M)  # 2
        mean = state.mean + (z - state.mean) / (state.k + 1)
        return State(after, Q, mean, state.k + 1)  # 3

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the last iterate or the mean, and the multipliers Q / V."""
        return (state.z if self.returns == "last" else state.mean), state.Q / self._V

    def verdict(self, state: State) -> Status | None:
        """Stop after K steps."""
        return Status.MAX_STEPS if state.k >= self.steps else None


def _queues(point: Point, Q: np.ndarray, step: Array, M: float | None) -> np.ndarray:
    """Return ``max(Q_i + th_i + <ze_i, step>, 0)``, without the gradients that cannot matter."""
    filled = Q + point.constraints
    reach = math.inf if M is None else M * norm(step)
    unsettled = np.flatnonzero(filled + reach > 0)
    if unsettled.size:
        filled[unsettled] += point.along(step, 1 + unsettled)
    return np.maximum(filled, 0.0)
