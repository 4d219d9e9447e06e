"""iMELa: inexact Moreau-envelope Lagrangian method (P004)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.problem import Point, Problem
from equipoise.problems.merit import Lagrangian, MeritProblem
from equipoise.problems.proximal import ProximalProblem
from equipoise.solvers.apg import AcceleratedProjectedGradient, Backtracking
from equipoise.solvers.estimates import KKT, constants, constraint_slope
from equipoise.solvers.solver import CONVEX_CONSTRAINTS, SMOOTH, Guarantee, Need, Solver
from equipoise.solvers.staged import Staged

PATIENCE = 200  # outer steps without a clearly better pair, then the centre step is halved


@dataclass(frozen=True)
class Outer:
    """Iterate, centre, multipliers, and the best pair so far."""

    x: Array  # (d,) iterate
    z: Array  # (d,) centre of the Moreau envelope
    lam: np.ndarray  # (m,) multipliers that belong to x
    ahead: np.ndarray  # (m,) multipliers of the next subproblem
    best: Array  # (d,) iterate with the least KKT sum
    multipliers: np.ndarray  # (m,) those that belong to it
    kkt: float  # its KKT sum
    L: float  # smoothness
    p: float  # prox parameter
    slope: float  # largest |J| seen, over the constraints in play
    theta: float  # centre step
    stale: int  # outer steps since a clearly better pair, or since theta was halved
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

    Output: the pair (x, lam) with the least KKT sum ``stationarity + |[f]_+| + sum_i |lam_i f_i|``; the
    theorem only says that a good one exists. The last pair is in the state.

    Guarantee: some pair is an eps-KKT point after O(eps^-2 log(1/eps)) gradients, for tau and theta
    small enough (`theory`), on a compact polytope with a Slater point and a local error bound.

    Parameters
    ----------
    prox : float, optional
        p, larger than L; by default 2 L.
    dual_step : float, optional
        tau. By default ``(p - L) / |J|^2``, with the slope ``|J|`` of the constraints in play measured
        at every x: four times the theory's step, but with a local slope instead of the largest.
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

    References
    ----------
    P004, Algorithm 1.
    """

    name: ClassVar[str] = "imela"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex objective, smooth convex constraints, polytope",
        quantity="eps-KKT: stationarity, violation, complementarity",
        rate="O(eps^-2 log 1/eps)",
        reference="P004, Theorem 5.10",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, CONVEX_CONSTRAINTS)

    prox: float | None = None
    dual_step: float | None = None
    centre_step: float | None = None
    inner_tol: float = 1.0
    smoothness: float | None = None
    steps: int = 10_000

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for parameter in ("prox", "dual_step", "centre_step", "smoothness"):
            if getattr(self, parameter) is not None:
                _check.positive(owner, parameter, getattr(self, parameter))
        if self.centre_step is not None:
            _check.between(owner, "centre_step", self.centre_step, 0, 1)
        _check.positive(owner, "inner_tol", self.inner_tol)
        _check.count(owner, "steps", self.steps, least=1)

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first stage."""
        L, p = constants(type(self).__name__, problem, x0, self.smoothness, self.prox)
        point, lam = problem.at(x0), np.zeros(problem.n_constraints)
        tau, slope = self._tau(point, lam, p - L, 0.0)
        ahead = np.maximum(lam + tau * point.constraints, 0.0)  # 1
        theta = self.centre_step or 0.5
        return Outer(x0, x0, lam, ahead, x0, lam, math.inf, L, p, slope, theta, 0, None, 0)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the minimisation of the proximal Lagrangian."""
        proximal = ProximalProblem(problem, outer.z, outer.p, constraints=False)
        return MeritProblem(proximal, Lagrangian(outer.ahead))

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return accelerated projected gradients with this stage's tolerance."""
        known = self.smoothness is not None or problem.facts.smoothness is not None
        K = outer.L * (1 + float(outer.ahead.sum())) + outer.p
        return AcceleratedProjectedGradient(
            mu=outer.p - outer.L,
            step_size=1 / K if known else Backtracking(outer.n),
            tol=min(1.0, self.inner_tol / (outer.t + 1)),
            steps=self.steps,
        )

    def warm(self, outer: Outer) -> Array:
        """Start from the last iterate."""
        return outer.x

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Take in the minimiser, and move on to the next subproblem."""
        (x, _), lam = solver.output(inner), outer.ahead  # 2
        z = outer.z + outer.theta * (x - outer.z)  # 3
        point = problem.at(x)
        kkt = KKT.at(problem, point, lam, point.lagrangian_gradient(lam)).sum
        better = kkt < outer.kkt
        tau, slope = self._tau(point, lam, outer.p - outer.L, outer.slope)
        theta, stale = outer.theta, 0 if kkt < 0.9 * outer.kkt else outer.stale + 1
        if self.centre_step is None and stale == PATIENCE:
            theta, stale = max(0.5 * theta, 0.05), 0
        return Outer(
            x=x,
            z=z,
            lam=lam,
            ahead=np.maximum(lam + tau * point.constraints, 0.0),  # 1
            best=x if better else outer.best,
            multipliers=lam if better else outer.multipliers,
            kkt=min(kkt, outer.kkt),
            L=outer.L,
            p=outer.p,
            slope=slope,
            theta=theta,
            stale=stale,
            n=inner.n,
            t=outer.t + 1,
        )

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray]:
        """Return the pair with the least KKT sum."""
        return outer.best, outer.multipliers

    def _tau(
        self, point: Point, lam: np.ndarray, modulus: float, slope: float
    ) -> tuple[float, float]:
        """Return the dual step, and the largest slope seen."""
        if self.dual_step is not None:
            return self.dual_step, slope
        here = constraint_slope(point, lam)
        slope = max(here, slope)
        return (modulus / max(here, 0.1 * slope) ** 2 if slope > 0 else 0.0), slope


def theory(
    *,
    smoothness: float,
    objective_slope: float,
    constraint_bound: float,
    diameter: float,
    slater: float,
    prox: float | None = None,
    centre_step: float = 0.1,
) -> tuple[IMELa, float]:
    r"""Return the method with the theory's dual step, and the bound on its multipliers.

    ``tau = (p - L) / (4 B_g^2)`` and ``|lam| <= max(2 tau B_g, (C + tau B_g^2 / 2) / nu)`` with
    ``C = (B_f + p D + 1) D``. The theory's centre step also depends on error-bound constants that cannot
    be computed.

    Parameters
    ----------
    smoothness : float
        L, of all functions.
    objective_slope : float
        B_f, a bound on ``|grad f_0|``.
    constraint_bound : float
        B_g, a bound on the values and slopes of the constraints.
    diameter : float
        D.
    slater : float
        nu, such that all ``f_i <= -nu`` at some point of the domain.
    prox : float, optional
        p; by default 2 L.
    centre_step : float
        theta.
    """
    owner = "theory"
    L = _check.positive(owner, "smoothness", smoothness)
    B_f = _check.non_negative(owner, "objective_slope", objective_slope)
    B_g = _check.positive(owner, "constraint_bound", constraint_bound)
    D, nu = _check.positive(owner, "diameter", diameter), _check.positive(owner, "slater", slater)
    p = 2 * L if prox is None else prox
    if not p > L:
        _check.fail(owner, "prox", f"must exceed the smoothness L = {L:g}", prox)
    tau = (p - L) / (4 * B_g**2)
    bound = max(2 * tau * B_g, ((B_f + p * D + 1) * D + tau * B_g**2 / 2) / nu)
    return IMELa(prox=p, dual_step=tau, centre_step=centre_step, smoothness=L), bound
