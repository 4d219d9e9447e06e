"""The switching subgradient method with a proof."""

from __future__ import annotations

import math

from equipoise import _check
from equipoise.solvers._methods.switching import SwitchingSubgradient
from equipoise.solvers._parts.steps import Constant
from equipoise.solvers._theory.in_range import in_range


@in_range
def static_theory(
    *,
    eps: float,
    rho_hat: float,
    rho: float,
    lipschitz: float,
    multiplier_bound: float,
    decrease: float,
) -> tuple[SwitchingSubgradient, int]:
    r"""Return the constant-step method and the number of steps with a proof, for convex constraints.

    With ``E = eps^2 (rho_hat - rho) / (1 + Lam)``, ``eta = E / M^2`` and
    ``T >= 2 M^2 (f_0(x_0) - f_lb) / (rho_hat E^2)``, the drawn iterate satisfies
    ``E |x - x_hat|^2 <= eps^2``.

    Parameters
    ----------
    eps : float
        The near-stationarity wanted.
    rho_hat, rho : float
        Prox parameter and weak-convexity constant, ``rho_hat > rho``.
    lipschitz : float
        M, a bound on all subgradients.
    multiplier_bound : float
        Lam, a bound on the multiplier of ``min {f_0 + rho_hat/2 |y - x|^2 : y in X, g <= 0}``.
    decrease : float
        ``f_0(x_0) - f_lb`` for a feasible start.
    """
    owner = "static_theory"
    eps, M = _check.positive(owner, "eps", eps), _check.positive(owner, "lipschitz", lipschitz)
    rho, rho_hat = (
        _check.non_negative(owner, "rho", rho),
        _check.positive(owner, "rho_hat", rho_hat),
    )
    if not rho_hat > rho:
        _check.fail(owner, "rho_hat", f"must exceed `rho` = {rho:g}", rho_hat)
    Lam = _check.non_negative(owner, "multiplier_bound", multiplier_bound)
    E = eps**2 * (rho_hat - rho) / (1 + Lam)
    T = 2 * M**2 * _check.non_negative(owner, "decrease", decrease) / (rho_hat * E**2)
    return SwitchingSubgradient(step_size=Constant(E / M**2), slack=Constant(E)), math.ceil(T)
