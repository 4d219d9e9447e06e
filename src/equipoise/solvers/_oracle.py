"""An oracle: a method for strongly convex problems that an outer loop can set up."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Self

import numpy as np

from equipoise.solvers._solver import Solver, State


class Oracle(Solver[State], Generic[State]):
    """A solver for ``min F_0  s.t.  F_i <= 0`` with every ``F_i`` strongly convex.

    Its `verdict` must come in the end. It is promised to return a point of the domain whose objective
    gap and whose constraints are at most the accuracy it was tuned to.
    """

    @abstractmethod
    def tuned(self, *, mu: float, accuracy: float, multipliers: np.ndarray | None) -> Self:
        """Return this method set up for one subproblem.

        Parameters
        ----------
        mu : float
            The strong-convexity modulus of every function.
        accuracy : float
            The objective gap and constraint value to reach (``eps_hat^2``).
        multipliers : ndarray of shape (m,) or None
            Those of the previous subproblem, to start from.
        """
