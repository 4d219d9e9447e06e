"""Strongly convex problems with kinks: a cutting-plane model and its exact error bound.

Every function of the proximal subproblem is ``F_i = h_i + mu/2 |y - x|^2``, where
``h_i = f_i + rho/2 |y - x|^2`` is convex. So each evaluation gives a plane below ``h_i``. The model
made of these planes is solved in its dual, over the weights of the planes. Any weights give a lower
bound on the minimum, and with it a bound on the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from equipoise._array import norm, to_numpy
from equipoise._errors import NonFiniteError
from equipoise.problems import ProximalProblem

# Rounds at the most; chosen so that an examination ends within seconds on small problems.
MAX_ROUNDS = 250

# Where there are more planes than the first number, those without weight are dropped, but for as many of
# the newest as the second number says; chosen.
MAX_PLANES, NEWEST_KEPT = 60, 10

# Rounds in a row that lower the error bound by less than a thousandth, after which it gives up;
# chosen.
PATIENCE = 40

# Of SLSQP: its steps at the most, and the change of the dual at which it ends; chosen.
PRECISE = {"maxiter": 200, "ftol": 1e-16}

# A weight that is 0 but for rounding; chosen.
ZERO = 1e-13

# Multipliers beyond this mean that the subproblem has no feasible point: in theory they are
# infinite then.
MAX_MULTIPLIER_SUM = 1e10


def minimise_with_kinks(
    problem: ProximalProblem,
    rho: float,
    tol: float,
    *,
    rounds: int = MAX_ROUNDS,
    goal: Callable[[np.ndarray], float] | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the minimiser, its multipliers and a bound on the minimiser's error.

    Each of at most `rounds` rounds costs two forward and two backward passes. A `goal` maps
    multipliers to a distance from the centre: then it is enough to know on which side of that
    distance the minimiser lies.
    """
    model = _PlaneModel(problem, rho)
    y = problem.domain.project(problem.center)
    best = (y, np.zeros(problem.n_constraints), math.inf)
    stalled = 0
    for _ in range(rounds):
        try:
            model.cut(y)
            y, multipliers, lower = model.solve()
            error = model.error(y, multipliers, lower)
        except NonFiniteError:
            break  # the best so far is what is known
        stalled = 0 if error < 0.999 * best[2] else stalled + 1
        if error < best[2]:
            best = (y, multipliers, error)
        if best[2] <= tol or stalled > PATIENCE or multipliers.sum() > MAX_MULTIPLIER_SUM:
            break
        if goal is not None and abs(norm(best[0] - problem.center) - goal(best[1])) >= best[2]:
            break
    return best


class _PlaneModel:
    """Planes ``offset_j + <slope_j, y - center>`` below the functions ``h_i``."""

    def __init__(self, problem: ProximalProblem, rho: float) -> None:
        self.problem, self.rho = problem, rho
        self.center = problem.center
        self.mu = problem.rho_hat - rho
        self.owner = np.empty(0, dtype=int)  # which function each plane belongs to
        self.offsets = np.empty(0)
        self.slopes = np.empty((0, problem.dim))
        self.weights = np.empty(0)

    def cut(self, y: np.ndarray) -> None:
        """Add the planes of the objective and of the largest constraint at `y`."""
        point = self.problem.base.at(y)
        shift = y - self.center
        for i in (0, point.worst) if point.values.size > 1 else (0,):
            slope = to_numpy(point.gradient(i)) + self.rho * shift
            height = point.values[i] + 0.5 * self.rho * (shift @ shift) - slope @ shift
            self.owner = np.append(self.owner, i)
            self.offsets = np.append(self.offsets, height)
            self.slopes = np.vstack((self.slopes, slope))
            self.weights = np.append(self.weights, 1.0 if self.owner.size == 1 else 0.0)
        if self.owner.size > MAX_PLANES:
            newest = np.arange(self.owner.size) >= self.owner.size - NEWEST_KEPT
            keep = (self.weights > ZERO) | newest
            self.owner, self.offsets = self.owner[keep], self.offsets[keep]
            self.slopes, self.weights = self.slopes[keep], self.weights[keep]
            self.weights[self.owner == 0] /= self.weights[self.owner == 0].sum()

    def solve(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Maximise the dual over weights >= 0, of which those of the objective's planes sum to 1."""
        objective = (self.owner == 0).astype(float)
        answer = minimize(
            lambda w: self._dual(w)[:2],
            self.weights,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, None)] * self.weights.size,
            constraints={
                "type": "eq",
                "fun": lambda w: objective @ w - 1,
                "jac": lambda _: objective,
            },
            options=PRECISE,
        )
        weights = np.maximum(answer.x, 0.0)
        weights[self.owner == 0] /= weights[self.owner == 0].sum()
        if not -self._dual(weights)[0] >= -self._dual(self.weights)[0]:
            weights = self.weights
        self.weights = weights
        value, _, y = self._dual(weights)
        multipliers = np.bincount(self.owner, weights, self.problem.n_constraints + 1)[1:]
        return y, multipliers, -value

    def _dual(self, weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the negative dual value, its gradient, and the model's minimiser."""
        modulus = self.mu * (1 + weights[self.owner > 0].sum())
        slope = weights @ self.slopes
        y = self.problem.domain.project(self.center - slope / modulus)
        shift = y - self.center
        square = float(shift @ shift)
        value = weights @ self.offsets + slope @ shift + 0.5 * modulus * square
        gradient = self.offsets + self.slopes @ shift + (self.owner > 0) * (0.5 * self.mu * square)
        return -float(value), -gradient, y

    def error(self, y: np.ndarray, multipliers: np.ndarray, lower: float) -> float:
        """Bound the distance d of the model's minimiser `y` from the exact one.

        Strong convexity gives, with v the violation at y: either ``d^2 <= 2 v / mu``, or
        ``d^2 <= 2 (F_0(y) - lower) / (mu (2 + |lam|_1))``.
        """
        point = self.problem.at(y)
        gap = max(0.0, point.objective - lower)
        by_gap = 2 * gap / (self.mu * (2 + multipliers.sum()))
        return math.sqrt(max(2 * point.violation / self.mu, by_gap))
