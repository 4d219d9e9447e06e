"""Chord steps: after a jump, the same linear system for a new right-hand side.

They pay a little: without them the fits, races and frontiers of `make peers` and `make scaling` take 2.5 %
more time in the geometric mean over 34 cases, frontiers up to 12 % more, fits of COMPAS 10 % less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.solvers._newton.dual_multipliers import dual_multipliers
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._parts.try_at import try_at

# Chord steps follow a jump only where it left at most this share of the residual. Measured with 0.05, 0.1,
# 0.2, 0.3 and 0.5 on a9a, bank and COMPAS with two or four constraints: 0.2 takes 5 % less work to a good
# point than 0.1 and 2 % less to the end, 0.3 takes 13 % and 4 % more.
FAST_JUMP = 0.2

# Another chord step follows where the last one left at most this share of the residual. Chosen.
WORTH_ANOTHER = 0.2

# A chord step that leaves more than this share of the residual is undone. Chosen.
MUST_HALVE = 0.5


@dataclass(frozen=True)
class Chord:
    """What a jump has found out about the neighbourhood: gradients J, ``Z = H^-1 J'``, and H nearly.

    A Newton step with old derivatives costs one evaluation and one gradient; the derivatives
    of a new one cost several times as much (Shamanskii 1967).
    """

    rows: np.ndarray  # (k,) constraints
    J: np.ndarray  # (k, d)
    Z: np.ndarray  # (d, k)
    preconditioner: Preconditioner

    def follow(self, problem: Problem, pair: Pair, enough: float) -> Pair:
        """Take chord steps from `pair` while they pay, until its residual is `enough`.

        1. d <- -F^-1 grad L; mu >= 0 <- multipliers for which ``f_i + <J_i, d - Z (mu - lam)>`` is at
           most 0, and 0 where ``mu_i > 0``
        2. x <- P_X(x + d - Z (mu - lam)), lam <- mu; undone if the residual is not halved
        """
        while pair.residual > enough:
            d, mu = self._downhill(problem, pair), pair.lam.copy()  # 1
            if self.rows.size:
                f, old = problem.at(pair.x).constraints[self.rows], pair.lam[self.rows]
                mu[self.rows] = new = dual_multipliers(
                    self.J, self.Z, f + self.J @ (d + self.Z @ old)
                )
                d = d - self.Z @ (new - old)
            ahead = try_at(problem, problem.domain.project(pair.x + d))  # 2
            if ahead is None:
                return pair
            last, pair = pair, pair_at(problem, ahead, mu)
            if not pair.residual <= WORTH_ANOTHER * last.residual:
                return pair if pair.residual <= MUST_HALVE * last.residual else last
        return pair

    def _downhill(self, problem: Problem, pair: Pair) -> Array:
        piece = problem.domain.tangent_map(pair.x, -pair.gradient)
        return piece(self.preconditioner.solve(piece(-pair.gradient)))
