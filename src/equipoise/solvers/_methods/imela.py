"""iMELa: inexact Moreau-envelope Lagrangian method (Huang, Lin & Xu 2025)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Point, Problem
from equipoise.certificate import Residuals
from equipoise.problems import Lagrangian, MeritProblem, ProximalProblem
from equipoise.solvers._methods.apg import AcceleratedProjectedGradient
from equipoise.solvers._parts.backtracking import Backtracking
from equipoise.solvers._parts.best_pair import BestPair
from equipoise.solvers._parts.dual_and_centre_steps import CentreStep, DualStep
from equipoise.solvers._parts.estimates import Constants, constants
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._solver import (
    CONVEX_CONSTRAINTS,
    SMOOTH,
    Claim,
    Finished,
    Guarantee,
    Need,
    Solver,
)
from equipoise.solvers._staged import Staged

__all__ = ["IMELa"]

# Where the centre step adapts: its first value, the outer steps without a clearly better pair after
# which it is halved, and its least value. Chosen; the first one matters (docs/constants.md): half of it
# takes 24 % less work on the reference problems, twice of it makes the method cycle.
FIRST_CENTRE_STEP, PATIENCE, LEAST_CENTRE_STEP = 0.5, 200, 0.05

# Stands for a smoothness that overflows, so that steps have a length.
LARGEST = 1e300


@dataclass(frozen=True)
class Outer:
    """Iterate, centre, multipliers, and the best pair so far."""

    x: Array  # (d,) iterate
    z: Array  # (d,) centre of the Moreau envelope
    lam: np.ndarray  # (m,) multipliers that belong to x
    ahead: np.ndarray  # (m,) multipliers of the next subproblem
    best: BestPair
    constants: Constants
    dual: DualStep
    centre: CentreStep
    n: float | None  # the inner method's step size, where it adapts
    t: int  # outer steps taken


@dataclass(frozen=True, kw_only=True)
class IMELa(Staged[Outer]):
    r"""Ascend the multipliers, minimise the proximal Lagrangian, let the centre follow.

    With ``Lp(x, z, lam) = f_0(x) + lam'f(x) + p/2 |x - z|^2``; for t = 0, 1, ...

    1. lam <- [lam + tau f(x)]_+
    2. x <- a point of X with dist(-grad_x Lp(x, z, lam), N_X(x)) <= min(1, c / (t + 1)), from x on, by
       accelerated projected gradients
    3. z <- z + theta (x - z)

    Output: the pair (x, lam) with the least residual, as the examiner measures it (`Residuals`); the
    theorem only says that a good one exists. The last pair is in the state.

    Guarantee: some pair is an eps-KKT point after O(eps^-2 log(1/eps)) gradients, for tau and theta
    small enough (`imela_theory`), on a compact polytope with a Slater point and a local error bound.

    Parameters
    ----------
    prox : float, optional
        p, larger than L. By default ``max(2 rho, L / 10)`` where the weak convexity rho of the functions
        is known, else 2 L, as in the paper.
    dual_step : float, optional
        tau. By default ``mu / |J|^2``, mu the strong convexity of Lp, with the slope ``|J|`` of the
        constraints in play measured at every x.
    centre_step : float, optional
        theta in (0, 1]. Too large a one makes the method cycle. By default 0.5, halved (down to
        0.05) after every 200 outer steps without a pair better by a tenth.
    inner_tol : float
        c.
    smoothness : float, optional
        L, of all functions; by default from the problem's facts. Where they do not know it, twice
        the curvature at the start of the objective and the worst constraint is taken, and the
        inner step size adapts.
    steps : int
        The most inner steps in an outer one.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default.

    References
    ----------
    Huang, Lin & Xu 2025, Algorithm 1.
    """

    name: ClassVar[str] = "imela"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex objective, smooth convex constraints, polytope",
        quantity="eps-KKT: stationarity, violation, complementarity",
        rate="O(eps^-2 log 1/eps)",
        reference="Huang, Lin & Xu 2025, Theorem 5.10",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, CONVEX_CONSTRAINTS)
    claim: ClassVar[Claim] = Claim(("bilinear", "convex"), residual=1e-5, steps=10_000)

    prox: float | None = None
    dual_step: float | None = None
    centre_step: float | None = None
    inner_tol: float = 1.0
    smoothness: float | None = None
    steps: int = 10_000
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_start(owner, self.multipliers)
        check_positive_if_given(self, "prox", "dual_step", "centre_step", "smoothness")
        if self.centre_step is not None:
            _check.between(owner, "centre_step", self.centre_step, 0, 1)
        _check.positive(owner, "inner_tol", self.inner_tol)
        _check.count(owner, "steps", self.steps, least=1)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first stage."""
        known = constants(type(self).__name__, problem, x0, self.smoothness, self.prox)
        lam = first_multipliers(type(self).__name__, problem, self.multipliers)
        dual = DualStep(self.dual_step or 0.0)
        centre = CentreStep(self.centre_step or FIRST_CENTRE_STEP)
        return self._ahead(
            problem.at(x0), Outer(x0, x0, lam, lam, BestPair(x0, lam), known, dual, centre, None, 0)
        )

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the minimisation of the proximal Lagrangian."""
        proximal = ProximalProblem(problem, outer.z, outer.constants.p, constraints=False)
        return MeritProblem(proximal, Lagrangian(outer.ahead))

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return accelerated projected gradients with this stage's tolerance."""
        known = self.smoothness is not None or problem.facts.smoothness is not None
        K = outer.constants.L * (1 + float(outer.ahead.sum())) + outer.constants.p
        return AcceleratedProjectedGradient(
            mu=outer.constants.mu,
            step_size=1 / min(K, LARGEST) if known else Backtracking(outer.n),
            tol=min(1.0, self.inner_tol / (outer.t + 1)),
            steps=self.steps,
        )

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Take in the minimiser, and move on to the next subproblem."""
        (x, _), lam, centre = solver.output(inner), outer.ahead, outer.centre  # 2
        z = outer.z + centre.theta * (x - outer.z)  # 3
        point = problem.at(x)
        residual = Residuals.at(problem, point, lam).largest
        if self.centre_step is None:
            centre = centre.after(residual, outer.best.residual, PATIENCE, LEAST_CENTRE_STEP)
        best, t = outer.best.or_better(x, lam, residual), outer.t + 1
        return self._ahead(
            point, Outer(x, z, lam, lam, best, outer.constants, outer.dual, centre, inner.n, t)
        )

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray]:
        """Return the pair with the least residual."""
        return outer.best.x, outer.best.lam

    def _ahead(self, point: Point, outer: Outer) -> Outer:
        """Move the multipliers of the next subproblem."""
        dual = outer.dual
        if self.dual_step is None:
            dual = dual.measured(point, outer.lam, outer.constants.mu)
        ahead = np.maximum(outer.lam + dual.tau * point.constraints, 0.0)  # 1
        return replace(outer, dual=dual, ahead=ahead)
