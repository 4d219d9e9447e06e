"""IQRC with switching subgradients and a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise import _check
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._methods.strong_switching import StrongSwitching
from equipoise.solvers._parts.steps import Constant
from equipoise.solvers._theory.in_range import in_range


@dataclass(frozen=True)
class IQRCTheory:
    """A method with a proof, and how long to run it."""

    solver: IQRC
    outer_steps: int  # T
    inner_steps: int  # K
    eps_hat: float
    multiplier_bound: float  # Lambda, of the subproblems' multipliers

    @property
    def max_steps(self) -> int:
        """Inner steps in all, from a start that is eps_hat^2-feasible."""
        return self.outer_steps * self.inner_steps


@in_range
def iqrc_theory(
    *,
    eps: float,
    rho_hat: float,
    rho: float,
    sigma_eps: float,
    lipschitz: float,
    diameter: float,
    decrease: float,
    rho_eps: float | None = None,
) -> IQRCTheory:
    r"""Return IQRC with switching subgradients so that E |x_R - xhat(x_R)|^2 <= eps^2 is proven.

    1. Lambda = (M + rho_hat D) / sqrt(2 sigma_eps (rho_hat - rho))
    2. eps_hat = min(1, sqrt((rho_hat - rho) / (4 (Lambda + 1)))) eps
    3. K = ceil(4 (M^2 + rho_hat^2 D^2) / ((rho_hat - rho) eps_hat^2))
    4. T = ceil(4 (f_0(x_0) - f_lb) / (eps^2 (rho_hat - rho)))

    T supposes ``g(x_0) <= eps_hat^2``, not only the papers' ``eps^2``: IQRC sees to it.

    Parameters
    ----------
    eps : float
        The near-stationarity wanted.
    rho_hat, rho : float
        Prox parameter and weak-convexity constant, ``rho < rho_hat``.
    sigma_eps : float
        The uniform Slater constant: ``min_y g(y) + (rho + rho_eps)/2 |y - x|^2 < -sigma_eps`` for every
        x in the domain with ``g(x) <= eps^2``.
    lipschitz, diameter : float
        M, a bound on all subgradients, and D, the diameter of the domain.
    decrease : float
        ``f_0(x_0) - f_lb``.
    rho_eps : float, optional
        The one of `sigma_eps`, at least ``rho_hat - rho`` (the default).
    """
    owner = "iqrc_theory"
    eps, M = _check.positive(owner, "eps", eps), _check.positive(owner, "lipschitz", lipschitz)
    D, sigma = (
        _check.positive(owner, "diameter", diameter),
        _check.positive(owner, "sigma_eps", sigma_eps),
    )
    rho, rho_hat = (
        _check.non_negative(owner, "rho", rho),
        _check.positive(owner, "rho_hat", rho_hat),
    )
    if not rho_hat > rho:
        _check.fail(owner, "rho_hat", f"must exceed `rho` = {rho:g}", rho_hat)
    if rho_eps is not None and rho_hat > rho + _check.positive(owner, "rho_eps", rho_eps):
        rule = f"must be at most `rho` + `rho_eps` = {rho + rho_eps:g}"
        _check.fail(owner, "rho_hat", rule, rho_hat)
    mu = rho_hat - rho
    Lam = (M + rho_hat * D) / math.sqrt(2 * sigma * mu)  # 1
    eps_hat = min(1.0, math.sqrt(mu / (4 * (Lam + 1)))) * eps  # 2
    K = theoretical_steps(  # 3
        lipschitz=M, mu=mu, accuracy=eps_hat**2, rho_hat=rho_hat, diameter=D
    )
    T = math.ceil(4 * _check.non_negative(owner, "decrease", decrease) / (eps**2 * mu))  # 4
    solver = IQRC(
        oracle=StrongSwitching(steps=K), rho_hat=rho_hat, rho=rho, eps_hat=Constant(eps_hat)
    )
    return IQRCTheory(solver, max(1, T), K, eps_hat, Lam)


@in_range
def theoretical_steps(
    *, lipschitz: float, mu: float, accuracy: float, rho_hat: float = 0.0, diameter: float = 0.0
) -> int:
    r"""Return K, the steps after which objective gap and violation are at most `accuracy`.

    ``K = ceil(4 (M^2 + rho_hat^2 D^2) / (mu accuracy))``. Both papers' boxes print ``rho_hat D^2``,
    which is too small for ``rho_hat > 1``; what is needed is ``(M + rho_hat D)^2 / 2``.

    Parameters
    ----------
    lipschitz : float
        M, a bound on the subgradients before regularisation.
    mu : float
        ``rho_hat - rho``, the modulus of the regularised functions.
    accuracy : float
        ``eps_hat^2``.
    rho_hat, diameter : float
        The prox parameter and the diameter D of the domain; 0 without regularisation.
    """
    owner = "theoretical_steps"
    M = _check.positive(owner, "lipschitz", lipschitz)
    mu, accuracy = _check.positive(owner, "mu", mu), _check.positive(owner, "accuracy", accuracy)
    rho_hat = _check.non_negative(owner, "rho_hat", rho_hat)
    D = _check.non_negative(owner, "diameter", diameter)
    K = 4 * (M**2 + rho_hat**2 * D**2) / (mu * accuracy)
    return math.ceil(K * (1 - 1e-12))  # no extra step for a rounding error
