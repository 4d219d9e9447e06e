"""Step sizes of projected gradient methods: a number, or one that adapts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from equipoise import _check
from equipoise._array import Array, dot, namespace, norm
from equipoise._problem import Point, Problem
from equipoise.solvers._parts.try_at import try_at

# The length of the step, relative to max(1, |x|), along which the first curvature is measured:
# long enough for a difference of gradients to have digits. Chosen.
PROBE = 1e-4

# On an unbounded domain the first step is at most this long, relative to max(1, |x|). Chosen.
LONGEST_FIRST_STEP = 1e3

# For the first step functions are taken to have at least this curvature: the inverse of less may overflow.
LEAST_CURVATURE = 1e-300

# Where |x - y|^2 / n is below this many rounding errors of F, values no longer tell the curvature,
# and gradients are compared instead. Derived: 1e5 errors leave five digits.
TOO_CLOSE = 1e5

# The next step is 1.1 times as long where the curvature used less than half of what 1 / n allows;
# a step that is refused is cut to 0.9 / curvature, between a tenth and a half. Chosen; shorter cuts take
# up to 25 % less work on the reference problems (docs/constants.md).
GROWTH, LEAST_CUT, SMALLEST_CUT, SAFETY = 1.1, 0.5, 0.1, 0.9


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
        """Return `first`, or ``1 / L`` with L the curvature of F along a short step downhill."""
        if self.first is not None:
            return self.first
        x, g = point.x, point.gradient(0)
        slope, size = norm(g), max(1.0, norm(x))
        if slope == 0.0:
            return 1.0
        ahead = problem.at(problem.domain.project(x - PROBE * size * (g / slope)))
        moved = norm(ahead.x - x)
        curvature = norm(ahead.gradient(0) - g) / moved if moved > 0 else 0.0
        longest = min(problem.domain.diameter, LONGEST_FIRST_STEP * size)
        if longest == 0.0:  # the domain is a point
            return 1.0
        return 1.0 / max(curvature, slope / longest, LEAST_CURVATURE)

    def descend(self, problem: Problem, at_y: Point, n: float) -> tuple[Point, float, float]:
        """Cut n until ``F(x) <= F(y) + <grad F(y), x - y> + |x - y|^2 / (2 n)``."""
        y, g = at_y.x, at_y.gradient(0)
        while True:
            at_x = try_at(problem, problem.domain.project(y - n * g))
            if at_x is None:
                n *= SMALLEST_CUT
                continue
            d = at_x.x - y
            square = dot(d, d)
            if square == 0.0:
                return at_x, n, n
            rise = at_x.objective - at_y.objective - dot(g, d)  # beyond the linear part
            if square / n <= TOO_CLOSE * unit_rounding(y) * abs(at_y.objective):
                rise = 0.5 * dot(at_x.gradient(0) - g, d)
            curvature = 2 * rise / square
            if curvature * n <= 1.0:
                return at_x, n, n if curvature * n > 0.5 else GROWTH * n
            n = max(SMALLEST_CUT * n, min(LEAST_CUT * n, SAFETY / curvature))


def unit_rounding(x: Array) -> float:
    """Return the relative rounding error of a number in the precision of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)
