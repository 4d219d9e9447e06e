"""The weak convexity of a problem whose facts do not know it, measured by secants of its gradients."""

from __future__ import annotations

import numpy as np

from equipoise._array import Array, dot, like, norm, square
from equipoise._problem import Problem

# Lengths of the secants, relative to the start's size and at least to 1; and the number of directions for
# each. Chosen: near and far, few evaluations beside the thousands that a run takes.
LENGTHS, DIRECTIONS = (1e-2, 1e-1, 1.0), 4

# Functions whose gradients are taken, at the most: the objective, and constraints evenly spread. Chosen.
MOST_FUNCTIONS = 20

# Gradients that differ by less, relative to their size, are taken to be the same: single precision does not
# tell more. Chosen.
ROUNDING = 1e-6


def measured_weak_convexity(problem: Problem, x: Array) -> float:
    """Return the steepest fall of a gradient along a secant: at most the true constant.

    For a rho-weakly convex f, ``<g(a) - g(b), a - b> >= -rho |a - b|^2``. So every pair of points
    gives a number that rho is not below. The directions are always the same ones for one dimension.
    """
    rng = np.random.default_rng(0)
    size = max(1.0, norm(x))
    functions = np.unique(
        np.linspace(0, problem.n_constraints, MOST_FUNCTIONS).round().astype(np.intp)
    )
    base = problem.domain.project(x)
    gradients = problem.at(base).gradients(functions)
    largest = 0.0
    for length in LENGTHS:
        for _ in range(DIRECTIONS):
            direction = rng.normal(size=problem.dim)
            step = like(direction * (length * size / np.linalg.norm(direction)), base)
            other = problem.domain.project(base + step)
            apart = other - base
            distance = square(apart)
            if distance == 0.0:
                continue
            found = problem.at(other).gradients(functions)
            for a, b in zip(gradients, found):
                if norm(b - a) > ROUNDING * max(norm(a), norm(b)):
                    largest = max(largest, -dot(b - a, apart) / distance)
    return largest
