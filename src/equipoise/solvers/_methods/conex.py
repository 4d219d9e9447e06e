"""Constraint extrapolation for strongly convex problems (Boob, Deng & Lan 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.estimates import jacobian_size
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._solver import CONVEX, Claim, Finished, Guarantee, Need

__all__ = ["ConEx"]

# The least slope that constraints are taken to have: the square of a smaller one vanishes. Derived.
LEAST_SLOPE = 1e-150


@dataclass(frozen=True)
class State:
    """Both iterates, two linearisations, and the mean the theory returns."""

    x: Array  # (d,) iterate
    y: np.ndarray  # (m,) multipliers, >= 0
    ell: np.ndarray  # (m,) constraints at x, linearised at the iterate before
    ell_before: np.ndarray  # (m,) the same one step earlier
    mean: Array  # (d,) gamma-weighted mean of x^1 .. x^t
    weight: float  # sum of gamma
    t: int  # steps taken
    schedule: Schedule


@dataclass(frozen=True, kw_only=True)
class ConEx(Oracle[State]):
    r"""A primal-dual method that extrapolates the linearised constraints.

    For ``min F_0(x)  s.t.  F_i(x) <= 0``, all functions strongly convex; ell^t holds the constraints
    at x^t linearised at x^{t-1}, and ell^0 = ell^{-1} = F(x^0); t = 0, 1, ...

    1. s <- (1 + theta_t) ell^t - theta_t ell^{t-1}
    2. y <- [y + s / tau_t]_+
    3. x+ <- P_X(x - (F_0'(x) + sum_i y_i F_i'(x)) / eta_t)
    4. ell^{t+1} <- F(x) + F'(x)(x+ - x);  x <- x+

    Output: the mean of x^1 .. x^T weighted by gamma_t, and y.

    Guarantee: objective gap and violation O(1/T^2) for smooth and O(1/T) for non-smooth functions,
    with exact values.

    Parameters
    ----------
    steps : int
        T.
    multiplier_bound : float
        B, a guess of ``|y*| + 1``.
    mu : float
        A strong-convexity modulus of all functions.
    lipschitz : float, optional
        Mf, of the constraints as one vector. By default ``sqrt(m) M`` with the M of the problem's
        facts, or estimated from the gradients at the start.
    smoothness, constraint_smoothness : float, optional
        L0 of the objective and Lf of the constraints as one vector; by default from the problem's
        facts. Where those know none, only the regularisation of the functions is taken for smooth,
        and both are ``2 mu``.
    warm : bool
        Whether `tuned` starts from the multipliers of the subproblem before.
    multipliers : array of shape (m,), optional
        Where y starts; 0 by default.

    Notes
    -----
    A step costs 1 + m backward passes: line 4 needs every constraint's own slope along the step.

    References
    ----------
    Boob, Deng & Lan 2022.
    """

    name: ClassVar[str] = "conex"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="strongly convex, smooth or not",
        quantity="objective gap and violation <= eps",
        rate="O(eps^-1), smooth O(eps^-1/2)",
        reference="Boob, Deng & Lan 2022",
    )
    needs: ClassVar[tuple[Need, ...]] = (CONVEX,)
    claim: ClassVar[Claim] = Claim(("convex", "auc"), residual=1e-2, steps=10_000)

    steps: int = 10_000
    multiplier_bound: float = 10.0
    mu: float = 1.0
    lipschitz: float | None = None
    smoothness: float | None = None
    constraint_smoothness: float | None = None
    warm: bool = True
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "ConEx"
        check_start(owner, self.multipliers)
        _check.count(owner, "steps", self.steps, least=1)
        _check.non_negative(owner, "multiplier_bound", self.multiplier_bound)
        _check.positive(owner, "mu", self.mu)
        _check.flag(owner, "warm", self.warm)
        if self.lipschitz is not None:
            _check.positive(owner, "lipschitz", self.lipschitz)
        for parameter in ("smoothness", "constraint_smoothness"):
            if getattr(self, parameter) is not None:
                _check.non_negative(owner, parameter, getattr(self, parameter))

    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem."""
        return replace(self, mu=mu, multipliers=multipliers if self.warm else None)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        y = first_multipliers("ConEx", problem, self.multipliers)
        point = problem.at(x0)
        constants = self.smoothness, self.constraint_smoothness, self.lipschitz
        schedule = Schedule.of(problem, point, self.mu, self.multiplier_bound, constants)
        F = point.constraints
        return State(x0, y, F, F, mean=x0, weight=0.0, t=0, schedule=schedule)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, y, ell, at = state.x, state.y, state.ell, state.schedule
        theta, eta, tau, gamma = (f(state.t) for f in (at.theta, at.eta, at.tau, at.gamma))
        point = problem.sample(rng).at(x)
        s = (1 + theta) * ell - theta * state.ell_before  # 1
        y = np.maximum(y + s / tau, 0.0)  # 2
        after = problem.domain.project(x - point.lagrangian_gradient(y) / eta)  # 3
        ahead = point.constraints + point.along(after - x, np.arange(1, y.size + 1))  # 4
        weight = state.weight + gamma
        mean = state.mean + gamma / weight * (after - state.mean)
        return State(after, y, ahead, ell, mean, weight, state.t + 1, at)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the weighted mean and the multipliers."""
        return state.mean, state.y

    def verdict(self, state: State) -> Status | None:
        """Stop after T steps."""
        return Status.MAX_STEPS if state.t >= self.steps else None


@dataclass(frozen=True)
class Schedule:
    """The step sizes of Boob, Deng & Lan 2022; eta and tau are *inverse* step lengths."""

    a: float  # strong-convexity modulus
    t0: float  # 4 (L0 + B Lf) / a + 2
    Mf: float  # Lipschitz constant of the constraints as one vector

    def theta(self, t: int) -> float:
        """How much of the last change is extrapolated."""
        return (t + self.t0 + 1) / (t + self.t0 + 2)

    def eta(self, t: int) -> float:
        """Primal step length, inverse."""
        return self.a * (t + self.t0 + 1) / 2

    def tau(self, t: int) -> float:
        """Dual step length, inverse."""
        return 32 * (2 * self.Mf) ** 2 / (self.a * (t + 1))

    def gamma(self, t: int) -> float:
        """The weight in the mean."""
        return t + self.t0 + 2

    @classmethod
    def of(
        cls,
        problem: Problem,
        start: Point,
        mu: float,
        multiplier_bound: float,
        constants: tuple[float | None, float | None, float | None],
    ) -> Schedule:
        """Fill in those of the constants (L0, Lf, Mf) that were not given.

        Where Mf is unknown, it is twice the slope at the start: a guess, as slopes may grow from there.
        """
        L0, Lf, Mf = constants
        facts, root = problem.facts, math.sqrt(max(1, problem.n_constraints))
        L = 2 * mu if facts.smoothness is None else facts.smoothness
        L0 = L if L0 is None else L0
        Lf = root * L if Lf is None else Lf
        if Mf is None and facts.lipschitz is not None and math.isfinite(facts.lipschitz):
            Mf = root * facts.lipschitz
        if Mf is None:
            Mf = 2 * jacobian_size(start) or 1.0
        Mf = max(Mf, LEAST_SLOPE)
        return cls(mu, 4 * (L0 + multiplier_bound * Lf) / mu + 2, Mf)
