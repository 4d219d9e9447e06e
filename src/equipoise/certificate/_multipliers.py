"""Multipliers for a point that comes with none.

They minimise ``dist^2(-grad f_0 - J'lam, N_X(x)) + sum_i (lam_i f_i)^2`` over ``lam >= 0``: the best
compromise of stationarity and complementarity. The squared distance is a convex function whose gradient
is linear on pieces; on each piece the problem is a non-negative least-squares problem. Losses are compared
by their square roots, which are as large as the gradients and do not overflow.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import nnls

from equipoise._array import all_finite, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._pieces import least_by_pieces
from equipoise.certificate._residuals import tangent
from equipoise.certificate._rounding import TermSizes

# Up to this many nearly active constraints, all their gradients are formed at once; chosen.
ALL_AT_ONCE = 32

# Of more constraints, gradients are formed in batches that grow from this size; chosen.
BATCH = 16

# No batch follows where there are as many gradients as variables, and so many more. At a KKT point as many
# as variables suffice; more only share out the same multipliers. Chosen: 500 are solved for in .04 s,
# 1,800 in 2 s.
SHARED_OUT = 500

# A batch must lower the loss by this share for another one to be tried; chosen.
LEAST_GAIN = 0.1

# Pieces at the most; one or two are the rule. And the share of the loss that is rounding. Chosen.
MAX_PIECES, NOTHING = 50, 1e-15


def fit_multipliers(
    problem: Problem, point: Point, active_within: float
) -> tuple[np.ndarray, np.ndarray, TermSizes]:
    """Return the best multipliers of the constraints with ``f_i(x) >= -active_within``, and ``-grad L``.

    Third comes how large the terms of this sum are.

    Where these are many, their gradients are formed in batches. It ends where no constraint is left
    that helps, where the violation is larger than what further batches could lower, where the last batch
    has gained little, or where there are far more gradients than variables: at a KKT point few multipliers
    suffice, and far from one no multipliers change the verdict. Any multipliers give a valid certificate.
    """
    multipliers = np.zeros(problem.n_constraints)
    candidates = 1 + np.flatnonzero(point.constraints >= -active_within)
    fit = _Fit(problem, point)
    if candidates.size == 0:
        return multipliers, fit.target, fit.terms(np.empty(0))
    if candidates.size <= ALL_AT_ONCE:
        chosen = candidates
    else:
        nearest = np.argsort(-point.values[candidates], kind="stable")[:BATCH]
        chosen = candidates[nearest]
    fit.add(chosen)
    lam = fit.solve()
    loss, gain, size = fit.loss(lam), 1.0, BATCH
    while (
        chosen.size < min(candidates.size, fit.x.size + SHARED_OUT)
        and gain >= LEAST_GAIN
        and math.sqrt(lam.size) * loss > point.violation
    ):
        others = np.setdiff1d(candidates, chosen)
        prices = fit.prices(lam, others)
        best = np.argsort(-prices, kind="stable")[:size]
        helpful = others[best[prices[best] > 1e-6 * max(1.0, fit.scale)]]
        if helpful.size == 0:
            break
        fit.add(helpful)
        chosen = np.concatenate((chosen, helpful))
        lam = fit.solve()
        last, loss = loss, fit.loss(lam)
        gain, size = 1 - (loss / last) ** 2, size + size // 2
    multipliers[chosen - 1] = lam
    return multipliers, fit.downhill(lam), fit.terms(lam)


def finite_rows(problem: Problem, indices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the gradients of these functions; raise where one is not finite."""
    for i, row in zip(indices, rows):
        if not all_finite(row):
            label = problem.label(int(i))
            raise ValueError(f"certify: the gradient of {label} is not finite at this point.")
    return rows


class _Fit:
    """The least-squares problem over the constraints added so far."""

    def __init__(self, problem: Problem, point: Point) -> None:
        self.problem, self.point = problem, point
        self.x = to_numpy(point.x)
        objective = to_numpy(point.gradient(0))  # one that a solver has just formed is used again
        self.target = -finite_rows(problem, np.array([0]), objective[None])[0]
        self.scale = norm(self.target)
        self.rows = np.empty((0, self.x.size))
        self.values = np.empty(0)

    def add(self, indices: np.ndarray) -> None:
        """Form the gradients of these constraints."""
        rows = finite_rows(self.problem, indices, to_numpy(self.point.gradients(indices)))
        self.rows = np.vstack((self.rows, rows))
        self.values = np.concatenate((self.values, self.point.values[indices]))

    def downhill(self, lam: np.ndarray) -> np.ndarray:
        """Return the negative gradient of the Lagrangian, from the gradients already formed."""
        return self.target - lam @ self.rows

    def residual(self, lam: np.ndarray) -> np.ndarray:
        """Return the part of ``-grad L`` outside the normal cone."""
        return tangent(self.problem.domain, self.x, self.downhill(lam))

    def terms(self, lam: np.ndarray) -> TermSizes:
        """Measure the terms that `downhill` adds up."""
        return TermSizes.of(
            self.x, self.target, (share * row for share, row in zip(lam, self.rows))
        )

    def loss(self, lam: np.ndarray) -> float:
        """Return the square root of what is minimised."""
        return math.hypot(norm(self.residual(lam)), norm(lam * self.values))

    def solve(self) -> np.ndarray:
        """Solve piece by piece. The loss is convex, so a piece that gains nothing ends the search."""
        start = np.zeros(self.values.size)
        return least_by_pieces(self.loss, self._solve_piece, start, MAX_PIECES, NOTHING)

    def _solve_piece(self, lam: np.ndarray) -> np.ndarray:
        """Minimise with the normal cone's piece at `lam` held fixed."""
        piece = self.problem.domain.tangent_map(self.x, self.downhill(lam))
        matrix = np.vstack((piece(self.rows).T, np.diag(self.values)))
        lengths = np.array([norm(column) for column in matrix.T])
        used = (lengths > 1e-14 * max(1.0, self.scale)) & (lengths < math.inf)
        answer = np.zeros(lam.size)
        if not used.any():
            return answer
        target = np.concatenate((piece(self.target), np.zeros(lam.size)))
        size = norm(target)
        if size == 0.0:
            return answer
        Q, R = np.linalg.qr(matrix[:, used] / lengths[used])  # the matrix is tall, R is square
        try:
            answer[used] = nnls(R, Q.T @ (target / size))[0] / lengths[used] * size
        except RuntimeError:  # `nnls` cycles where columns depend on each other
            return lam
        return answer

    def prices(self, lam: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return how fast each constraint's multiplier would lower the loss, from one forward pass.

        That is ``grad f_i . r / |r|`` for the residual ``r``, taken by a forward difference along r.
        """
        residual = self.residual(lam)
        length = norm(residual)
        if length <= 1e-12 * max(1.0, self.scale):
            return np.zeros(indices.size)
        step = 1e-6 * max(1.0, norm(self.x)) / length
        ahead = self.problem.at(self.x + step * residual).values
        return (ahead[indices] - self.point.values[indices]) / (step * length)
