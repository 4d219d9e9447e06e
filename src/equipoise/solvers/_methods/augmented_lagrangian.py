"""Augmented Lagrangian method (Hestenes 1969; Powell 1969; as an oracle: Xu 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.certificate import Residuals
from equipoise.problems import AugmentedLagrangianMerit, MeritProblem
from equipoise.problems._merit import Violation
from equipoise.solvers._methods.apg import AcceleratedProjectedGradient
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.backtracking import Backtracking
from equipoise.solvers._parts.estimates import first_penalty
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._parts.stopping import (
    GapAndViolationAtMost,
    ResidualAtMost,
    StoppingRule,
    gap_bound,
)
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._solver import SMOOTH, Claim, Finished, Guarantee, Need, Solver
from equipoise.solvers._staged import Staged, StagedState

__all__ = ["AugmentedLagrangian"]

# Penalty and multipliers stay below this: an infeasible problem drives both up without end. Chosen.
LARGEST = 1e10

# The gradient of the squared violation at which step 0 ends: any start near the feasible set will do.
# Chosen.
RESTORATION_TOL = 1e-4


@dataclass(frozen=True)
class Outer:
    """The pair (x, lam), and how good it is."""

    x: Array  # (d,) iterate
    lam: np.ndarray  # (m,) multipliers
    b: float  # penalty parameter
    shortfall: float  # max_i |max(f_i, -lam_i / b)|: it bounds violation and complementarity
    residuals: Residuals  # of (x, lam)
    gap: float  # where the problem is convex, a bound on f_0(x) - f_0*
    n: float | None  # the inner method's step size
    restoring: bool  # whether the next subproblem is that of step 0
    loops: int  # loops finished


@dataclass(frozen=True, kw_only=True)
class AugmentedLagrangian(Staged[Outer], Oracle[StagedState[Outer]]):
    r"""Minimise the augmented Lagrangian, move the multipliers, raise the penalty; repeat.

    ``AL(y) = f_0(y) + 1/(2b) sum_i ([lam_i + b f_i(y)]_+^2 - lam_i^2)``; for j = 0, 1, ...

    0. once, when not used as an oracle and from an infeasible start: x <- a stationary point of
       sum_i [f_i]_+^2 / 2
    1. x <- a point of X with dist(-grad AL(x), N_X(x)) <= e_j, by accelerated projected gradients
    2. lam_i <- [lam_i + b f_i(x)]_+
    3. b <- growth * b, unless max_i |max(f_i(x), -lam_i/b)| fell below `progress` times its last value

    By itself it stops where the residual of (x, lam) is at most `tol`. As an oracle (`tuned`) it stops where
    the violation and a bound on the objective gap are at most `accuracy`; the bound (`stopping.gap_bound`)
    uses lam before its update.

    Output: the last (x, lam).

    Guarantee: for smooth strongly convex functions both oracle inequalities after
    O(accuracy^-1/2) gradients up to logarithms. For non-convex smooth ones limits are KKT points, or
    stationary for the violation.

    Parameters
    ----------
    penalty : float, optional
        The first b; by default 10, less where the constraints are steep.
    growth, progress : float
        Of step 3. Progress 0 raises the penalty in every loop, as the oracle of Ma, Lin & Yang 2019
        does.
    tol : float
        The residual to reach by itself.
    loops, steps : int
        Loops at the most, after which the verdict is `Status.STALLED`; inner steps in a loop at the most.
    mu, accuracy : float, optional
        Set by `tuned`: a strong-convexity modulus of the functions, and the gap and violation to reach.
        The modulus serves the bound on the gap only: the inner method's restarts find that of AL, which
        is larger.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default.

    References
    ----------
    Bertsekas 1982; Birgin & Martinez 2014; Xu 2021; Ma, Lin & Yang 2019, Remark 2.
    """

    name: ClassVar[str] = "augmented_lagrangian"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="strongly convex, smooth (as an oracle); smooth non-convex by itself",
        quantity="objective gap and violation <= eps",
        rate="O~(eps^-1/2)",
        reference="Xu 2021; Ma, Lin & Yang 2019, Remark 2",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH,)
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-5, steps=5_000)

    penalty: float | None = None
    growth: float = 3.0
    progress: float = 0.25
    tol: float = 1e-9
    loops: int = 50
    steps: int = 5_000
    mu: float = 0.0
    accuracy: float | None = None
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_start(owner, self.multipliers)
        check_positive_if_given(self, "penalty", "accuracy")
        if not _check.positive(owner, "growth", self.growth) > 1:
            _check.fail(owner, "growth", "must exceed 1", self.growth)
        _check.between(owner, "progress", self.progress, 0.0, 1.0)
        _check.non_negative(owner, "tol", self.tol)
        _check.count(owner, "loops", self.loops, least=1)
        _check.count(owner, "steps", self.steps, least=1)
        _check.non_negative(owner, "mu", self.mu)

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem."""
        return replace(self, mu=mu, accuracy=accuracy, multipliers=multipliers)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first loop."""
        lam = first_multipliers(type(self).__name__, problem, self.multipliers)
        point, inf = problem.at(x0), math.inf
        restoring = self.accuracy is None and point.violation > self.tol
        b = first_penalty(point) if self.penalty is None else self.penalty
        return Outer(x0, lam, b, inf, Residuals(inf, inf, inf), inf, None, restoring, 0)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the augmented Lagrangian (in step 0 the violation)."""
        if outer.restoring:
            return MeritProblem(problem, Violation())
        return MeritProblem(problem, AugmentedLagrangianMerit(outer.lam, outer.b))

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return accelerated projected gradients with this loop's tolerance."""
        e = self._rule.tolerance(problem.domain, outer.loops)
        e = RESTORATION_TOL if outer.restoring else e
        return AcceleratedProjectedGradient(
            step_size=Backtracking(outer.n), tol=e, steps=self.steps
        )

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Take in the minimiser."""
        x, _ = solver.output(inner)  # 0, 1
        if outer.restoring:
            return replace(outer, x=x, restoring=False)
        point, b = problem.at(x), outer.b
        f = point.constraints
        lam = np.clip(outer.lam + b * f, 0.0, LARGEST)  # 2
        residuals = Residuals.at(problem, point, lam)
        gap = gap_bound(problem.domain, self.mu, outer.lam, f, residuals.stationarity)
        shortfall = float(np.abs(np.maximum(f, -outer.lam / b)).max(initial=0.0))
        if shortfall > self.progress * outer.shortfall or self.progress == 0:  # 3
            b = min(self.growth * b, LARGEST)
        return Outer(x, lam, b, shortfall, residuals, gap, inner.n, False, outer.loops + 1)

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray]:
        """Return the last pair."""
        return outer.x, outer.lam

    def finished(self, outer: Outer) -> Status | None:
        """Stop where the result is good enough, or after `loops`."""
        if self._rule.reached(outer.residuals, outer.gap):
            return Status.CONVERGED
        return Status.STALLED if outer.loops >= self.loops else None

    @property
    def _rule(self) -> StoppingRule:
        if self.accuracy is None:
            return ResidualAtMost(self.tol)
        return GapAndViolationAtMost(self.accuracy, self.mu)
