"""What the methods of P004 share: constants of a problem, and the KKT sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import Array, like, norm
from equipoise.problem import Point, Problem


def constants(
    owner: str, problem: Problem, x: Array, smoothness: float | None, prox: float | None
) -> tuple[float, float]:
    """Return L and p > L: given, known, or estimated from the functions at `x`."""
    L = smoothness if smoothness is not None else problem.facts.smoothness
    if L is None and prox is not None:
        L = 0.5 * prox
    elif L is None:
        used = (0, problem.at(x).worst) if problem.n_constraints else (0,)
        L = 2 * max(curvature(problem, x, i) for i in used)
    p = prox if prox is not None else 2 * L if L > 0 else 1.0
    if not p > L:
        _check.fail(owner, "prox", f"must exceed the smoothness L = {L:g}", prox)
    return L, p


@dataclass(frozen=True)
class KKT:
    """The residuals of a pair (x, lam), as P004 measures them."""

    stationarity: float  # dist(-grad f_0 - lam'grad f, N_X)
    violation: float  # |[f]_+|
    complementarity: float  # sum_i |lam_i f_i|

    @classmethod
    def at(cls, problem: Problem, point: Point, lam: np.ndarray, uphill: Array) -> KKT:
        """Measure them; `uphill` is the Lagrangian's gradient."""
        f = point.constraints
        return cls(
            problem.domain.normal_distance(point.x, -uphill),
            norm(np.maximum(f, 0.0)),
            float(np.abs(lam * f).sum()),
        )

    @property
    def sum(self) -> float:
        """The score of P004."""
        return self.stationarity + self.violation + self.complementarity


def constraint_slope(point: Point, lam: np.ndarray) -> float:
    """Estimate ``|J|`` over the constraints that are violated or have a multiplier.

    From one combination of their gradients with equal signs and one with mixed signs, so that
    neither parallel nor opposite gradients hide.
    """
    weights = lam + np.maximum(point.constraints, 0.0)
    if not weights.any():
        return 0.0
    mixed = weights * np.cos(np.arange(1.0, weights.size + 1))
    return max(
        norm(point.vjp(np.concatenate(([0.0], v)))) / norm(v)
        for v in ((weights, mixed) if np.count_nonzero(weights) > 1 else (weights,))
    )


def curvature(problem: Problem, x: Array, index: int, tries: int = 10) -> float:
    """Estimate how much one function bends at `x`: a lower bound of its smoothness.

    Power iteration on its Hessian by differences of gradients, at points of the domain.
    """
    g, size = problem.at(x).gradient(index), 0.0
    v = like(np.cos(np.arange(1.0, problem.dim + 1)), x)
    for _ in range(tries):
        near = problem.domain.project(x + (1e-5 * max(1.0, norm(x)) / norm(v)) * v)
        moved = norm(near - x)
        if moved == 0.0:
            v = -v
            continue
        v = (problem.at(near).gradient(index) - g) / moved
        if norm(v) == 0.0:
            break
        size = max(size, norm(v))
    return size
