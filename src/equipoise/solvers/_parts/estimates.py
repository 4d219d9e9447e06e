"""What methods want to know of a problem: its constants, known or estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import Array, like, norm, to_numpy
from equipoise._problem import Point, Problem

# The first penalty of an augmented Lagrangian, for constraints of slope 10 and less. Chosen; the
# method raises it where it is too small.
FIRST_PENALTY = 10.0

# An estimate of the smoothness is doubled: power iteration finds a lower bound, and at one point.
# Chosen.
DOUBT = 2.0

# The length of the steps, relative to max(1, |x|), along which differences of gradients are taken:
# far above rounding errors, far below the size of x. Chosen.
PROBE = 1e-5

# Up to this many constraints, the gradient of each is formed to measure them all; chosen.
FEW_CONSTRAINTS = 32

# Of more constraints, this many sums of gradients with random signs stand for all. Where all gradients are
# parallel, which is the worst, the estimate is less than half of the truth with probability 0.02.
PROBES = 8


# No penalty is less than this: it divides. Chosen, far below all that ordinary functions ask for.
LEAST_PENALTY = 1e-200


@dataclass(frozen=True)
class Constants:
    """Smoothness, prox parameter, and the convexity that a proximal Lagrangian then has."""

    L: float  # of all functions
    p: float  # of ``p/2 |x - z|^2``
    mu: float  # of ``f_0 + lam'f + p/2 |x - z|^2``, for convex constraints and lam >= 0


def constants(
    owner: str, problem: Problem, x: Array, smoothness: float | None, prox: float | None
) -> Constants:
    """Return the constants: given, known, or estimated from the functions at `x`.

    Huang, Lin & Xu 2025 have ``p > L`` and ``mu = p - L``, as L bounds the weak convexity rho. A large
    p makes the centre slow: so where rho is known, ``p = max(2 rho, L / 10)`` and ``mu = p - rho`` by
    default.
    """
    facts = problem.facts
    L = smoothness if smoothness is not None else facts.smoothness
    if L is None and prox is not None:
        L = 0.5 * prox
    elif L is None:
        used = (0, problem.at(x).worst) if problem.n_constraints else (0,)
        L = DOUBT * max(curvature(problem, x, i) for i in used)
    if prox is not None:
        if not prox > L:
            _check.fail(owner, "prox", f"must exceed the smoothness L = {L:g}", prox)
        return Constants(L, prox, prox - L)
    if L == 0:
        return Constants(0.0, 1.0, 1.0)
    rho = 0.0 if facts.convex else facts.weak_convexity
    if rho is None:
        return Constants(L, 2 * L, L)
    p = max(2 * rho, 0.1 * L)
    return Constants(L, p, p - rho)


def first_penalty(point: Point) -> float:
    """Return 10, or ``1000 / |grad f_i|^2`` where the worst constraint is steeper than 10.

    The curvature that the penalty adds, ``b |grad f_i|^2``, is then at most 1000.
    """
    if not point.constraints.size:
        return FIRST_PENALTY
    steep = max(1.0, 0.1 * norm(point.gradient(point.worst)))
    return max(FIRST_PENALTY / steep / steep, LEAST_PENALTY)  # the square of a huge slope overflows


def constraint_slope(point: Point, lam: np.ndarray) -> float:
    """Estimate ``|J|`` over the constraints that are violated or have a multiplier.

    It comes from one combination of their gradients with equal signs and one with mixed signs, so
    that neither parallel nor opposite gradients hide.
    """
    weights = lam + np.maximum(point.constraints, 0.0)
    if not weights.any():
        return 0.0
    mixed = weights * np.cos(np.arange(1.0, weights.size + 1))
    return max(
        norm(point.vjp(np.concatenate(([0.0], v)))) / norm(v)
        for v in ((weights, mixed) if np.count_nonzero(weights) > 1 else (weights,))
    )


def jacobian_size(point: Point) -> float:
    """Return the root of the sum of all squared derivatives of the constraints, ``|J|``.

    Of many constraints it is an estimate: with signs w at random, the mean of ``|J'w|^2`` is ``|J|^2``,
    and J is never formed.
    """
    m = point.constraints.size
    if m <= FEW_CONSTRAINTS:
        return norm(to_numpy(point.gradients(range(1, m + 1))).ravel())
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, m))
    sums = [norm(point.vjp(np.append(0.0, row))) for row in signs]
    return norm(np.array(sums)) / math.sqrt(PROBES)


def curvature(problem: Problem, x: Array, index: int, tries: int = 10) -> float:
    """Estimate how much one function bends at `x`: a lower bound of its smoothness.

    By power iteration on its Hessian, with differences of gradients at points of the domain.
    """
    g, size = problem.at(x).gradient(index), 0.0
    v = like(np.cos(np.arange(1.0, problem.dim + 1)), x)
    for _ in range(tries):
        beside = problem.domain.project(x + (PROBE * max(1.0, norm(x)) / norm(v)) * v)
        moved = norm(beside - x)
        if moved == 0.0:
            v = -v
            continue
        v = (problem.at(beside).gradient(index) - g) / moved
        if norm(v) == 0.0:
            break
        size = max(size, norm(v))
    return size
