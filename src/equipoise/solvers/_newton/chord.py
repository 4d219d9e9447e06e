"""Chord steps: after a jump, the same linear system for a new right-hand side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from equipoise._array import Array
from equipoise.problem import Problem
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Learned
from equipoise.solvers._parts.try_at import attempt

PAYS = 0.2  # what must be left of the residual for another chord step


@dataclass(frozen=True)
class Chord:
    """What a jump has found out about the neighbourhood: gradients J, ``Z = H^-1 J'``, and H nearly.

    A Newton step with old derivatives costs one evaluation and one gradient; the derivatives
    of a new one cost several times as much (Shamanskii's method).
    """

    rows: np.ndarray  # (k,) constraints
    J: np.ndarray  # (k, d)
    Z: np.ndarray  # (d, k)
    known: Learned

    def follow(self, problem: Problem, pair: Pair, enough: float) -> Pair:
        """Take chord steps from `pair` while they pay, until its residual is `enough`.

        1. d <- -F^-1 grad L; mu >= 0 <- multipliers for which ``f_i + <J_i, d - Z (mu - lam)>`` is at
           most 0, and 0 where ``mu_i > 0``
        2. x <- P_X(x + d - Z (mu - lam)), lam <- mu; undone if the residual is not halved
        """
        S = self.J @ self.Z
        while pair.residual > enough:
            d, mu = self._downhill(problem, pair), pair.lam.copy()  # 1
            if self.rows.size:
                f, old = problem.at(pair.x).constraints[self.rows], pair.lam[self.rows]
                mu[self.rows] = new = dual(S, f + self.J @ d + S @ old)
                d = d - self.Z @ (new - old)
            ahead = attempt(problem, problem.domain.project(pair.x + d))  # 2
            if ahead is None:
                return pair
            last, pair = pair, pair_at(problem, ahead, mu)
            if not pair.residual <= PAYS * last.residual:
                return pair if pair.residual <= 0.5 * last.residual else last
        return pair

    def _downhill(self, problem: Problem, pair: Pair) -> Array:
        piece = problem.domain.tangent_map(pair.x, -pair.gradient)
        return piece(self.known.solve(piece(-pair.gradient)))


def dual(S: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return ``mu >= 0`` with ``S mu >= q``, and equality where ``mu > 0``, or nearly so.

    S is symmetric and positive semi-definite but for what CG left undone: so first the best `mu` of
    its symmetric part, then equality for the constraints that are active there.
    """
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    values = np.sqrt(np.maximum(values, 1e-10 * max(values[-1], 1e-300)))
    mu = nnls((vectors * values).T, (vectors / values).T @ q)[0]
    active = np.flatnonzero(mu)
    exact = np.linalg.lstsq(S[np.ix_(active, active)], q[active], rcond=1e-10)[0]
    if (exact > 0).all():
        mu[active] = exact
    return mu
