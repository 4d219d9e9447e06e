"""The search for a proof that there is no feasible point: a proximal bundle method on the violation.

``g = max_i f_i`` is minimised over the domain by tangent planes of the constraints. The dual of each
step is a choice of weights of the planes, and these weights are the proof, once their sum is positive
over all of the domain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from equipoise._array import all_finite, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._proof import SHORTEST, InfeasibilityProof, lower_bound

# Evaluations at the most. Chosen so that it ends within seconds on small problems.
MAX_ROUNDS = 60

# Planes that are kept: those with weight, and the newest. Chosen.
MAX_PLANES = 60

# With more variables the planes do not learn enough in `MAX_ROUNDS` rounds to be worth their memory. Chosen.
MAX_DIM = 10_000

# Of constraints at least this share of the largest, planes are added at a point, and no more than the second
# number; chosen.
NEARLY_LARGEST, MOST_PLANES_ADDED = 0.5, 8

# Less than this share of the violation is not worth a step; chosen.
NOTHING_TO_WIN = 1e-9

# A step that wins this share of what the planes promise moves the centre (Kiwiel 1990).
DESCENT = 0.1

# Of SLSQP: its steps at the most, and the change of the dual at which it ends; chosen.
PRECISE = {"maxiter": 200, "ftol": 1e-15}

# Weights that are 0 but for rounding, and those that SLSQP leaves where it means 0; chosen.
ZERO, NEARLY_ZERO = 1e-13, 1e-9

# Up to this many variables, planes at points around the centre make the slopes cancel where the domain is
# unbounded; chosen.
MAX_DIM_AROUND = 50

# About so many planes are added then at the most. Chosen: the time of SLSQP grows with the cube of them.
MOST_PLANES_AROUND = 160


def provable(problem: Problem) -> bool:
    """Whether the facts say how far a constraint can be below its tangent planes."""
    facts = problem.facts
    known = bool(facts.convex_constraints) or facts.weak_convexity is not None
    return known and problem.dim <= MAX_DIM and not problem.stochastic


@dataclass(frozen=True)
class ProofSearch:
    """What the search found: a proof, or the point with the least ``g``, or neither."""

    proof: InfeasibilityProof | None
    x: np.ndarray
    excess: float  # g(x)


def prove_infeasible(
    problem: Problem, x: np.ndarray, least: float = 0.0, rounds: int = MAX_ROUNDS
) -> ProofSearch:
    """Look for a proof that the constraints are violated by more than `least`, from the point `x` on.

    A point where they are violated by less ends the search as well.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bundle, proof = _Bundle(problem, x, least), None
        for _ in range(min(rounds, MAX_ROUNDS)):
            y = bundle.solve()
            proof = bundle.proof(y)
            if proof is not None:
                break
            if not bundle.advance(y):
                break
        if proof is None and bundle.excess > least:
            proof = bundle.surrounded()
    return ProofSearch(proof, bundle.center, bundle.excess)


