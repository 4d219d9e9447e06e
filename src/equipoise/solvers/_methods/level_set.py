"""The feasible level-set method (Lin, Nadarajah & Soheili 2018; Yao, Lin & Yang 2023, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.problems import Maximum, MeritProblem
from equipoise.solvers._minmax.minmax import MinMax
from equipoise.solvers._minmax.prox_linear import MinMaxProxLinear
from equipoise.solvers._minmax.proximal_bundle import ProximalBundle
from equipoise.solvers._minmax.subgradient import MinMaxSubgradient
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._solver import CONVEX, Claim, Guarantee, Need, Solver
from equipoise.solvers._staged import Staged, StagedState

__all__ = ["LevelSet", "MinMax", "MinMaxSubgradient", "ProximalBundle", "MinMaxProxLinear"]

# How often a stage that ran out of its budget is taken again, each time twice as long. Chosen.
RETRIES = 3

# As an oracle, the method solves to this share of the accuracy asked for, because it must prove its gap.
# Chosen.
SHARE_OF_ACCURACY = 1e-3

# The relative accuracy while a feasible point is looked for: to show that there is none takes a tight
# bound. Chosen.
FEASIBILITY_ACCURACY = 1e-3


@dataclass(frozen=True)
class Outer:
    """The last iterate, and the level to solve next."""

    x: Array  # (d,) last iterate; feasible where the level is finite
    level: float  # r; infinite while a feasible point is looked for
    upper: float  # U of the stage before; infinite before the first
    gap: float  # bound on f_0(x) - f*
    multipliers: np.ndarray | None
    retries: int = 0
    ended: bool = False


@dataclass(frozen=True, kw_only=True)
class LevelSet(Oracle[StagedState[Outer]], Staged[Outer]):
    r"""Find the root of ``H(r) = min_X P(r, x)``, ``P(r, x) = max{f_0 - r, f_1, .., f_m}``, from above.

    0. where x0 is not feasible: lower max_i f_i over X until it is negative; r <- f_0(x)
    1. (x, U) <- an approximate minimiser of P(r, .) and U = P(r, x) >= H(r)
    2. stop if U >= -eps_opt
    3. r <- r + U / (2 theta)

    The inner method stops once ``U - lower <= accuracy max(eps_opt, |U|)`` with a proven lower bound
    of H(r). Since U is the exact value at x, ``f* <= f_0(x) <= r + U``: levels stay above ``f*`` and
    iterates feasible for every theta >= 1/2, whatever the inner accuracy. A stage that ends without
    a tight bracket and without a step is taken again, longer, up to three times.

    Output: the last iterate; as multipliers the weights of the constraints over the objective's
    in the inner dual problem.

    Guarantee: every iterate is feasible, and ``r - f*`` falls by at least the factor
    ``1 - w_0 / (2 theta (1 + accuracy))`` per stage, ``w_0 = 1 / (1 + sum of the multipliers)`` at r.

    Parameters
    ----------
    theta : float
        At least 1/2. The papers' theory has theta > 1 with accuracy
        ``(theta - 1) / (2 theta (theta + 1))``, their experiments theta = 1.
    eps_opt : float
    level : float, optional
        The first r, above the optimal value; by default, and where it proves to be too low, f_0 at
        a feasible point.
    accuracy : float
        Of the inner problems, relative to U.
    mu : float
        A strong-convexity modulus of every function.
    gap : float
        Stop too when ``f_0(x) - f*`` is proven to be at most this. (On an unbounded domain with mu = 0
        the lower bounds leave out points far away, and prove nothing about those.)
    inner_method : MinMax, optional
        By default `MinMaxProxLinear` where the functions are known to be smooth, else `ProximalBundle`.
        `MinMaxSubgradient` has cheap steps, for problems where those of the others cost too much.

    References
    ----------
    Lin, Nadarajah & Soheili 2018; Yao, Lin & Yang 2023, Algorithm 1.
    """

    name: ClassVar[str] = "level_set"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex",
        quantity="relative gap <= eps; all iterates feasible",
        rate="O~(eps^-1) smooth, O~(eps^-2) non-smooth; stages: O(log 1/eps)",
        reference="Lin, Nadarajah & Soheili 2018; Yao, Lin & Yang 2023, Algorithm 1",
    )
    needs: ClassVar[tuple[Need, ...]] = (CONVEX,)
    claim: ClassVar[Claim] = Claim(("convex", "auc"), residual=1e-5, steps=5_000)

    theta: float = 1.0
    eps_opt: float = 1e-8
    level: float | None = None
    accuracy: float = 0.1
    mu: float = 0.0
    gap: float = 0.0
    inner_method: MinMax | None = None

    def __post_init__(self) -> None:
        owner = "LevelSet"
        if not _check.positive(owner, "theta", self.theta) >= 0.5:
            _check.fail(owner, "theta", "must be at least 0.5", self.theta)
        _check.positive(owner, "eps_opt", self.eps_opt)
        _check.positive(owner, "accuracy", self.accuracy)
        _check.non_negative(owner, "mu", self.mu)
        _check.non_negative(owner, "gap", self.gap)
        if self.level is not None:
            _check.real(owner, "level", self.level)
        if not isinstance(self.inner_method, MinMax | None):
            _check.fail(owner, "inner_method", "must be a MinMax or None", self.inner_method)

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem."""
        return replace(
            self, mu=mu, gap=accuracy, eps_opt=min(self.eps_opt, SHARE_OF_ACCURACY * accuracy)
        )

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the state before the first stage."""
        point = problem.at(x0)
        level = self.level
        if level is None:
            level = point.objective if point.excess <= 0 else math.inf  # 0
        return Outer(x0, level, math.inf, math.inf, None)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return P(r, .); without the objective where r is infinite."""
        return MeritProblem(problem, Maximum(outer.level))

    def inner(self, problem: Problem, outer: Outer) -> MinMax:
        """Return the inner method, set up for this stage."""
        smooth = problem.facts.smooth is True
        method = self.inner_method or (MinMaxProxLinear() if smooth else ProximalBundle())
        goals = {"mu": self.mu, "accuracy": self.accuracy, "smallest": self.eps_opt}
        if math.isinf(outer.level):  # any feasible point will do
            goals |= {"accuracy": min(self.accuracy, FEASIBILITY_ACCURACY), "target": 0.0}
        return method.set_up(longer=2**outer.retries, **goals)

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Lower the level."""
        found = solver.bracket(inner)  # type: ignore[attr-defined]
        r, x, U, w = outer.level, found.x, found.upper, found.weights  # 1
        if math.isinf(r) and U <= 0:
            return Outer(x, problem.at(x).objective, math.inf, math.inf, None)  # 0
        if math.isfinite(r) and U > 0:  # the level given was too low
            return Outer(x, math.inf, math.inf, math.inf, None)
        lam = w[1:] / w[0] if w[0] > 0 else None
        gap = U - found.lower / float(w[0]) if w[0] > 0 else math.inf
        if math.isinf(r) or found.upper >= -self.eps_opt:  # 2
            ended = solver.reached(found) or outer.retries >= RETRIES  # type: ignore[attr-defined]
            return Outer(x, r, U, gap, lam, outer.retries + 1, ended)
        return Outer(x, r + U / (2 * self.theta), U, gap, lam)  # 3

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray | None]:
        """Return the last iterate and its multipliers."""
        return outer.x, outer.multipliers

    def finished(self, outer: Outer) -> Status | None:
        """Stop at a root, where no level can be reached, or with the gap asked for."""
        if outer.ended and math.isinf(outer.level):
            return Status.LOCALLY_INFEASIBLE
        return Status.STALLED if outer.ended or outer.gap <= self.gap else None
