"""Stochastic mirror descent for the level function of a min-max form (Yao, Lin & Yang 2023, Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._problem import Problem, Saddle
from equipoise._status import Status
from equipoise.solvers._minmax.dual_start import check_dual, fitting_dual
from equipoise.solvers._minmax.mirror_step import (
    block_sums,
    dual_step,
    entropy_weight,
    largest_value,
)
from equipoise.solvers._parts.steps import InverseSqrt, StepRule, check_rule
from equipoise.solvers._solver import CONVEX, SADDLE, Claim, Guarantee, Need, Solver

__all__ = ["SMD"]

# Where no level is given, it lies so far above the objective at a feasible point. Chosen.
LEVEL_MARGIN = 0.1


@dataclass(frozen=True)
class Average:
    """Sums over the steps so far, each weighted by tau_t."""

    total: float  # of tau_t
    x: np.ndarray  # (d + ..,) of x
    y: np.ndarray  # (m + 1,) of y
    u: np.ndarray  # (m + 1,) of u
    v: np.ndarray  # (J,) of v
    square: float  # of |w - center|^2


@dataclass(frozen=True)
class State:
    """The iterate, and the weighted means the theory speaks of."""

    x: np.ndarray  # (d + ..,) primal iterate (w, z)
    y: np.ndarray  # (m + 1,) weights of the functions, on the simplex
    alpha: np.ndarray  # (J,) slopes, |alpha_j| <= I
    sums: Average | None  # None before the first step
    w: np.ndarray  # (d,) weighted mean of w; the start before the first step
    level: float  # r
    steps: int  # taken so far


@dataclass(frozen=True, kw_only=True)
class SMD(Solver[State]):
    r"""Minimise ``P(r, w) = max{f_0 - r, f_1, .., f_m}`` by primal-dual steps on its min-max form.

    0. x <- (w_0, z_0); y_i <- 1/(m + 1); alpha_j <- 0
    1. on a mini-batch: u_i <- offset_i + sum_{j in i} F_j - r [i = 0]; v_j <- G_j;
       g <- grad_x sum_j y_i (F_j + alpha_j G_j)
    2. add x, y, u, v with weight tau_t to their means
    3. x <- argmin <g, x> + |x - x_t|^2 / (2 eta_t) + rho_hat/2 |w - center|^2, in the domain
    4. (y, alpha) <- argmin -<u, y> - sum_j y_i alpha_j v_j + c sum_j y_i alpha_j^2 + V(., y_t) / tau_t
    5. after T steps: U <- max over y, alpha of <u, y> + sum_j y_i alpha_j v_j - c sum_j y_i alpha_j^2, for
       the means u and v, plus rho_hat/2 times the mean of |w - center|^2

    V is the Bregman divergence of ``W sum y ln y + sum_j y_i alpha_j^2``, for which line 4 has a closed form.
    rho_hat is 0 but for subproblems of IQRC.

    Output: the weighted mean of w; as multipliers the mean weights of the constraints over the objective's.
    U is `upper`.

    Guarantee: on all rows, ``H(r) = min_w P(r, w) <= P(r, w) <= U`` for the output w, and U - H falls like
    1 / sqrt(T) with steps ``eta_t, tau_t ~ 1 / sqrt(t + 1)``. On mini-batches, both are within eps of H with
    probability 1 - delta after T = O~(eps^-2 log(1/delta)) steps; U is then an estimate.

    Parameters
    ----------
    level : float, optional
        r, above the optimal value; by default 0.1 more than the objective at the start, or at 0
        where the start is not feasible.
    steps : int
        T.
    step_size : StepRule
        eta_t.
    dual_step : StepRule, optional
        tau_t; by default ``W eta_t``. (With ``tau_t = eta_t``, the large W all but freezes y.)
    dual_start : pair of arrays, optional
        y of shape (m + 1,), non-negative with the sum 1, and alpha of shape (J,) to start from, in the place
        of line 0.

    References
    ----------
    Yao, Lin & Yang 2023, Algorithm 2, with ``c alpha^2`` for ``alpha^2``, and with the weights tau_t in U
    and in the output alike, as the proofs need.
    """

    name: ClassVar[str] = "smd"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex with a min-max form, stochastic; one level",
        quantity="level function and its upper estimate within eps of the minimum",
        rate="O~(eps^-2 log(1/delta)), with probability 1 - delta",
        reference="Yao, Lin & Yang 2023, Theorem 1",
    )
    needs: ClassVar[tuple[Need, ...]] = (CONVEX, SADDLE)
    claim: ClassVar[Claim] = Claim()

    level: float | None = None
    steps: int = 4000
    step_size: StepRule = InverseSqrt(1.0)
    dual_step: StepRule | None = None
    dual_start: tuple[np.ndarray, np.ndarray] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.level is not None:
            _check.real("SMD", "level", self.level)
        _check.count("SMD", "steps", self.steps, least=1)
        check_rule("SMD", "step_size", self.step_size)
        if self.dual_step is not None:
            check_rule("SMD", "dual_step", self.dual_step)
        if self.dual_start is not None:
            check_dual(self.dual_start)

    def init(self, problem: Problem, x0: np.ndarray) -> State:
        """Return the state before the first step."""
        saddle = saddle_of(problem)
        level = level_above(problem, x0) if self.level is None else self.level
        count = saddle.offsets.size
        y, alpha = np.full(count, 1 / count), np.zeros(saddle.blocks.size)
        if self.dual_start is not None:
            y, alpha = fitting_dual(saddle, self.dual_start)
        return State(saddle.lift(x0), y, alpha, None, x0, level, 0)  # 0

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        saddle = saddle_of(problem)
        x, y, alpha, d = state.x, state.y, state.alpha, problem.dim
        eta = self.step_size(t)
        W = entropy_weight(saddle)
        tau = W * eta if self.dual_step is None else self.dual_step(t)
        point = saddle.functions.sample(rng).at(x)
        F, v = np.split(point.values, 2)
        u = saddle.offsets + block_sums(saddle, F)  # 1
        u[0] -= state.level
        shares = y[saddle.blocks]
        g = point.vjp(np.concatenate((shares, shares * alpha)))
        square = 0.0 if saddle.center is None else float(((x[:d] - saddle.center) ** 2).sum())
        sums = with_step(state.sums, Average(1.0, x, y, u, v, square), tau)  # 2
        moved = x - eta * g
        if saddle.center is not None:
            moved[:d] += eta * saddle.rho_hat * saddle.center
            moved[:d] /= 1 + eta * saddle.rho_hat
        x = saddle.functions.domain.project(moved)  # 3
        y, alpha = dual_step(saddle, y, alpha, u, v, tau)  # 4
        return State(x, y, alpha, sums, sums.x[:d] / sums.total, state.level, state.steps + 1)

    def upper(self, problem: Problem, state: State) -> float:
        """Return U, once a step was taken."""
        sums, saddle = state.sums, saddle_of(problem)
        assert sums is not None
        found = largest_value(saddle, sums.u / sums.total, sums.v / sums.total)  # 5
        return found + 0.5 * saddle.rho_hat * sums.square / sums.total

    def output(self, state: State) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the weighted mean, and the mean weights of the constraints over the objective's."""
        y = state.y if state.sums is None else state.sums.y
        return state.w, y[1:] / y[0] if y[0] > 0 else None

    def verdict(self, state: State) -> Status | None:
        """Stop after T steps."""
        return Status.STALLED if state.steps >= self.steps else None


def saddle_of(problem: Problem) -> Saddle:
    """Return the min-max form of a problem that has one."""
    saddle = problem.saddle()
    if saddle is None:
        raise TypeError(f"SMD: `problem` must have a min-max form, got a {type(problem).__name__}.")
    return saddle


def level_above(problem: Problem, x0: np.ndarray) -> float:
    """Return a level above the optimal value, if `x0` or else the point nearest to 0 is feasible."""
    point = problem.at(x0)
    if point.excess > 0:
        point = problem.at(problem.domain.project(np.zeros(problem.dim)))
    return point.objective + LEVEL_MARGIN


def with_step(sums: Average | None, new: Average, tau: float) -> Average:
    """Return the sums with one more step of weight `tau`."""
    fields = ("total", "x", "y", "u", "v", "square")
    terms = {field: tau * getattr(new, field) for field in fields}
    if sums is not None:
        terms = {field: getattr(sums, field) + term for field, term in terms.items()}
    return Average(**terms)
