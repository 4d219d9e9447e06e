"""IQRC: inexact quadratically regularised constrained method (Ma, Lin & Yang 2020; 2019 as IPC)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.problems import ProximalProblem
from equipoise.solvers._iqrc.from_oracle import OfOracle, guarantee_of, moduli, needs_of
from equipoise.solvers._methods.feasibility import FeasibilityPhase
from equipoise.solvers._methods.strong_switching import StrongSwitching
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.steps import InverseSqrt, StepRule, check_rule
from equipoise.solvers._parts.warm_start import Start, check_start, known_multipliers, start_from
from equipoise.solvers._solver import Claim, Finished, Guarantee, Need, Solver
from equipoise.solvers._staged import Staged

__all__ = ["IQRC"]


@dataclass(frozen=True)
class Outer:
    """The outer iterates the theory speaks of."""

    x: Array  # (d,) x_t
    before: Array  # (d,) x_{t-1}
    multipliers: np.ndarray | None  # (m,) of the last subproblem, where the oracle has them
    drawn: Array  # (d,) x_R, R uniform on 0 .. t-1
    t: int  # outer steps taken
    distance: float  # the bound of line 3 on |x_{t-1} - xhat(x_{t-1})|
    feasible: bool | None  # whether a start was found; None: still looking
    rho_hat: float
    rho: float

    @property
    def mu(self) -> float:
        """The strong-convexity modulus of the subproblems."""
        return self.rho_hat - self.rho


@dataclass(frozen=True, kw_only=True)
class IQRC(Staged[Outer]):
    r"""Solve proximal subproblems in which objective *and* constraints are regularised.

    0. x_0 <- a point with g <= eps_hat_0^2; where the start is none, the feasibility phase looks for it
    1. F_i(y) = f_i(y) + rho_hat/2 |y - x_t|^2, i = 0..m: (rho_hat - rho)-strongly convex
    2. x_{t+1} <- oracle(min F_0  s.t.  F_i <= 0): objective gap and constraints <= eps_hat_t^2
    3. stop if |x_{t+1} - x_t| + eps_hat_t sqrt(2 / (rho_hat - rho)) <= eps, and return x_t
    4. x_R <- x_t with probability 1 / (t + 1)

    Output: the last outer iterate (the nearly stationary x_t after a stop by line 3). The theorem's
    random output x_R is ``state.outer.drawn``.

    Guarantee: ``g(x_{t+1}) <= eps_hat_t^2``. After T = O(eps^-2) outer steps (`iqrc_theory`) x_R is
    nearly eps-stationary: E |x_R - xhat(x_R)|^2 <= eps^2, with xhat(x) the exact solution of the
    subproblem at x. The left side of line 3 bounds |x_t - xhat(x_t)|. All of this rests on the promise of
    the oracle in line 2, which a practical number of inner steps does not assure.

    Parameters
    ----------
    oracle : Oracle
        Solves the subproblems, each started at x_t.
    rho_hat : float, optional
        The prox parameter; by default twice the weak-convexity constant in the problem's facts, 1
        where that is 0. Where the facts do not know it, twice the largest fall of a gradient along secants
        from the start stands for it, which is a measurement and no bound.
    rho : float, optional
        That constant; by default from the facts or those secants, ``rho_hat / 2`` where `rho_hat`
        alone is given.
    eps_hat : StepRule
        The accuracy of outer step t is ``eps_hat(t)^2``. With `StrongSwitching` it sets the inner
        steps too, ``1 / eps_hat^2``: the default begins with short inner runs and makes them
        longer. Ma, Lin & Yang 2019 have ``Constant(1e-2)``, that is 10000 inner steps.
    eps : float, optional
        The near-stationarity at which line 3 stops; by default it never does.
    feasibility : FeasibilityPhase
        For line 0, with a budget; when that ends first, so does the run.
    multipliers : array of shape (m,), optional
        Handed to the oracle for the first subproblem.

    References
    ----------
    Ma, Lin & Yang 2019 and 2020, Algorithm 1, with R drawn from 0 .. T-1 as their proofs need.
    """

    name: ClassVar[str] = "iqrc"
    guarantee: ClassVar[Guarantee] = OfOracle(guarantee_of)  # type: ignore[assignment]
    needs: ClassVar[tuple[Need, ...]] = OfOracle(needs_of)  # type: ignore[assignment]
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-2, steps=20_000)

    oracle: Oracle = StrongSwitching()
    rho_hat: float | None = None
    rho: float | None = None
    eps_hat: StepRule = InverseSqrt(0.15)
    eps: float | None = None
    feasibility: FeasibilityPhase = FeasibilityPhase(steps=10_000)
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "IQRC"
        check_start(owner, self.multipliers)
        if not isinstance(self.oracle, Oracle):
            _check.fail(owner, "oracle", "must be an Oracle", self.oracle)
        if self.rho_hat is not None:
            _check.positive(owner, "rho_hat", self.rho_hat)
        if self.rho is not None:
            _check.non_negative(owner, "rho", self.rho)
        check_rule(owner, "eps_hat", self.eps_hat)
        _check.positive(owner, "eps_hat(0)", self.eps_hat(0))
        if self.eps is not None:
            _check.positive(owner, "eps", self.eps)
        if not isinstance(self.feasibility, FeasibilityPhase) or self.feasibility.steps is None:
            rule = "must be a FeasibilityPhase with `steps`"
            _check.fail(owner, "feasibility", rule, self.feasibility)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` for the first subproblem."""
        return start_from(self, result)

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first stage."""
        rho_hat, rho = moduli(problem, self.rho_hat, self.rho, x0)
        feasible = True if problem.at(x0).excess <= self.eps_hat(0) ** 2 else None
        lam = known_multipliers("IQRC", problem, self.multipliers)
        return Outer(x0, x0, lam, x0, 0, math.inf, feasible, rho_hat, rho)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the proximal subproblem at x_t; the problem itself while looking for a start."""
        if outer.feasible is None:
            return problem  # 0
        return ProximalProblem(problem, outer.x, outer.rho_hat)  # 1

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return the oracle, tuned to this subproblem."""
        accuracy = self.eps_hat(outer.t) ** 2
        if outer.feasible is None:
            return replace(self.feasibility, slack=accuracy)  # 0
        lam = None if outer.multipliers is None else np.maximum(outer.multipliers, 0.0)
        return self.oracle.tuned(mu=outer.mu, accuracy=accuracy, multipliers=lam)

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Move on to x_{t+1}."""
        x, (x_next, lam) = outer.x, solver.output(inner)  # 2
        if outer.feasible is None:  # 0
            found = solver.verdict(inner) is Status.FEASIBLE
            return replace(outer, x=x_next, before=x_next, drawn=x_next, feasible=found)
        t, eps_hat = outer.t, self.eps_hat(outer.t)
        distance = norm(x_next - x) + eps_hat * math.sqrt(2 / outer.mu)  # 3
        drawn = x if rng.random() * (t + 1) < 1 else outer.drawn  # 4
        return Outer(x_next, x, lam, drawn, t + 1, distance, True, outer.rho_hat, outer.rho)

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray | None]:
        """Return the last outer iterate, or the one that is proven nearly stationary."""
        return (outer.before if self._proven(outer) else outer.x), outer.multipliers

    def finished(self, outer: Outer) -> Status | None:
        """Stop without a feasible start, or by line 3."""
        if outer.feasible is False:
            return Status.LOCALLY_INFEASIBLE
        return Status.CONVERGED if self._proven(outer) else None

    def _proven(self, outer: Outer) -> bool:
        return self.eps is not None and outer.distance <= self.eps
