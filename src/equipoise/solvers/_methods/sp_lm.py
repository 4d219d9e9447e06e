"""SP-LM: smoothed proximal Lagrangian method (Pu, Sun & Zhang 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.certificate import Residuals
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

__all__ = ["SPLM"]

# Steps between two measurements of the constraints' slope, which cost a gradient or two. Chosen.
MEASURE_EVERY = 10

# Where the centre step adapts: its first value, the steps without a clearly better pair after which
# it is halved, and its least value. Chosen; twice the first one takes 26 % more work, as the method
# begins to cycle (docs/constants.md).
FIRST_CENTRE_STEP, PATIENCE, LEAST_CENTRE_STEP = 0.2, 500, 0.02


@dataclass(frozen=True)
class State:
    """Iterate, centre, multipliers, and the best pair so far."""

    x: Array  # (d,) iterate
    z: Array  # (d,) centre
    lam: np.ndarray  # (m,) multipliers
    best: BestPair
    constants: Constants
    dual: DualStep
    centre: CentreStep


@dataclass(frozen=True, kw_only=True)
class SPLM(Solver[State]):
    r"""One step each: multipliers up, iterate down the proximal Lagrangian, centre behind it.

    1. lam <- P_[0, cap](lam + tau f(x))
    2. x_new <- P_X(x - n (grad f_0(x) + sum_i lam_i grad f_i(x) + p (x - z)))
    3. z <- z + theta (x_new - z),  x <- x_new
    4. keep (x_t, lam_t+1) if its residual, as the examiner measures it (`Residuals`), is the least

    Output: the pair of step 4; the theorem only says that a good one exists. The last pair is in
    the state.

    Guarantee: an eps-KKT point after O(eps^-2) gradients, with a Slater point and LICQ near the
    solutions, for step sizes small enough.

    Parameters
    ----------
    step_size : float, optional
        n. By default ``1 / (L (1 + sum_i lam_i) + p)``.
    dual_step : float, optional
        tau. By default ``mu / (4 |J|^2)``, mu the strong convexity of the proximal Lagrangian, with the
        slope ``|J|`` of the constraints in play measured every tenth step.
    centre_step : float, optional
        theta in (0, 1]. Too large a one makes the method cycle. By default 0.2, halved (down to
        0.02) after every 500 steps without a pair better by a tenth.
    prox : float, optional
        p, larger than L. By default ``max(2 rho, L / 10)`` where the weak convexity rho of the functions
        is known, else 2 L, as in Huang, Lin & Xu 2025.
    smoothness : float, optional
        L, of all functions; by default from the problem's facts, or twice the curvature at the start
        of the objective and the worst constraint.
    cap : float
        The largest multiplier. The theory has a finite one; Huang, Lin & Xu 2025, who compare with this
        method, do not say which.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default.

    References
    ----------
    Pu, Sun & Zhang 2024; Huang, Lin & Xu 2025, equation 82.
    """

    name: ClassVar[str] = "sp_lm"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex objective, smooth convex constraints, polytope",
        quantity="eps-KKT: stationarity, violation, complementarity",
        rate="O(eps^-2)",
        reference="Pu, Sun & Zhang 2024",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, CONVEX_CONSTRAINTS)
    claim: ClassVar[Claim] = Claim(("bilinear", "convex"), residual=1e-5, steps=10_000)

    step_size: float | None = None
    dual_step: float | None = None
    centre_step: float | None = None
    prox: float | None = None
    smoothness: float | None = None
    cap: float = math.inf
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_start(owner, self.multipliers)
        check_positive_if_given(self, "step_size", "dual_step", "centre_step", "prox", "smoothness")
        if self.centre_step is not None:
            _check.between(owner, "centre_step", self.centre_step, 0, 1)
        if not _check.number(owner, "cap", self.cap) > 0:
            _check.fail(owner, "cap", "must be positive", self.cap)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        known = constants(type(self).__name__, problem, x0, self.smoothness, self.prox)
        lam = first_multipliers(type(self).__name__, problem, self.multipliers)
        dual = DualStep(self.dual_step or 0.0)
        centre = CentreStep(self.centre_step or FIRST_CENTRE_STEP)
        return State(x0, x0, lam, BestPair(x0, lam), known, dual, centre)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, z, L, p = state.x, state.z, state.constants.L, state.constants.p
        point, dual, centre = problem.at(x), state.dual, state.centre
        if self.dual_step is None and (t % MEASURE_EVERY == 0 or dual.slope == 0.0):
            dual = dual.measured(point, state.lam, 0.25 * state.constants.mu)
        lam = np.clip(state.lam + dual.tau * point.constraints, 0.0, self.cap)  # 1
        n = self.step_size or 1 / (L * (1 + float(lam.sum())) + p)
        uphill = point.lagrangian_gradient(lam)
        x_new = problem.domain.project(x - n * (uphill + p * (x - z)))  # 2
        z = z + centre.theta * (x_new - z)  # 3
        residual = Residuals.at(problem, point, lam, uphill).largest
        if self.centre_step is None:
            centre = centre.after(residual, state.best.residual, PATIENCE, LEAST_CENTRE_STEP)
        best = state.best.or_better(x, lam, residual)  # 4
        return State(x_new, z, lam, best, state.constants, dual, centre)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the pair with the least residual."""
        return state.best.x, state.best.lam
