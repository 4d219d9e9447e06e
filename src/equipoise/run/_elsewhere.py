"""Feasible points elsewhere: a few descents of the violation, from points spread over the domain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, all_finite, like, norm, to_numpy
from equipoise._problem import NonFiniteError, Point, Problem

# Starts besides the point itself; chosen.
RESTARTS = 6

# Steps of one descent at the most; chosen. Each is a Gauss-Newton step, so few are needed.
MAX_STEPS = 40

# One start may take this share of the forward passes that are left; chosen.
SHARE_OF_START = 0.4

# Violated constraints whose gradients a step uses, the largest first; chosen.
MAX_GRADIENTS = 32

# Shares of the Gauss-Newton step that are tried. The first aims beyond the boundary, so that descents end
# inside; chosen.
SHARES = (1.1, 0.5, 0.1, 0.01)

# Relative to the trace of the normal equations; chosen, so that gradients may depend on each other.
DAMPING = 1e-10

# Where the domain is unbounded, starts are at most the square of this, times ``max(1, |x|)``, away from
# `x`, and no step is longer. Chosen.
FAR_AWAY = 10.0


# Forward passes that the search may take in any case; more after a run that took more. Chosen.
LEAST_EVALUATIONS = 200


def allowance(evaluations: int) -> int:
    """Return how many forward passes a search may take after a run of so many: at most half as many."""
    return max(LEAST_EVALUATIONS, evaluations // 2)


@dataclass
class Elsewhere:
    """A search for a point whose violation is at most `allowed`.

    Parameters
    ----------
    problem : Problem
    allowed : float
    evaluations : int
        Forward passes at the most.
    """

    problem: Problem
    allowed: float
    evaluations: int

    def search(self, x: Array) -> Array | None:
        """Return such a point, from starts around `x`; None where no descent ends in one."""
        size = max(1.0, norm(x))
        self.kind, self.longest = x, min(self.problem.domain.diameter, FAR_AWAY**2 * size)
        with np.errstate(over="ignore", invalid="ignore"):
            for y in self._starts(to_numpy(x)):
                try:
                    found = self._descend(y)
                except (NonFiniteError, OverflowError, np.linalg.LinAlgError):
                    continue
                if found is not None or self.evaluations <= 0:
                    return found
        return None

    def _starts(self, x: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the point itself, and points spread over the domain: each second one is opposite."""
        domain, rng, size = self.problem.domain, np.random.default_rng(0), max(1.0, norm(x))
        yield domain.project(x)
        diameter = domain.diameter
        bounded = math.isfinite(diameter)
        middle = domain.project(0.0 * x) if bounded else x
        for k in range(RESTARTS):
            if k % 2 == 0:
                far = 0.5 * diameter if bounded else FAR_AWAY ** (0.5 * k) * size
                shift = far / math.sqrt(x.size) * rng.normal(size=x.size)
            yield domain.project(middle + (shift if k % 2 == 0 else -shift))

    def _at(self, y: np.ndarray) -> Point:
        self.evaluations -= 1
        return self.problem.at(like(y, self.kind))

    def _descend(self, y: np.ndarray) -> Array | None:
        """Lower ``sum_i [f_i]_+^2`` by projected Gauss-Newton steps, else the largest f_i by Polyak's."""
        least = (1 - SHARE_OF_START) * self.evaluations
        point = self._at(y)
        for _ in range(MAX_STEPS):
            if not all_finite(point.values):
                return None
            if point.violation <= self.allowed:
                return point.x
            new = self._lower(point)
            if new is None or self.evaluations <= least:
                return None
            point = new
        return point.x if point.violation <= self.allowed else None

    def _lower(self, point: Point) -> Point | None:
        """Return a point with less violation than this one, if a step leads to one."""
        y, values = to_numpy(point.x), point.values
        order = 1 + np.argsort(-values[1:], kind="stable")[:MAX_GRADIENTS]
        over = order[values[order] > 0.0]
        f, rows = values[over], to_numpy(point.gradients(over))
        steepest = float(np.abs(rows).max())
        if not 0.0 < steepest < math.inf:
            return None
        f, rows = f / steepest, rows / steepest
        square = rows @ rows.T
        damped = square + DAMPING * np.trace(square) * np.eye(over.size)
        newton = -np.linalg.solve(damped, f) @ rows
        polyak = -f[0] / max(float(square[0, 0]), 1e-300) * rows[0]
        for step in (newton, polyak):
            step = step * min(1.0, self.longest / max(norm(step), 1e-300))
            for share in SHARES:
                new = self._at(self.problem.domain.project(y + share * step))
                if _measure(new) < _measure(point) * (1 - 0.1 * min(share, 1.0)):
                    return new
        return None


def _measure(point: Point) -> float:
    """Return the Euclidean length of all violations."""
    size = norm(np.maximum(point.constraints, 0.0))
    return size if math.isfinite(size) else math.inf
