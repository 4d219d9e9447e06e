"""The least curvature of a symmetric operator on a subspace, from few products (Lanczos)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import norm

# What is left of a vector counts as nothing below this share of its length: far above rounding errors, and
# far below what a random vector has in a direction that is still missing. Chosen.
NOTHING_LEFT = 1e-8

# Every product adds this many units of rounding to the error, relative to the largest curvature. Chosen.
UNITS = 10.0

# The probability with which a bound from a part of the subspace may be wrong. Chosen.
FAILURE = 1e-6

# A direction is good enough to stop at after the first number of products, where its residual is at most the
# second number times its curvature. Chosen; smaller spaces are looked at completely.
ENOUGH_PRODUCTS, GOOD_DIRECTION = 12, 0.1

# After how many products it is tried whether a direction is good enough. Chosen: the eigenvectors that
# tell cost more than a product with a small matrix does.
TRIED_EVERY = 4

ProductWithError = Callable[[np.ndarray], tuple[np.ndarray, float]]


@dataclass(frozen=True)
class LeastCurvature:
    """The least value of ``v'Hv / |v|^2`` that was found, and how much less there may be.

    Attributes
    ----------
    value : float
        The curvature along `direction`; infinite where the subspace is {0}.
    error : float
        How far `value` may be from the curvature along `direction`: rounding, or differences.
    missing : float
        The least curvature is at least ``value - error - missing``: 0 where the whole subspace was
        looked at, infinite where nothing is known. Between, the bound of Kuczynski & Wozniakowski
        (1992), which fails for one random start in a million.
    largest : float
        The largest curvature found, without its sign.
    direction : ndarray of shape (d,) or None
        Of length 1; None where the subspace is {0}.
    products : int
        How many were taken.
    """

    value: float
    error: float
    missing: float
    largest: float
    direction: np.ndarray | None
    products: int


def least_curvature(
    product: ProductWithError,
    project: Callable[[np.ndarray], np.ndarray],
    dim: int,
    most: int,
    *,
    seed: int = 0,
) -> LeastCurvature:
    r"""Search the least curvature on the range of an orthogonal projection.

    1. q <- a random vector of the subspace, of length 1
    2. z <- the projection of H q; keep both; M <- Q'Z
    3. q <- z without its part in Q; a new random vector where nothing is left
    4. stop where nothing is left of that one either: M is all of H on the subspace; after `most`
       products; or, after a few, where the least eigenvector of M has negative curvature

    Parameters
    ----------
    product : callable
        ``v -> (H v, error)``: the error is of the curvature along the unit vector `v`.
    project : callable
        The orthogonal projection on the subspace.
    dim : int
        Of the space around it.
    most : int
        Products at the most.
    seed : int
        Of the random vectors.
    """
    rng = np.random.default_rng(seed)
    most = min(most, dim)
    Q, Z, M = np.empty((most, dim)), np.empty((most, dim)), np.empty((most, most))
    error, k = 0.0, 0
    q = _fresh(rng, project, Q[:0])  # 1
    while q is not None and k < most:
        z, wrong = product(q)
        z = project(z)  # 2
        if not np.isfinite(z).all():
            return LeastCurvature(math.nan, math.inf, math.inf, math.inf, None, k + 1)
        Q[k], Z[k] = q, z
        M[k, : k + 1], M[:k, k] = Z[: k + 1] @ q, Q[:k] @ z
        k, error = k + 1, error + wrong
        if k >= ENOUGH_PRODUCTS and k % TRIED_EVERY == 0:  # 4
            found, off, _ = _least(Q[:k], Z[:k], M[:k, :k], error)
            if found.value < -found.error and off <= GOOD_DIRECTION * abs(found.value):
                break
        rest = project(_without(z, Q[:k]))  # 3
        size = norm(rest)
        q = rest / size if size > NOTHING_LEFT * norm(z) else _fresh(rng, project, Q[:k])
    if k == 0:
        return LeastCurvature(math.inf, 0.0, 0.0, 0.0, None, 0)
    found, _, spread = _least(Q[:k], Z[:k], M[:k, :k], error)
    return found if q is None else replace(found, missing=_missing(k, dim, spread))


def _least(
    Q: np.ndarray, Z: np.ndarray, M: np.ndarray, error: float
) -> tuple[LeastCurvature, float, float]:
    """Return the least eigenvector of M with its residual, and the spread of all eigenvalues."""
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    value, largest = float(values[0]), float(np.abs(values).max())
    direction = vectors[:, 0] @ Q
    rounding = UNITS * np.finfo(float).eps * len(Q) * largest
    error = error + rounding + 0.5 * float(np.linalg.norm(M - M.T))
    found = LeastCurvature(value, error, 0.0, largest, direction, len(Q))
    return found, norm(vectors[:, 0] @ Z - value * direction), float(values[-1] - values[0])


def _fresh(
    rng: np.random.Generator, project: Callable[[np.ndarray], np.ndarray], Q: np.ndarray
) -> np.ndarray | None:
    """Return a random unit vector of the subspace outside the span of Q; None where there is none."""
    start = rng.normal(size=(Q.shape[1],))
    v = _without(project(project(start)), Q)  # twice, against rounding
    size = norm(v)
    return v / size if size > NOTHING_LEFT * norm(start) else None


def _without(v: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return `v` without its part in the span of Q; the second pass removes the errors of the first."""
    for _ in range(2):
        v = v - (Q @ v) @ Q
    return v


def least_products(dim: int) -> int:
    """Return from how many products on there is a bound on what they miss, or nothing is missed."""
    return min(dim, 1 + math.floor(0.5 + _doubt(dim) / math.sqrt(2.0)))


def _missing(k: int, dim: int, spread: float) -> float:
    """Bound what `k` products may have missed, all but once in a million (`FAILURE`)."""
    share = (_doubt(dim) / (2 * k - 1)) ** 2
    return share * spread / (1 - 2 * share) if share < 0.5 else math.inf


def _doubt(dim: int) -> float:
    return math.log(1.648 * math.sqrt(dim) / FAILURE)
