"""How long PLADA's theta-step is: given, spectral, or measured along the path."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import TINY, Array, dot, norm
from equipoise._problem import Point, Problem
from equipoise.solvers._parts.estimates import jacobian_size
from equipoise.solvers._plada.reduced import ReducedLagrangian
from equipoise.solvers._plada.theta_steps import ThetaStep

# The share of the theory's bound on eta that is used, as the bound is strict.
SHARE_OF_BOUND = 0.9

# The first eta relative to the bound for the slopes at the start: a guess that may be far too large
# elsewhere. Chosen; eta then rises.
FIRST_SHARE = 0.01

# How far ahead, relative to max(1, |x|) or the diameter, the curvature at the start is measured. Chosen.
PROBE = 0.1

# How fast eta, or its limit, may rise from step to step, so that the multipliers can follow: a little
# more than 1. Chosen.
SPECTRAL_RISE, MEASURED_RISE = 1.03, 1.01

# A step that raises the function is cut by this factor, at most so often. Chosen.
CUT, MAX_CUTS = 0.25, 30

# Secants over steps shorter than this, relative to max(1, |x|), are rounding errors.
SHORTEST_SECANT = 1e-8


@dataclass(frozen=True, eq=False)
class StepStart:
    """Where a theta-step starts, and what it lowers."""

    problem: Problem
    point: Point
    lam: np.ndarray
    reduced: ReducedLagrangian
    step: ThetaStep

    def ahead(self, eta: float) -> Array:
        """Return the next iterate for a step size."""
        return self.step(self.problem, self.point, self.lam, eta)


class StepLength(ABC):
    """A step size and the rule that changes it."""

    eta: float

    @abstractmethod
    def move(self, at: StepStart) -> tuple[Array, StepLength]:
        """Return the next iterate and the size for the step after."""


def first_length(problem: Problem, point: Point, rho: float, eta: float | None) -> StepLength:
    """Return the given size, or the rule that suits the problem."""
    if eta is not None:
        return Given(eta)
    facts, m = problem.facts, problem.n_constraints
    L, M, floor = facts.smoothness, facts.lipschitz, 0.0
    if L is not None and M is not None:
        floor = _bound(L, math.sqrt(m) * M, rho)
    g = point.gradient(0)
    length = PROBE * min(problem.domain.diameter, max(1.0, norm(point.x)))
    ahead = problem.domain.project(point.x - (length / max(norm(g), TINY)) * g)
    L = _secant(problem.at(ahead).gradient(0) - g, ahead - point.x)
    M = jacobian_size(point)
    eta = max(floor, FIRST_SHARE * _bound(L, M, rho))
    stochastic = problem.stochastic
    if facts.smooth and not stochastic:
        return Spectral(eta, eta)
    return MeasuredLength(eta, floor, L, M, None if stochastic else (point.x, point.constraints, g))


@dataclass(frozen=True)
class Given(StepLength):
    """The same in every step."""

    eta: float

    def move(self, at: StepStart) -> tuple[Array, StepLength]:
        """Return the next iterate and this size."""
        return at.ahead(self.eta), self


@dataclass(frozen=True)
class Spectral(StepLength):
    r"""For smooth functions: the inverse curvature of the reduced Lagrangian along the last step.

    1. y <- the theta-step, with eta <- eta / 4 until R(y) <= R(x), R the reduced Lagrangian, as the
       descent lemma needs
    2. eta <- |dx|^2 / <grad R(y) - grad R(x), dx>, dx = y - x (Barzilai & Borwein 1988), at most
       tenfold and below a limit that rises by 3% a step, so that the multipliers can follow
    """

    eta: float
    limit: float

    def move(self, at: StepStart) -> tuple[Array, StepLength]:
        """Return the next iterate and the size for the step after."""
        problem, point, reduced = at.problem, at.point, at.reduced
        eta, x, now = self.eta, point.x, reduced.value(point)
        rounding = 100 * problem.facts.rounding * max(1.0, abs(now))
        for _ in range(MAX_CUTS):  # 1
            ahead = problem.at(at.ahead(eta))
            if reduced.value(ahead) <= now + rounding:
                break
            eta *= CUT
        else:
            return x, self
        dx = ahead.x - x
        square = dot(dx, dx)
        if square == 0.0:  # the domain holds x back, or x hardly moves: nothing is learned
            return ahead.x, self
        g_new = ahead.lagrangian_gradient(reduced.multipliers(ahead.constraints))
        bend = dot(g_new - point.lagrangian_gradient(at.lam), dx) / square
        limit = SPECTRAL_RISE * self.limit
        eta = min(1 / bend if bend > 0.0 else np.inf, 10.0 * eta, limit)  # 2
        return ahead.x, Spectral(eta, limit)


@dataclass(frozen=True, eq=False)
class MeasuredLength(StepLength):
    r"""``eta < 1 / (L_F + 3 rho M_G^2)`` with the largest secants of grad F and G seen so far.

    It rises by 1% a step (so that the multipliers can follow) to 0.9 of this bound, and never falls
    below the bound from the facts.
    """

    eta: float
    floor: float  # what the facts allow everywhere; 0 where they are unknown
    L: float  # largest secant of grad F
    M: float  # largest secant of G
    seen: tuple[Array, np.ndarray, Array] | None  # x, G, grad F there; None on mini-batches

    def move(self, at: StepStart) -> tuple[Array, StepLength]:
        """Return the next iterate and the size for the step after."""
        size = self._updated(at.point)
        bound = _bound(size.L, size.M, at.reduced.rho)
        eta = max(size.floor, min(MEASURED_RISE * size.eta, bound))
        return at.ahead(eta), replace(size, eta=eta)

    def _updated(self, point: Point) -> MeasuredLength:
        x = point.x
        if self.seen is None or norm(x - self.seen[0]) <= SHORTEST_SECANT * max(1.0, norm(x)):
            return self
        seen = (x, point.constraints, point.gradient(0))
        dx, dG, dg = (new - old for new, old in zip(seen, self.seen))
        L, M = max(self.L, _secant(dg, dx)), max(self.M, _secant(dG, dx))
        return replace(self, L=L, M=M, seen=seen)


def _bound(L: float, M: float, rho: float) -> float:
    return SHARE_OF_BOUND / max(L + 3 * rho * M * M, 1e-6)


def _secant(rise: Array, run: Array) -> float:
    return norm(rise) / norm(run) if norm(run) > 0 else 0.0
