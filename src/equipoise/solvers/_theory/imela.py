"""iMELa with a proof: its dual step, and a bound on its multipliers."""

from __future__ import annotations

import math

from equipoise import _check
from equipoise.solvers._methods.imela import IMELa
from equipoise.solvers._theory.in_range import in_range


@in_range
def imela_theory(
    *,
    smoothness: float,
    objective_slope: float,
    constraint_bound: float,
    diameter: float,
    slater: float,
    prox: float | None = None,
    centre_step: float = 0.1,
) -> tuple[IMELa, float]:
    r"""Return the method with the dual step of Huang, Lin & Xu 2025, and their bound on the multipliers.

    ``tau = (p - L) / (4 B_g^2)`` and ``|lam| <= max(2 tau B_g, (C + tau B_g^2 / 2) / nu)`` with
    ``C = (B_f + p D + 1) D``. The theory's centre step also depends on error-bound constants that cannot
    be computed.

    Parameters
    ----------
    smoothness : float
        L, of all functions.
    objective_slope : float
        B_f, a bound on ``|grad f_0|``.
    constraint_bound : float
        B_g, a bound on the values and slopes of the constraints.
    diameter : float
        D.
    slater : float
        nu, such that all ``f_i <= -nu`` at some point of the domain.
    prox : float, optional
        p; by default 2 L.
    centre_step : float
        theta.
    """
    owner = "imela_theory"
    L = _check.positive(owner, "smoothness", smoothness)
    B_f = _check.non_negative(owner, "objective_slope", objective_slope)
    B_g = _check.positive(owner, "constraint_bound", constraint_bound)
    D, nu = _check.positive(owner, "diameter", diameter), _check.positive(owner, "slater", slater)
    p = 2 * L if prox is None else _check.positive(owner, "prox", prox)
    centre_step = _check.inside(owner, "centre_step", centre_step, 0.0, 1.0)
    if not p > L:
        _check.fail(owner, "prox", f"must exceed `smoothness` = {L:g}", prox)
    tau = (p - L) / (4 * B_g**2)
    bound = max(2 * tau * B_g, ((B_f + p * D + 1) * D + tau * B_g**2 / 2) / nu)
    if not math.isfinite(bound):
        raise OverflowError
    return IMELa(prox=p, dual_step=tau, centre_step=centre_step, smoothness=L), bound
