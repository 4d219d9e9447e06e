"""What methods for ``min_X P``, ``P = max_i p_i`` share: they bound the minimum from both sides."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot, norm
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.problems import Maximum, MeritProblem
from equipoise.sets import Set
from equipoise.solvers._solver import CONVEX, Need, Solver

# On an unbounded domain, lower bounds leave out points farther than this many times max(1, |x|); chosen.
REACH_OF_UNBOUNDED = 10.0

# To bound a linear function from below on a bounded domain, a little curvature is added to it: this,
# relative to its slope over the diameter. The less, the tighter is the bound, until rounding errors show.
# Chosen.
RELATIVE_MODULUS = 1e-6


@dataclass(frozen=True)
class Bracket:
    """What is known of ``H = min_X P``; any weights on the simplex give a lower bound."""

    x: Array  # (d,) the best point so far
    upper: float  # P(x), so never below H
    lower: float  # never above H
    weights: np.ndarray  # (m + 1,) of the functions, those that gave `lower`
    steps: int = 0
    stuck: bool = False  # rounding errors leave nothing to gain

    def improved(self, x: Array, upper: float, lower: float, weights: np.ndarray) -> Bracket:
        """Return the bracket after one more step, the better ends kept."""
        if upper > self.upper:
            x, upper = self.x, self.upper
        if lower < self.lower:
            lower, weights = self.lower, self.weights
        return Bracket(x, upper, lower, weights, self.steps + 1)


MinMaxState = TypeVar("MinMaxState")


@dataclass(frozen=True, kw_only=True)
class MinMax(Solver[MinMaxState], Generic[MinMaxState]):
    """A method for ``MeritProblem(base, Maximum(level))`` with convex functions.

    Parameters
    ----------
    mu : float
        A strong-convexity modulus of every function.
    accuracy, smallest : float
        Stop once ``upper - lower <= accuracy * max(smallest, |upper|)``.
    target : float
        Stop too once ``upper < target``.
    budget : int
        Stop after so many steps.
    """

    needs: ClassVar[tuple[Need, ...]] = (CONVEX,)

    mu: float = 0.0
    accuracy: float = 1e-2
    smallest: float = 1e-8
    target: float = -math.inf
    budget: int = 1000

    def __post_init__(self) -> None:
        owner = type(self).__name__
        _check.non_negative(owner, "mu", self.mu)
        _check.positive(owner, "accuracy", self.accuracy)
        _check.positive(owner, "smallest", self.smallest)
        _check.number(owner, "target", self.target)
        _check.count(owner, "budget", self.budget, least=1)

    @abstractmethod
    def bracket(self, state: MinMaxState) -> Bracket:
        """Return what is known of the minimum."""

    def set_up(self, *, longer: int, **goals: float) -> Self:
        """Return this method with other parameters, and a budget `longer` times its own."""
        return replace(self, budget=self.budget * longer, **goals)

    def reached(self, bracket: Bracket) -> bool:
        """Whether the bracket is as tight as asked, or the target reached."""
        allowed = self.accuracy * max(self.smallest, abs(bracket.upper))
        return bracket.upper < self.target or bracket.upper - bracket.lower <= allowed

    def output(self, state: MinMaxState) -> tuple[Array, None]:
        """Return the best point."""
        return self.bracket(state).x, None

    def verdict(self, state: MinMaxState) -> Status | None:
        """Stop with a tight bracket, or at the end of the budget."""
        bracket = self.bracket(state)
        spent = bracket.stuck or bracket.steps >= self.budget
        return Status.STALLED if spent or self.reached(bracket) else None


def lowest(domain: Set, x: np.ndarray, g: np.ndarray, mu: float) -> float:
    """Bound ``min_{z in X} <g, z - x> + mu/2 |z - x|^2`` from below, by one projection.

    With some s >= mu in place of mu, one projection gives the minimum, which is too large by at most
    ``(s - mu)/2 D^2``. On an unbounded domain with mu = 0, points farther than `reach` are left out.
    """
    D, length = reach(domain, x), norm(g)
    s = max(mu, length / D * (RELATIVE_MODULUS if math.isfinite(domain.diameter) else 1.0))
    if s == 0.0:
        return 0.0
    shift = domain.project(x - g / s) - x
    return dot(g, shift) + 0.5 * s * dot(shift, shift) - 0.5 * (s - mu) * D * D


def reach(domain: Set, x: Array) -> float:
    """Return the diameter of the domain, or a multiple of ``|x|`` where it is unbounded."""
    diameter = domain.diameter
    return diameter if math.isfinite(diameter) else REACH_OF_UNBOUNDED * max(1.0, norm(x))


def functions(problem: Problem, x: Array) -> tuple[Point, np.ndarray]:
    """Return the base problem at `x`, and the functions whose maximum is the merit."""
    if not (isinstance(problem, MeritProblem) and isinstance(problem.merit, Maximum)):
        kind = type(problem).__name__
        raise TypeError(f"MinMax: `problem` must be a MeritProblem of a Maximum, got a {kind}.")
    point = problem.base.at(x)
    p = point.values.copy()
    p[0] -= problem.merit.level
    return point, p


def largest(p: np.ndarray) -> np.ndarray:
    """Return all weight on the largest function."""
    weights = np.zeros(p.size)
    weights[p.argmax()] = 1.0
    return weights