class _Bundle:
    """Planes ``values_j + <rows_j, . - points_j>`` below constraints, and a centre."""

    def __init__(self, problem: Problem, x: np.ndarray, least: float) -> None:
        self.problem, self.domain, self.least = problem, problem.domain, least
        d = problem.dim
        self.indices, self.values = np.empty(0, dtype=int), np.empty(0)
        self.points, self.rows = np.empty((0, d)), np.empty((0, d))
        self.weights = np.empty(0)
        self.center = self.domain.project(to_numpy(x))
        self.excess = self.add(problem.at(self.center))
        self.weights[0] = 1.0
        self.unit = max(self.excess, 1e-300)  # values are measured in it
        length = max(SHORTEST, min(self.domain.diameter, max(1.0, norm(self.center))))
        steepest = max(norm(row) for row in self.rows)
        self.modulus = steepest / length or self.unit / length**2

    def add(self, point: Point, most: int = 0) -> float:
        """Add the planes of the largest constraints at a point, at `most` so many; return ``g`` there."""
        y, values = to_numpy(point.x), point.values
        order = 1 + np.argsort(-values[1:], kind="stable")[: most or MOST_PLANES_ADDED]
        chosen = order[values[order] >= NEARLY_LARGEST * abs(values[order[0]])]
        chosen = order[:1] if chosen.size == 0 else chosen
        rows = to_numpy(point.gradients(chosen))
        self.indices = np.append(self.indices, chosen)
        self.values = np.append(self.values, values[chosen])
        self.points = np.vstack((self.points, np.repeat(y[None], chosen.size, axis=0)))
        self.rows = np.vstack((self.rows, rows))
        self.weights = np.append(self.weights, np.zeros(chosen.size))
        return point.excess

    def _heights(self) -> np.ndarray:
        """Return the values of the planes at the centre."""
        return self.values + (self.rows * (self.center - self.points)).sum(axis=1)

    def solve(self) -> np.ndarray:
        """Choose the weights that maximise the dual; return the minimiser they belong to."""
        h, rows, mu = self._heights() / self.unit, self.rows / self.unit, self.modulus / self.unit

        def dual(w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            slope = w @ rows
            y = self.domain.project(self.center - slope / mu)
            step = y - self.center
            values = h + rows @ step
            return -float(w @ values + 0.5 * mu * (step @ step)), -values, y

        k = h.size
        if k > 1:
            answer = minimize(
                lambda w: dual(w)[:2],
                self.weights,
                jac=True,
                method="SLSQP",
                bounds=[(0.0, None)] * k,
                constraints={
                    "type": "eq",
                    "fun": lambda w: w.sum() - 1,
                    "jac": lambda _: np.ones(k),
                },
                options=PRECISE,
            )
            new = np.maximum(answer.x, 0.0)
            if new.sum() > 0.5 and dual(new / new.sum())[0] <= dual(self.weights)[0]:
                self.weights = new / new.sum()
        return dual(self.weights)[2]

    def _drop(self) -> None:
        """Drop the oldest planes without weight where there are too many."""
        extra = max(0, self.weights.size - MAX_PLANES)
        idle = np.flatnonzero(self.weights <= ZERO)[:extra]
        for name in ("indices", "values", "points", "rows", "weights"):
            setattr(self, name, np.delete(getattr(self, name), idle, axis=0))

    def proof(self, y: np.ndarray) -> InfeasibilityProof | None:
        """Return the proof that the weights are, if they are one; with slopes that cancel if needed."""
        weights = [self.weights]
        if not math.isfinite(self.domain.diameter):
            weights.append(self._cancelled(y))
        for w in weights:
            for center in (y, self.center):
                kept = w > 0
                proof = InfeasibilityProof(self.indices[kept], self.points[kept], w[kept], center)
                bound, radius = lower_bound(self.problem, proof, self.values[kept], self.rows[kept])
                if self.least < bound < math.inf:
                    return replace(proof, bound=bound, radius=radius)
        return None

    def _cancelled(self, y: np.ndarray) -> np.ndarray:
        """Return weights near the present ones whose slopes cancel to the last digits, but for normals."""
        w = self.weights.copy()
        piece = self.domain.tangent_map(y, -(w @ self.rows))
        used = np.flatnonzero(w > NEARLY_ZERO)
        w[w <= NEARLY_ZERO] = 0.0
        scale = max(norm(row) for row in self.rows) or 1.0
        matrix = np.vstack((piece(self.rows[used]).T / scale, np.ones(used.size)))
        for _ in range(3):  # iterative refinement
            error = matrix @ w[used]
            error[-1] -= 1.0
            w[used] -= np.linalg.lstsq(matrix, error, rcond=1e-10)[0]
        return w if (w >= 0).all() else self.weights

    def advance(self, y: np.ndarray) -> bool:
        """Learn the planes at `y`, and move there if it is much better; False where that is of no use."""
        if not all_finite(y):
            return False
        promised = float((self._heights() + self.rows @ (y - self.center)).max())
        point = self.problem.at(y)
        if not all_finite(point.values):
            return False
        self._drop()
        excess, before = self.add(point), self.excess
        if excess < before:
            if excess <= before - DESCENT * (before - promised):
                self.modulus *= 0.25  # Chosen: longer steps as long as they do well.
            self.center, self.excess = y, excess
        return self.excess > self.least and promised < (1 - NOTHING_TO_WIN) * before

    def surrounded(self) -> InfeasibilityProof | None:
        """Try once more with planes from all sides, which an unbounded domain may need."""
        d = self.problem.dim
        if math.isfinite(self.domain.diameter) or d > MAX_DIM_AROUND:
            return None
        step, known = 1e-3 * max(1.0, norm(self.center)), self.weights.size  # 1e-3: chosen
        most = min(MOST_PLANES_ADDED, MOST_PLANES_AROUND // (2 * d))
        for shift in step * np.vstack((np.eye(d), -np.eye(d))):
            point = self.problem.at(self.domain.project(self.center + shift))
            if not all_finite(point.values):
                return None
            self.add(point, most)
        y = self.solve()
        self.weights *= 0.5
        self.weights[known:] += 0.5 / (self.weights.size - known)
        return self.proof(y)
