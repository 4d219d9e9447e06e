"""IPP-SSG: proximal points by switching subgradients (Ma, Lin & Yang 2019 and 2020)."""

from __future__ import annotations

from equipoise import _check
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._methods.strong_switching import StrongSwitching
from equipoise.solvers._parts.steps import Constant, StepRule
from equipoise.solvers._solver import Claim, preset

__all__ = ["ipp_ssg"]

# The accuracy in the experiments of Ma, Lin & Yang 2019.
EPS_HAT = Constant(1e-2)


@preset(Claim(("active", "bilinear", "convex"), residual=1e-2, steps=40_000))
def ipp_ssg(
    *,
    steps: int = 2000,
    rho_hat: float | None = None,
    rho: float | None = None,
    eps_hat: StepRule = EPS_HAT,
) -> IQRC:
    """Return IPP-SSG: IQRC with switching subgradients and a fixed number of inner steps.

    The number of inner steps limits the accuracy that can be reached. Ma, Lin & Yang 2019 took
    ``steps=10_000``, Ma, Lin & Yang 2020 ``steps=20_000, rho_hat=1.0, eps_hat=Constant(1e-3)``.

    Parameters
    ----------
    steps : int
        Inner steps K.
    rho_hat, rho, eps_hat :
        As for `IQRC`.
    """
    steps = _check.count("ipp_ssg", "steps", steps, least=1)
    return IQRC(oracle=StrongSwitching(steps=steps), rho_hat=rho_hat, rho=rho, eps_hat=eps_hat)
