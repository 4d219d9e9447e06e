"""Augmented Lagrangian method (Hestenes, Powell, Rockafellar; as an oracle: Xu 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise.problem import Point, Problem
from equipoise.problems import merit
from equipoise.problems.merit import Merit, MeritProblem
from equipoise.solvers.apg import AcceleratedProjectedGradient, Backtracking
from equipoise.solvers.oracle import Oracle
from equipoise.solvers.solver import SMOOTH, Guarantee, Need, Solver
from equipoise.solvers.staged import Staged, StagedState
from equipoise.status import Status

LARGEST = 1e10  # penalty and multipliers stay below it: an infeasible problem drives both up
RESTORED = 1e-4  # gradient of the violation at which step 0 ends


@dataclass(frozen=True)
class Violation(Merit):
    """``sum_i [f_i]_+^2 / 2``."""

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        over = np.maximum(values[1:], 0.0)
        return float(0.5 * over @ over), np.concatenate(([0.0], over))


@dataclass(frozen=True)
class Outer:
    """The pair (x, lam), and how good it is."""

    x: Array  # (d,) iterate
    lam: np.ndarray  # (m,) multipliers
    b: float  # penalty parameter
    shortfall: float  # max_i |max(f_i, -lam_i / b)|: violation and complementarity in one
    distance: float  # dist(-grad f_0 - sum_i lam_i grad f_i, N_X)
    gap: float  # where the problem is convex, a bound on f_0(x) - f_0*
    residual: float  # the largest of distance, violation and complementarity
    violation: float  # max(0, max_i f_i)
    n: float | None  # the inner method's step size
    restoring: bool  # whether the next subproblem is that of step 0
    loops: int  # loops finished


@dataclass(frozen=True, kw_only=True)
class AugmentedLagrangian(Staged[Outer], Oracle[StagedState[Outer]]):
    r"""Minimise the augmented Lagrangian, move the multipliers, raise the penalty; repeat.

    ``AL(y) = f_0(y) + 1/(2b) sum_i ([lam_i + b f_i(y)]_+^2 - lam_i^2)``; for j = 0, 1, ...

    0. once, by itself and from an infeasible start: x <- a stationary point of sum_i [f_i]_+^2 / 2
    1. x <- a point of X with dist(-grad AL(x), N_X(x)) <= e_j, by accelerated projected gradients
    2. lam_i <- [lam_i + b f_i(x)]_+
    3. b <- growth * b, unless max_i |max(f_i(x), -lam_i/b)| fell below `progress` times its last value

    By itself it stops where stationarity, violation and complementarity of (x, lam) are at most
    `tol`, with ``e_j = max(10^-(j+1), tol / 2)``. As an oracle (`tuned`) it stops where, lam before its
    update and D the diameter of the domain, ``max_i f_i <= accuracy`` and
    ``sum_i |lam_i f_i| + min(D dist, dist^2 / (2 mu)) <= accuracy``: this bounds the objective gap.

    Output: the last (x, lam).

    Guarantee: for smooth strongly convex functions both oracle inequalities after
    O(accuracy^-1/2) gradients up to logarithms. For non-convex smooth ones limits are KKT points, or
    stationary for the violation.

    Parameters
    ----------
    penalty : float, optional
        The first b. By default 10, or ``1000 / |grad f_i|^2`` where the worst constraint at the start
        is steeper than 10.
    growth : float
        The factor s of the penalty.
    progress : float
        0 raises the penalty in every loop, the schedule of the oracle in P000.
    tol : float
        The residual to reach.
    loops : int
        The most loops; then the verdict is `Status.STALLED`.
    steps : int
        The most inner steps in a loop.
    mu : float
        A strong-convexity modulus of the functions, 0 where there is none; for the bound on the gap
        only. (The inner method's restarts find the modulus of AL, which the penalty makes larger.)
    accuracy : float, optional
        Objective gap and violation to reach as an oracle; set by `tuned`.
    multipliers : tuple of float, optional
        Where to start; 0 by default.

    References
    ----------
    Bertsekas 1982; Birgin & Martinez 2014; Xu 2021; P000, Remark 2.
    """

    name: ClassVar[str] = "augmented_lagrangian"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="strongly convex, smooth (as an oracle); smooth non-convex by itself",
        quantity="objective gap and violation <= eps",
        rate="O~(eps^-1/2)",
        reference="Xu 2021; P000, Remark 2",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH,)

    penalty: float | None = None
    growth: float = 3.0
    progress: float = 0.25
    tol: float = 1e-9
    loops: int = 50
    steps: int = 5_000
    mu: float = 0.0
    accuracy: float | None = None
    multipliers: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.penalty is not None:
            _check.positive(owner, "penalty", self.penalty)
        if not _check.positive(owner, "growth", self.growth) > 1:
            _check.fail(owner, "growth", "must exceed 1", self.growth)
        _check.between(owner, "progress", self.progress, 0.0, 1.0)
        _check.non_negative(owner, "tol", self.tol)
        _check.count(owner, "loops", self.loops, least=1)
        _check.count(owner, "steps", self.steps, least=1)
        _check.non_negative(owner, "mu", self.mu)
        if self.accuracy is not None:
            _check.positive(owner, "accuracy", self.accuracy)

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem."""
        start = None if multipliers is None else tuple(float(lam) for lam in multipliers)
        return replace(self, mu=mu, accuracy=accuracy, multipliers=start)

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first loop."""
        lam = np.zeros(problem.n_constraints)
        if self.multipliers is not None:
            lam = _check.vector(type(self).__name__, "multipliers", self.multipliers, lam.size)
            lam = np.maximum(lam, 0.0)
        point, inf = problem.at(x0), math.inf
        restoring = self.accuracy is None and point.violation > self.tol
        return Outer(x0, lam, self._penalty(point), inf, inf, inf, inf, inf, None, restoring, 0)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the augmented Lagrangian (in step 0 the violation)."""
        if outer.restoring:
            return MeritProblem(problem, Violation())
        return MeritProblem(problem, merit.AugmentedLagrangian(outer.lam, outer.b))

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return accelerated projected gradients with this loop's tolerance."""
        return AcceleratedProjectedGradient(
            step_size=Backtracking(outer.n),
            tol=RESTORED if outer.restoring else self._tolerance(problem, outer.loops),
            steps=self.steps,
        )

    def warm(self, outer: Outer) -> Array:
        """Start from the last iterate."""
        return outer.x

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Take in the minimiser."""
        x, _ = solver.output(inner)  # 0, 1
        if outer.restoring:
            return replace(outer, x=x, restoring=False)
        point = problem.at(x)
        f, b = point.constraints, outer.b
        lam = np.clip(outer.lam + b * f, 0.0, LARGEST)  # 2
        distance = problem.domain.normal_distance(x, -point.lagrangian_gradient(lam))
        error = problem.domain.diameter * distance
        if self.mu > 0:
            error = min(error, distance**2 / (2 * self.mu))
        shortfall = float(np.abs(np.maximum(f, -outer.lam / b)).max(initial=0.0))
        if shortfall > self.progress * outer.shortfall or self.progress == 0:  # 3
            b = min(self.growth * b, LARGEST)
        return Outer(
            x=x,
            lam=lam,
            b=b,
            shortfall=shortfall,
            distance=distance,
            gap=float(np.abs(outer.lam * f).sum()) + error,
            residual=max(distance, point.violation, float(np.abs(lam * f).sum())),
            violation=point.violation,
            n=inner.n,
            restoring=False,
            loops=outer.loops + 1,
        )

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray]:
        """Return the last pair."""
        return outer.x, outer.lam

    def finished(self, outer: Outer) -> Status | None:
        """Stop by the oracle's rule when tuned, by the residual otherwise, or after `loops`."""
        if self.accuracy is None:
            done = outer.residual <= self.tol
        else:
            done = max(outer.violation, outer.gap) <= self.accuracy
        if done:
            return Status.CONVERGED
        return Status.STALLED if outer.loops >= self.loops else None

    def _penalty(self, point: Point) -> float:
        """The first penalty."""
        if self.penalty is not None:
            return self.penalty
        if not point.constraints.size:
            return 10.0
        slope = norm(point.gradient(point.worst))
        return 10.0 / max(1.0, 0.1 * slope) ** 2

    def _tolerance(self, problem: Problem, loop: int) -> float:
        """The accuracy e_j of a loop."""
        if self.accuracy is None:
            return max(0.1 ** (loop + 1), 0.5 * self.tol)
        if math.isfinite(problem.domain.diameter):
            return self.accuracy / (10 * max(1.0, problem.domain.diameter))
        return math.sqrt(0.2 * self.mu * self.accuracy)
