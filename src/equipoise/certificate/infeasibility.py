"""Is a point that violates a constraint at least stationary for the violation?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from equipoise._array import norm, to_numpy
from equipoise.certificate import bundle
from equipoise.problem import Point, Problem
from equipoise.problems.merit import Maximum, MeritProblem
from equipoise.problems.proximal import ProximalProblem


@dataclass(frozen=True)
class Infeasibility:
    """The violation at a point, and what keeps it from falling.

    Attributes
    ----------
    violation : float
        ``max(0, g(x))`` with ``g = max_i f_i``.
    stationarity : float
        The least norm of ``sum_i alpha_i grad f_i + N_X(x)`` over convex combinations of the
        nearly largest constraints: 0 means that no direction lowers all of them.
    weights : dict
        The blocking constraints and their share in that combination.
    reach : float
        The diameter of the domain (or a multiple of ``|x|`` where it is unbounded).
    """

    violation: float
    stationarity: float
    weights: dict[str, float]
    reach: float

    @property
    def is_stationary(self) -> bool:
        """Whether moving anywhere in the domain lowers g by at most a tenth, to first order."""
        return self.violation > 0 and self.stationarity * self.reach <= 0.1 * self.violation


def diagnose(problem: Problem, point: Point) -> Infeasibility:
    """Look for a descent direction of ``g = max_i f_i`` at an evaluated point."""
    x, values = to_numpy(point.x), point.constraints
    diameter = problem.domain.diameter
    reach = diameter if math.isfinite(diameter) else 100 * max(1.0, norm(x))
    violation = point.violation
    if violation == 0.0:
        return Infeasibility(0.0, math.inf, {}, reach)
    largest = np.flatnonzero(values >= values.max() - max(0.05 * violation, 1e-9))
    largest = largest[np.argsort(-values[largest], kind="stable")][:64]
    rows = np.array([to_numpy(point.gradient(int(i) + 1)) for i in largest])
    alpha = np.full(largest.size, 1.0 / largest.size)
    best = norm(problem.domain.tangent(x, -alpha @ rows))
    for _ in range(20):  # convex, linear on pieces: solve a piece, stop where nothing is gained
        piece = problem.domain.tangent_map(x, -alpha @ rows)
        scale = max(1.0, float(np.abs(rows).max()))
        sum_row = 1e4 * scale * np.ones(largest.size)
        matrix = np.vstack((piece(rows).T, sum_row))
        trial, _ = nnls(matrix, np.append(np.zeros(x.size), 1e4 * scale))
        if trial.sum() == 0:
            break
        trial /= trial.sum()
        value = norm(problem.domain.tangent(x, -trial @ rows))
        if value >= best - 1e-15:
            break
        alpha, best = trial, value
    if problem.facts.smooth is not True and best * reach > 0.1 * violation:
        best = min(best, _near(problem, x))
    blocking = {
        problem.names[int(i)]: float(share) for i, share in zip(largest, alpha) if share > 1e-6
    }
    return Infeasibility(violation, best, blocking, reach)


def _near(problem: Problem, x: np.ndarray) -> float:
    """The gradient of g's Moreau envelope at `x`: unlike a subgradient it vanishes near a kink."""
    rho = 0.0 if problem.facts.convex_constraints else problem.facts.weak_convexity
    if rho is None:
        return math.inf
    rho_hat = max(1.0, 2 * rho)
    g = MeritProblem(problem, Maximum(level=math.inf))
    witness, _, error = bundle.minimise(ProximalProblem(g, x, rho_hat), rho, 1e-6)
    return rho_hat * (norm(witness - x) + error)
