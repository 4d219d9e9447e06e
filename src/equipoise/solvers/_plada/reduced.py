"""The reduced Lagrangian of PLADA: its slack and its multipliers are functions of the constraints."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from equipoise._problem import Point, Problem


@dataclass(frozen=True, eq=False)
class ReducedLagrangian:
    """``max_lam F(x) + <lam, G(x) + u> - |lam - mu|^2 / (2 rho)``, for a given u or the minimising one."""

    mu: np.ndarray  # (m,)
    rho: float
    u: np.ndarray | None  # (m,) given slack; None for the minimiser
    u_max: np.ndarray  # (m,) its bound

    def slack(self, G: np.ndarray) -> np.ndarray:
        """Return u."""
        return np.clip(-G - self.mu / self.rho, 0.0, self.u_max) if self.u is None else self.u

    def multipliers(self, G: np.ndarray) -> np.ndarray:
        """Return the maximising lam."""
        return self.mu + self.rho * (G + self.slack(G))

    def value(self, point: Point) -> float:
        """Return the function's value."""
        lam = self.multipliers(point.constraints)
        return point.objective + float(lam @ lam - self.mu @ self.mu) / (2 * self.rho)


def slack_bound(problem: Problem, G: np.ndarray) -> np.ndarray:
    """Return ``-G(x_0) + M D``, above -G in every component; infinite where M is unknown."""
    M, D = problem.facts.lipschitz, problem.domain.diameter
    rise = math.inf if M is None or not math.isfinite(D) else M * D
    return np.maximum(-G, 0.0) + rise


class StepSizeWarning(UserWarning):
    """A step size lies outside the range that the theory covers."""


def warn_beyond_theory(tau: float | None, rho: float) -> None:
    """Warn where the step on the slack is too long for the theory."""
    bound = 1 / (3 * rho)
    if tau is not None and tau >= bound:
        text = f"PLADA: `tau` = {tau:g} is not below 1 / (3 rho) = {bound:.4g}: no guarantee."
        warnings.warn(text, StepSizeWarning, stacklevel=3)
