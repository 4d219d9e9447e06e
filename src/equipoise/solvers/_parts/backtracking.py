"""Step sizes of projected gradient methods: a number, or one that adapts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from equipoise import _check
from equipoise._array import Array, dot, namespace, norm
from equipoise.problem import Point, Problem
from equipoise.solvers._parts.try_at import attempt


class StepSize(ABC):
    """How long a projected gradient step is."""

    @abstractmethod
    def start(self, problem: Problem, point: Point) -> float:
        """Return the step size n to try first."""

    @abstractmethod
    def descend(self, problem: Problem, at_y: Point, n: float) -> tuple[Point, float, float]:
        """Return ``T(y) = P_X(y - n grad F(y))``, the n used, and the one to try next."""


@dataclass(frozen=True)
class Fixed(StepSize):
    """The same n in every step."""

    n: float

    def start(self, problem: Problem, point: Point) -> float:
        """Return n."""
        return self.n

    def descend(self, problem: Problem, at_y: Point, n: float) -> tuple[Point, float, float]:
        """Return ``T(y)``."""
        return problem.at(problem.domain.project(at_y.x - n * at_y.gradient(0))), n, n


@dataclass(frozen=True)
class Backtracking(StepSize):
    """A step size that adapts: cut where F bends more than ``1 / n``, let grow where it is flat.

    Parameters
    ----------
    first : float, optional
        The first step size to try; by default from a difference of two gradients.
    """

    first: float | None = None

    def __post_init__(self) -> None:
        if self.first is not None:
            _check.positive("Backtracking", "first", self.first)

    def start(self, problem: Problem, point: Point) -> float:
        """Return `first`, or ``1 / L`` with L the bend of F along a short step downhill."""
        if self.first is not None:
            return self.first
        x, g = point.x, point.gradient(0)
        slope = norm(g)
        if slope == 0.0:
            return 1.0
        length = 1e-4 * max(1.0, norm(x))
        near = problem.at(problem.domain.project(x - (length / slope) * g))
        moved = norm(near.x - x)
        bend = norm(near.gradient(0) - g) / moved if moved > 0 else 0.0
        return 1.0 / max(bend, slope / min(problem.domain.diameter, 1e3 * max(1.0, norm(x))))

    def descend(self, problem: Problem, at_y: Point, n: float) -> tuple[Point, float, float]:
        """Cut n until ``F(x) <= F(y) + <grad F(y), x - y> + |x - y|^2 / (2 n)``."""
        y, g = at_y.x, at_y.gradient(0)
        while True:
            at_x = attempt(problem, problem.domain.project(y - n * g))
            if at_x is None:
                n *= 0.1
                continue
            d = at_x.x - y
            square = dot(d, d)
            if square == 0.0:
                return at_x, n, n
            bend = at_x.objective - at_y.objective - dot(g, d)
            if square / n <= 1e5 * rounding(y) * abs(at_y.objective):  # values too close to tell
                bend = 0.5 * dot(at_x.gradient(0) - g, d)
            curvature = 2 * bend / square
            if curvature * n <= 1.0:
                return at_x, n, n if curvature * n > 0.5 else 1.1 * n
            n = max(0.1 * n, min(0.5 * n, 0.9 / curvature))


def rounding(x: Array) -> float:
    """Return the relative rounding error of a number in the precision of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)
