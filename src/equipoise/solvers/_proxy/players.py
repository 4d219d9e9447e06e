"""The player of the proxy-Lagrangian game that weighs objective and constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackError, eigs

from equipoise import _check
from equipoise.sets import Simplex

# Up to this many weights, least squares is as fast as Arnoldi's method. Chosen.
MAX_WEIGHTS_FOR_LEAST_SQUARES = 100

# A stationary distribution is accepted where the absolute values of its errors sum up to at most this: a
# thousand rounding errors. Chosen.
STATIONARY = 1e-12


class Player(ABC):
    """Learns the weights of objective and constraints; what it remembers is called its play."""

    @abstractmethod
    def start(self, lam: np.ndarray) -> np.ndarray:
        """Return the first play: weights (1, lam) for multipliers `lam` (m,), as far as allowed."""

    @abstractmethod
    def weights(self, play: np.ndarray) -> np.ndarray:
        """Return the weights (m + 1,), on the simplex; the objective's first."""

    @abstractmethod
    def learn(self, play: np.ndarray, gain: np.ndarray, lam: np.ndarray, tau: float) -> np.ndarray:
        """Return the play after a step `tau` up the gain ``(0, g)`` of the weights `lam`."""


@dataclass(frozen=True)
class SwapRegret(Player):
    r"""A matrix with columns on the simplex: ``M <- M * exp(tau (0, g) lam')``, columns renormalised.

    The weights are its stationary distribution, ``M lam = lam``. Entries stay at or above
    ``floor / (m + 1)``: a column that falls below becomes the nearest allowed one in relative entropy.
    """

    floor: float = 1e-3

    def __post_init__(self) -> None:
        _check_floor("SwapRegret", self.floor)

    def start(self, lam: np.ndarray) -> np.ndarray:
        """Return the first matrix."""
        return np.repeat(_first(lam, self.floor)[:, None], lam.size + 1, axis=1)

    def weights(self, play: np.ndarray) -> np.ndarray:
        """Return the stationary distribution."""
        return stationary(play)

    def learn(self, play: np.ndarray, gain: np.ndarray, lam: np.ndarray, tau: float) -> np.ndarray:
        """Multiply, and renormalise every column."""
        return normalised(np.log(play) + tau * np.outer(gain, lam), self.floor / lam.size)


@dataclass(frozen=True)
class AdditiveSwapRegret(Player):
    """The same matrix with additive steps: ``M <- M + tau (0, g) lam'``, columns projected."""

    def start(self, lam: np.ndarray) -> np.ndarray:
        """Return the first matrix."""
        return np.repeat(_first(lam, 0.0)[:, None], lam.size + 1, axis=1)

    def weights(self, play: np.ndarray) -> np.ndarray:
        """Return the stationary distribution."""
        return stationary(play)

    def learn(self, play: np.ndarray, gain: np.ndarray, lam: np.ndarray, tau: float) -> np.ndarray:
        """Add, and project every column on the simplex."""
        moved = play + tau * np.outer(gain, lam)
        return np.array([Simplex().project(column) for column in moved.T]).T


@dataclass(frozen=True)
class ExternalRegret(Player):
    """One distribution: ``lam <- lam * exp(tau (0, g))``, renormalised; cheaper for many constraints."""

    floor: float = 1e-3

    def __post_init__(self) -> None:
        _check_floor("ExternalRegret", self.floor)

    def start(self, lam: np.ndarray) -> np.ndarray:
        """Return the first distribution."""
        return _first(lam, self.floor)

    def weights(self, play: np.ndarray) -> np.ndarray:
        """Return the distribution."""
        return play

    def learn(self, play: np.ndarray, gain: np.ndarray, lam: np.ndarray, tau: float) -> np.ndarray:
        """Multiply, and renormalise."""
        return normalised(np.log(play) + tau * gain, self.floor / lam.size)


def normalised(logs: np.ndarray, floor: float) -> np.ndarray:
    """Return the distribution at or above `floor` nearest to ``exp(logs)`` in relative entropy.

    For a matrix, column by column.
    """
    p = np.exp(logs - logs.max(axis=0))
    p /= p.sum(axis=0)
    low = p < floor
    for _ in range(len(p)):  # entries that fall below the floor when the others are lowered
        share = (1 - floor * low.sum(axis=0)) / p.sum(axis=0, where=~low)
        p = np.where(low, floor, p * share)
        fallen = ~low & (p < floor)
        if not fallen.any():
            break
        low |= fallen
    return p


def stationary(matrix: np.ndarray) -> np.ndarray:
    """Return the distribution with ``matrix @ lam = lam``, for columns on the simplex.

    By Arnoldi's method where the matrix is large; by least squares where that finds none.
    """
    n = len(matrix)
    if n > MAX_WEIGHTS_FOR_LEAST_SQUARES:
        with suppress(ArpackError):
            lam = np.abs(eigs(matrix, k=1, v0=matrix.mean(axis=1), tol=1e-15)[1][:, 0].real)
            lam /= lam.sum()
            if np.abs(matrix @ lam - lam).sum() <= STATIONARY:
                return lam
    system = np.vstack((matrix - np.eye(n), np.ones(n)))
    lam = np.maximum(np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0], 0.0)
    return lam / lam.sum()


def _first(lam: np.ndarray, floor: float) -> np.ndarray:
    """Return the weights (1, lam) on the simplex, those below the floor raised to it."""
    low = floor / (lam.size + 1)
    weights = np.maximum(lam / (1 + lam.sum()), low)
    weights /= max(1.0, weights.sum() / (1 - low))
    return np.append(1 - weights.sum(), weights)


def _check_floor(owner: str, floor: float) -> None:
    if not 0 < _check.positive(owner, "floor", floor) < 1:
        _check.fail(owner, "floor", "must lie between 0 and 1", floor)
