"""The constants in the guarantee of Yu, Neely & Wei 2017."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise.solvers._theory.in_range import in_range


@dataclass(frozen=True)
class HighProbabilityBounds:
    """What holds with probability 1 - delta after K steps; far too large to be of practical use."""

    queue: float  # Lambda_Q: |Q_k| stays below it
    gap: float  # B1: the objective gap at the mean
    violation: float  # B2: every constraint at the mean


@in_range
def high_probability_bounds(
    *,
    steps: int,
    delta: float,
    slater: float,
    diameter: float,
    value_bound: float,
    lipschitz: float,
    n_constraints: int = 1,
    rho_hat: float = 0.0,
) -> HighProbabilityBounds:
    """Return the constants of Theorem 3 in Ma, Lin & Yang 2019, as a diagnostic.

    Parameters
    ----------
    steps, delta : int, float
        K and the probability of failure.
    slater : float
        sigma, such that some point has all (regularised) constraints below -sigma.
    diameter : float
        D, of the domain.
    value_bound, lipschitz : float
        M0 bounds the vector of constraint estimates, M1 every subgradient estimate.
    n_constraints : int
    rho_hat : float
        The prox parameter; 0 without regularisation.
    """
    owner = "high_probability_bounds"
    K = _check.count(owner, "steps", steps, least=1)
    m = _check.count(owner, "n_constraints", n_constraints, least=1)
    rho_hat = _check.non_negative(owner, "rho_hat", rho_hat)
    sigma, D = (
        _check.positive(owner, "slater", slater),
        _check.positive(owner, "diameter", diameter),
    )
    delta = _check.inside(owner, "delta", delta, 0.0, 1.0)
    M0 = _check.non_negative(owner, "value_bound", value_bound) + rho_hat * math.sqrt(m) * D**2 / 2
    M1 = _check.non_negative(owner, "lipschitz", lipschitz) + rho_hat * D
    E = M0 + math.sqrt(m) * M1 * D
    # log(1 + (32 E^2 / sigma^2) exp(sigma / 8E)), safe from overflow
    tail = float(np.logaddexp(0.0, math.log(32 * E**2 / sigma**2) + sigma / (8 * E)))
    queue = sigma / 2 + E + (2 * D**2 + 2 * M1 * D + E**2) / sigma
    queue += 8 * E**2 / sigma * (tail + math.log(2 * K / delta))
    gap = D**2 + M1**2 / 4 + E**2 / 2 + math.sqrt(math.log(1 / delta)) * M0 * queue
    violation = queue + M1**2 + queue * math.sqrt(m) * M1**2 / 2
    return HighProbabilityBounds(queue, gap / math.sqrt(K), violation / math.sqrt(K))
