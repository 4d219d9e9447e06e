"""PLADA: a proximal Lagrangian with averaged dual ascent (the PLADA paper)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._parts.warm_start import Start, check_start, first_multipliers, start_from
from equipoise.solvers._plada.reduced import (
    ReducedLagrangian,
    StepSizeWarning,
    slack_bound,
    warn_beyond_theory,
)
from equipoise.solvers._plada.step_lengths import StepLength, StepStart, first_length
from equipoise.solvers._plada.theta_prox_linear import ProxLinearStep
from equipoise.solvers._plada.theta_steps import ExactProxStep, SubgradientStep, ThetaStep
from equipoise.solvers._solver import Claim, Finished, Guarantee, Solver

__all__ = [
    "PLADA",
    "ThetaStep",
    "SubgradientStep",
    "ProxLinearStep",
    "ExactProxStep",
    "StepSizeWarning",
]

# A violation that counts as none, for the best feasible iterate. Chosen.
FEASIBLE = 1e-6

# On mini-batches, where no tau is given, it is this over rho: just below the theory's bound 1 / (3 rho).
TAU_TIMES_RHO = 0.3


@dataclass(frozen=True)
class State:
    """Primal and dual iterates, and the iterates the theory speaks of."""

    x: Array  # (d,) iterate (theta in the paper)
    u: np.ndarray  # (m,) slack, G(x) + u = 0 in the limit
    mu: np.ndarray  # (m,) averaged multipliers
    lam: np.ndarray  # (m,) multipliers, of any sign, at the iterate before x
    size: StepLength  # eta
    u_max: np.ndarray  # (m,) bound on u
    moved: float  # |dx| + |du| of the last step
    apart: float  # |lam - mu| in the last step
    drawn: Array  # (d,) uniformly random iterate
    best: Array  # (d,) best feasible iterate
    score: tuple[float, float]  # its violation (0 where feasible) and objective


@dataclass(frozen=True, kw_only=True)
class PLADA(Solver[State]):
    r"""Alternate on ``F(x) + <lam, G(x) + u> - |lam - mu|^2 / (2 rho)``, u the slack of G <= 0.

    1. lam <- mu + rho (G(x) + u), the maximiser
    2. x <- theta-step on <grad F(x), y> + <lam, G(y)> + |y - x|^2 / (2 eta)
    3. u <- clip(u - tau lam, 0, u_max); without tau, before line 1: the minimiser
       u <- clip(-G(x) - mu / rho, 0, u_max)
    4. mu <- mu + (gamma_t / rho) (lam - mu),
       gamma_t = min{gamma, rho delta_t / (|lam - mu|^2 + 1)}, delta_t = kappa / (t + 1)

    with rho = alpha / (1 + alpha beta); u starts at 0, mu too by default. (The paper lists line 1 last; the
    iterates are the same. On mini-batches line 1 draws one of its own.) With a tau, lam is negative while
    a constraint is slack and u still grows. The minimiser lowers the function at least as much, and a
    slack constraint does not hold x back.

    Output: the last iterate and [lam]_+. The theory is ergodic: a uniformly random iterate is
    ``state.drawn``; the best feasible one is ``state.best``.

    Guarantee: the running average of the squared residual is O(log T / T) for an exact theta-step,
    bounded lam, ``eta < 1 / (L_F + 3 rho M_G^2)`` and ``tau < 1 / (3 rho)``. Limits of convergent
    runs are KKT points.

    Parameters
    ----------
    eta : float, optional
        By default, for smooth functions, the inverse curvature along the last step. For others it
        rises slowly to 0.9 of the theory's bound for what was seen of the functions, on mini-batches
        for their slopes at the start. It is never below that bound from the facts.
    tau : float, optional
        By default none; on mini-batches 0.9 / (3 rho).
    alpha, beta, gamma : float
        ``alpha > 1``, ``0 < beta < 1``; the largest dual averaging weight, in (0, 1].
    kappa : float
        How slowly the averaging fades. Too small a value is slow; the paper does not report its own.
    u_max : float, optional
        A bound on -G; by default from the facts, else none.
    theta_step : ThetaStep
        `SubgradientStep`, `ProxLinearStep` or `ExactProxStep`.
    stop : float
        Stop where the last step moved less than this, and |lam - mu| is smaller too.
    multipliers : array of shape (m,), optional
        Where mu starts; 0 by default.

    References
    ----------
    The PLADA paper (anonymous), as listed in docs/references.md.
    """

    name: ClassVar[str] = "plada"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth objective, Lipschitz constraints, non-convex",
        quantity="running average of the squared residual",
        rate="O~(1/T) for an exact theta-step and bounded multipliers",
        reference="the PLADA paper",
    )
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-5, steps=10_000)

    eta: float | None = None
    tau: float | None = None
    alpha: float = 10.0
    beta: float = 0.1
    gamma: float = 0.1
    kappa: float = 100.0
    u_max: float | None = None
    theta_step: ThetaStep = SubgradientStep()
    stop: float = 1e-12
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = "PLADA"
        check_start(owner, self.multipliers)
        check_positive_if_given(self, "eta", "tau", "u_max")
        for parameter in ("alpha", "beta", "gamma", "kappa"):
            _check.positive(owner, parameter, getattr(self, parameter))
        for parameter, holds, rule in (
            ("alpha", self.alpha > 1, "must exceed 1"),
            ("beta", self.beta < 1, "must lie below 1"),
            ("gamma", self.gamma <= 1, "must be at most 1"),
            ("theta_step", isinstance(self.theta_step, ThetaStep), "must be a ThetaStep"),
        ):
            if not holds:
                _check.fail(owner, parameter, rule, getattr(self, parameter))
        _check.non_negative(owner, "stop", self.stop)

    @classmethod
    def paper_linear(cls) -> Self:
        """Return the paper's settings for linear models; this tau lies outside the theory, and warns."""
        return cls(eta=0.001, tau=0.1, alpha=10.0, beta=0.1, gamma=0.1)

    @classmethod
    def paper_network(cls) -> Self:
        """Return the paper's settings for networks."""
        return cls(eta=0.1, tau=0.01, alpha=10.0, beta=0.5, gamma=0.1)

    @property
    def rho(self) -> float:
        """The penalty ``alpha / (1 + alpha beta)``."""
        return self.alpha / (1 + self.alpha * self.beta)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        self.theta_step.check(problem)
        warn_beyond_theory(self.tau, self.rho)
        point = problem.at(x0)
        G, zero = point.constraints, np.zeros(problem.n_constraints)
        size = first_length(problem, point, self.rho, self.eta)
        u_max = slack_bound(problem, G) if self.u_max is None else zero + self.u_max
        mu = first_multipliers("PLADA", problem, self.multipliers)
        start = zero, mu, mu + self.rho * G, size, u_max
        return State(x0, *start, np.inf, np.inf, drawn=x0, best=x0, score=_score(point))

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, u, mu, rho = state.x, state.u, state.mu, self.rho
        batch = problem.sample(rng)
        exact, point = batch is problem, batch.at(x)
        tau = TAU_TIMES_RHO / rho if self.tau is None and not exact else self.tau
        reduced = ReducedLagrangian(mu, rho, u if tau else None, state.u_max)
        # Were lam and G' from one mini-batch, they would be correlated, which is a bias.
        G = (point if exact else problem.sample(rng).at(x)).constraints
        lam = reduced.multipliers(G)  # 1
        x, size = state.size.move(StepStart(batch, point, lam, reduced, self.theta_step))  # 2
        u = np.clip(u - tau * lam, 0.0, state.u_max) if tau else reduced.slack(G)  # 3
        gap, delta = lam - mu, self.kappa / (t + 1)
        gam = min(self.gamma, rho * delta / (gap @ gap + 1))
        mu = mu + (gam / rho) * gap  # 4
        moved = norm(x - state.x) + norm(u - state.u)
        drawn = state.x if rng.random() * (t + 1) < 1 else state.drawn
        best, score = min((state.best, state.score), (state.x, _score(point)), key=lambda b: b[1])
        return State(x, u, mu, lam, size, state.u_max, moved, norm(gap), drawn, best, score)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the last iterate and the positive part of the multipliers."""
        return state.x, np.maximum(state.lam, 0.0)

    def verdict(self, state: State) -> Status | None:
        """Stop where nothing moves any more."""
        settled = state.moved <= self.stop and state.apart <= self.stop
        return Status.CONVERGED if settled else None


def _score(point: Point) -> tuple[float, float]:
    """Rank iterates: the least violation, then the least objective."""
    return (point.violation if point.violation > FEASIBLE else 0.0), point.objective
