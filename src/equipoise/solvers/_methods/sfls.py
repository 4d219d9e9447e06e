"""The stochastic feasible level-set method (Yao, Lin & Yang 2023, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._methods.smd import SMD, level_above
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._solver import CONVEX, SADDLE, Claim, Guarantee, Need, Solver
from equipoise.solvers._staged import Staged, StagedState

__all__ = ["SFLS"]


@dataclass(frozen=True)
class Outer:
    """The last iterate, and the level to solve next."""

    x: np.ndarray  # (d,) last iterate
    multipliers: np.ndarray | None
    level: float  # r
    upper: float  # U of the stage before; infinite before the first
    eps_opt: float | None  # None before it follows from the first U < 0
    start: np.ndarray  # (d,) where the next stage starts
    dual_start: tuple[np.ndarray, np.ndarray] | None = None  # and with which y and alpha
    stages: int = 0
    tries: int = 0  # at this level
    ended: bool = False


@dataclass(frozen=True, kw_only=True)
class SFLS(Oracle[StagedState[Outer]], Staged[Outer]):
    r"""Find the root of ``H(r) = min_w max{f_0(w) - r, f_1(w), .., f_m(w)}`` by mirror descent at levels r.

    1. (w, U) <- SMD at the level r: P(r, w) and U are near H(r)
    2. where U >= -eps_opt: stop, or first try again, twice as long
    3. r <- r + U / (2 theta)

    Output: w of the last stage with U <= 0, which proves it feasible, and its multipliers. Where the first
    stage already has U > 0, the level was too low or T too small, and its w is returned.

    Guarantee: on all rows, U bounds ``P(r, w)``, so every iterate with U <= 0 is feasible and no r falls
    below the optimal value. On mini-batches so with probability 1 - delta, if SMD is accurate to
    ``-(theta - 1) H(r_0) eps / (2 theta^2 (theta + 1))``, in O~(eps^-2 log(1/delta)) steps in all; the last w
    then has ``f_0(w) - f* <= eps (f_0(w_0) - f*)``. The number of levels is only logarithmic in 1/eps.

    Parameters
    ----------
    theta : float
        Above 1 in theory; the experiments of the paper have 1.
    eps : float
        The relative accuracy: ``eps_opt = -U eps / theta``, with the first U below 0.
    eps_opt : float, optional
        In the place of what follows from `eps`.
    level : float, optional
        The first r, above the optimal value; by default 0.1 more than the objective at the start, or
        at 0 where the start is not feasible.
    max_levels : int
        Stop after so many levels.
    warm : bool
        Start every SMD run where the last one ended, which takes far fewer steps. The theory has all of
        them begin where the first did.
    retries : int
        How often a level is tried again before the method stops: U may be large because T was small. The
        paper has 0.
    inner_method : SMD
        Its `level` and its `dual_start` are set for every stage.

    References
    ----------
    Yao, Lin & Yang 2023, Algorithm 1.
    """

    name: ClassVar[str] = "sfls"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex with a min-max form, stochastic",
        quantity="relative gap <= eps; all iterates feasible, with probability 1 - delta",
        rate="O~(eps^-2 log(1/delta)) steps of mirror descent in all",
        reference="Yao, Lin & Yang 2023, Proposition 1 and Theorem 1",
    )
    needs: ClassVar[tuple[Need, ...]] = (CONVEX, SADDLE)
    claim: ClassVar[Claim] = Claim()

    theta: float = 2.0
    eps: float = 0.1
    eps_opt: float | None = None
    level: float | None = None
    max_levels: int = 100
    warm: bool = True
    retries: int = 2
    inner_method: SMD = SMD(steps=300)

    def __post_init__(self) -> None:
        owner = "SFLS"
        if not _check.positive(owner, "theta", self.theta) >= 0.5:
            _check.fail(owner, "theta", "must be at least 0.5", self.theta)
        _check.positive(owner, "eps", self.eps)
        check_positive_if_given(self, "eps_opt")
        if self.level is not None:
            _check.real(owner, "level", self.level)
        _check.count(owner, "max_levels", self.max_levels, least=1)
        _check.flag(owner, "warm", self.warm)
        _check.count(owner, "retries", self.retries)
        _check.kind(owner, "inner_method", self.inner_method, SMD)

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem: it stops at ``U >= -accuracy``.

        The objective gap is then at most ``(accuracy + U - H(r)) (1 + sum of the multipliers)``.
        """
        return replace(self, eps_opt=accuracy)

    def begin(self, problem: Problem, x0: np.ndarray) -> Outer:
        """Return the outer state before the first stage."""
        level = level_above(problem, x0) if self.level is None else self.level
        return Outer(x0, None, level, math.inf, self.eps_opt, x0)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the problem itself: the level is set on the inner method."""
        return problem

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return mirror descent at this level."""
        longer = self.inner_method.steps * 2**outer.tries
        dual = outer.dual_start
        return replace(self.inner_method, level=outer.level, steps=longer, dual_start=dual)

    def inner_start(self, outer: Outer) -> np.ndarray:
        """Return where this stage starts."""
        return outer.start

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Lower the level."""
        r, U = outer.level, self.inner_method.upper(problem, inner)  # 1
        x, lam = solver.output(inner)
        if U > 0 and outer.stages > 0:
            x, lam = outer.x, outer.multipliers
        eps_opt = outer.eps_opt
        if eps_opt is None and U < 0:
            eps_opt = -U * self.eps / self.theta
        start, dual = outer.start, outer.dual_start
        if self.warm:
            start, dual = inner.x[: problem.dim], (inner.y, inner.alpha)
        stages = outer.stages + 1
        ended, tries = stages >= self.max_levels, 0
        if U + (eps_opt or 0.0) >= 0:  # 2
            ended, tries = ended or outer.tries >= self.retries, outer.tries + 1
        else:
            r = r + U / (2 * self.theta)  # 3
        return Outer(x, lam, r, U, eps_opt, start, dual, stages, tries, ended)

    def answer(self, outer: Outer) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the last iterate and its multipliers."""
        return outer.x, outer.multipliers

    def finished(self, outer: Outer) -> Status | None:
        """Stop at a root, or after so many levels."""
        return Status.STALLED if outer.ended else None
