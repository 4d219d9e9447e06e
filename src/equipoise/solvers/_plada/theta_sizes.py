"""How long PLADA's theta-step is: given, spectral, or measured along the path."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import Array, dot, norm, to_numpy
from equipoise.problem import Point, Problem
from equipoise.solvers._plada.reduced import Reduced
from equipoise.solvers._plada.theta_steps import ThetaStep


class Size(ABC):
    """A step size and the rule that changes it."""

    eta: float

    @abstractmethod
    def move(
        self, problem: Problem, point: Point, lam: np.ndarray, reduced: Reduced, step: ThetaStep
    ) -> tuple[Array, Size]:
        """Return the next iterate and the size for the step after."""


def first_size(problem: Problem, point: Point, rho: float, eta: float | None) -> Size:
    """Return the given size, or the rule that suits the problem."""
    if eta is not None:
        return Given(eta)
    facts, m = problem.facts, problem.n_constraints
    L, M, floor = facts.smoothness, facts.lipschitz, 0.0
    if L is not None and M is not None:
        floor = _bound(L, math.sqrt(m) * M, rho)
        if facts.stochastic:
            return Given(floor)
    g = point.gradient(0)
    length = 0.1 * min(problem.domain.diameter, max(1.0, norm(point.x)))
    ahead = problem.domain.project(point.x - (length / max(norm(g), 1e-300)) * g)
    L = _secant(problem.at(ahead).gradient(0) - g, ahead - point.x)
    M = norm(to_numpy(point.gradients(range(1, m + 1))).ravel())
    eta = max(floor, 0.01 * _bound(L, M, rho))
    if facts.smooth and not facts.stochastic:
        return Spectral(eta, eta)
    return Measured(eta, floor, L, M, None if facts.stochastic else (point.x, point.constraints, g))


@dataclass(frozen=True)
class Given(Size):
    """Always the same."""

    eta: float

    def move(
        self, problem: Problem, point: Point, lam: np.ndarray, reduced: Reduced, step: ThetaStep
    ) -> tuple[Array, Size]:
        """Return the next iterate and this size."""
        return step(problem, point, lam, self.eta), self


@dataclass(frozen=True)
class Spectral(Size):
    r"""For smooth functions: the inverse curvature of the reduced Lagrangian along the last step.

    1. y <- the theta-step, with eta <- eta / 4 until R(y) <= R(x), R the reduced Lagrangian: what the
       descent lemma rests on
    2. eta <- |dx|^2 / <grad R(y) - grad R(x), dx>, dx = y - x (Barzilai & Borwein), at most
       tenfold and below a limit that rises by 3% a step, so that the multipliers can follow
    """

    eta: float
    limit: float

    def move(
        self, problem: Problem, point: Point, lam: np.ndarray, reduced: Reduced, step: ThetaStep
    ) -> tuple[Array, Size]:
        """Return the next iterate and the size for the step after."""
        eta, x, now = self.eta, point.x, reduced.value(point)
        rounding = 100 * problem.facts.rounding * max(1.0, abs(now))
        for _ in range(30):  # 1
            ahead = problem.at(step(problem, point, lam, eta))
            if reduced.value(ahead) <= now + rounding:
                break
            eta *= 0.25
        else:
            return x, self
        dx = ahead.x - x
        if norm(dx) == 0.0:  # held by the domain: nothing to learn
            return x, self
        g_new = ahead.lagrangian_gradient(reduced.multipliers(ahead.constraints))
        bend = dot(g_new - point.lagrangian_gradient(lam), dx) / dot(dx, dx)
        limit = 1.03 * self.limit
        return ahead.x, Spectral(1 / max(bend, 0.1 / eta, 1 / limit), limit)  # 2


@dataclass(frozen=True, eq=False)
class Measured(Size):
    r"""``eta < 1 / (L_F + 3 rho M_G^2)`` with the largest secants of grad F and G seen so far.

    It rises by 1% a step (so that the multipliers can follow) to 0.9 of this bound, and never falls
    below the bound from the facts.
    """

    eta: float
    floor: float  # what the facts allow everywhere; 0 where they are unknown
    L: float  # largest secant of grad F
    M: float  # largest secant of G
    seen: tuple[Array, np.ndarray, Array] | None  # x, G, grad F; None: mini-batches say nothing

    def move(
        self, problem: Problem, point: Point, lam: np.ndarray, reduced: Reduced, step: ThetaStep
    ) -> tuple[Array, Size]:
        """Return the next iterate and the size for the step after."""
        size = self._updated(point)
        eta = max(size.floor, min(1.01 * size.eta, _bound(size.L, size.M, reduced.rho)))
        return step(problem, point, lam, eta), replace(size, eta=eta)

    def _updated(self, point: Point) -> Measured:
        x = point.x
        if self.seen is None or norm(x - self.seen[0]) <= 1e-8 * max(1.0, norm(x)):  # rounding
            return self
        seen = (x, point.constraints, point.gradient(0))
        dx, dG, dg = (new - old for new, old in zip(seen, self.seen))
        L, M = max(self.L, _secant(dg, dx)), max(self.M, _secant(dG, dx))
        return replace(self, L=L, M=M, seen=seen)


def _bound(L: float, M: float, rho: float) -> float:
    return 0.9 / max(L + 3 * rho * M * M, 1e-6)


def _secant(rise: Array, run: Array) -> float:
    return norm(rise) / norm(run) if norm(run) > 0 else 0.0
