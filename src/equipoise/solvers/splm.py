"""SP-LM: smoothed proximal Lagrangian method (Pu, Sun & Zhang)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.problem import Point, Problem
from equipoise.solvers.estimates import KKT, constants, constraint_slope
from equipoise.solvers.solver import CONVEX_CONSTRAINTS, SMOOTH, Guarantee, Need, Solver

EVERY = 10  # steps between two measurements of the constraints' slope
PATIENCE = 500  # steps without a clearly better pair, after which the centre step is halved


@dataclass(frozen=True)
class State:
    """Iterate, centre, multipliers, and the best pair so far."""

    x: Array  # (d,) iterate
    z: Array  # (d,) centre
    lam: np.ndarray  # (m,) multipliers
    best: Array  # (d,) iterate with the least KKT sum
    multipliers: np.ndarray  # (m,) those that belong to it
    kkt: float  # its KKT sum
    L: float  # smoothness
    p: float  # prox parameter
    tau: float  # dual step
    slope: float  # largest |J| seen, over the constraints in play
    theta: float  # centre step
    stale: int  # steps since a clearly better pair, or since theta was halved


@dataclass(frozen=True, kw_only=True)
class SPLM(Solver[State]):
    r"""One step each: multipliers up, iterate down the proximal Lagrangian, centre behind it.

    1. lam <- P_[0, cap](lam + tau f(x))
    2. x_new <- P_X(x - n (grad f_0(x) + sum_i lam_i grad f_i(x) + p (x - z)))
    3. z <- z + theta (x_new - z),  x <- x_new
    4. keep (x_t, lam_t+1) if its KKT sum ``stationarity + |[f]_+| + sum_i |lam_i f_i|`` is the least

    Output: the pair of step 4; the theorem only says that a good one exists. The last pair is in
    the state.

    Guarantee: an eps-KKT point after O(eps^-2) gradients, with a Slater point and LICQ near the
    solutions, for step sizes small enough.

    Parameters
    ----------
    step_size : float, optional
        n. By default ``1 / (L (1 + sum_i lam_i) + p)``.
    dual_step : float, optional
        tau. By default ``(p - L) / (4 |J|^2)``, with the slope ``|J|`` of the constraints in play
        measured every tenth step.
    centre_step : float, optional
        theta in (0, 1]. Too large a one makes the method cycle. By default 0.2, halved (down to
        0.02) after every 500 steps without a pair better by a tenth.
    prox : float, optional
        p, larger than L; by default 2 L.
    smoothness : float, optional
        L, of all functions; by default from the problem's facts, or twice the curvature at the start
        of the objective and the worst constraint.
    cap : float
        The largest multiplier. The theory has a finite one; P004 does not say which.

    References
    ----------
    Pu, Sun & Zhang 2024; P004 (82).
    """

    name: ClassVar[str] = "sp_lm"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex objective, smooth convex constraints, polytope",
        quantity="eps-KKT: stationarity, violation, complementarity",
        rate="O(eps^-2)",
        reference="Pu, Sun & Zhang 2024",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, CONVEX_CONSTRAINTS)

    step_size: float | None = None
    dual_step: float | None = None
    centre_step: float | None = None
    prox: float | None = None
    smoothness: float | None = None
    cap: float = math.inf

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for parameter in ("step_size", "dual_step", "centre_step", "prox", "smoothness"):
            if getattr(self, parameter) is not None:
                _check.positive(owner, parameter, getattr(self, parameter))
        if self.centre_step is not None:
            _check.between(owner, "centre_step", self.centre_step, 0, 1)
        if not self.cap > 0:
            _check.fail(owner, "cap", "must be positive", self.cap)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        L, p = constants(type(self).__name__, problem, x0, self.smoothness, self.prox)
        lam = np.zeros(problem.n_constraints)
        tau, theta = self.dual_step or 0.0, self.centre_step or 0.2
        return State(x0, x0, lam, x0, lam, math.inf, L, p, tau, 0.0, theta, 0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, z, p = state.x, state.z, state.p
        point = problem.at(x)
        tau, slope = self._tau(point, state, t)
        lam = np.clip(state.lam + tau * point.constraints, 0.0, self.cap)  # 1
        n = self.step_size or 1 / (state.L * (1 + float(lam.sum())) + p)
        uphill = point.lagrangian_gradient(lam)
        x_new = problem.domain.project(x - n * (uphill + p * (x - z)))  # 2
        z = z + state.theta * (x_new - z)  # 3
        kkt = KKT.at(problem, point, lam, uphill).sum
        theta, stale = state.theta, 0 if kkt < 0.9 * state.kkt else state.stale + 1
        if self.centre_step is None and stale == PATIENCE:
            theta, stale = max(0.5 * theta, 0.02), 0
        best, multipliers = state.best, state.multipliers
        if kkt < state.kkt:  # 4
            best, multipliers = x, lam
        kkt, L = min(kkt, state.kkt), state.L
        return State(x_new, z, lam, best, multipliers, kkt, L, p, tau, slope, theta, stale)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the pair with the least KKT sum."""
        return state.best, state.multipliers

    def _tau(self, point: Point, state: State, t: int) -> tuple[float, float]:
        """Return the dual step, and the largest slope seen."""
        measure = t % EVERY == 0 or state.slope == 0.0
        if self.dual_step is not None or not measure:
            return state.tau, state.slope
        here = constraint_slope(point, state.lam)
        slope = max(here, state.slope)
        modulus = 0.25 * (state.p - state.L)
        return (modulus / max(here, 0.1 * slope) ** 2 if slope > 0 else 0.0), slope
