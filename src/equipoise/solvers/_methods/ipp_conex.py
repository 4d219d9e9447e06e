"""IPP-ConEx: proximal points by constraint extrapolation (Boob, Deng & Lan 2022)."""

from __future__ import annotations

from equipoise.solvers._methods.conex import ConEx
from equipoise.solvers._methods.ipp_ssg import EPS_HAT
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._parts.steps import StepRule
from equipoise.solvers._solver import Claim, preset

__all__ = ["ipp_conex"]


@preset(Claim(("active", "bilinear", "convex"), residual=1e-2, steps=20_000))
def ipp_conex(
    *,
    steps: int = 1000,
    multiplier_bound: float = 10.0,
    warm: bool = True,
    rho_hat: float | None = None,
    rho: float | None = None,
    eps_hat: StepRule = EPS_HAT,
) -> IQRC:
    """Return IPP-ConEx (Boob, Deng & Lan 2022): IQRC with constraint extrapolation.

    Parameters
    ----------
    steps : int
        Inner steps T.
    multiplier_bound : float
        A guess of the multipliers' norm plus 1.
    warm : bool
        Carry the multipliers from one subproblem to the next; it saves most of the inner steps.
    rho_hat, rho, eps_hat :
        As for `IQRC`; the paper has ``rho_hat = 2 rho``, the default. ConEx takes no accuracy:
        `eps_hat` only enters the feasibility of the start and the near-stationarity bound.
    """
    oracle = ConEx(steps=steps, multiplier_bound=multiplier_bound, warm=warm)
    return IQRC(oracle=oracle, rho_hat=rho_hat, rho=rho, eps_hat=eps_hat)
