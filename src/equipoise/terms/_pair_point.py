"""Sums over pairs of rows at given scores: what every way to compute them returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array

ROWS_AT_A_TIME = 1 << 15  # on the host, so that what is computed of them stays in the cache


@dataclass(frozen=True)
class PairedRows:
    """Scores with weights, divided into A disjoint atoms of which subsets are unions.

    Attributes
    ----------
    scores : array or tensor of shape (n,)
        Finite float64; all that is computed of single rows is computed where they are.
    weight : array or tensor of shape (n,)
    atoms : array or tensor of shape (n,)
        The atom (0..A-1) of each row.
    count : int
        A.
    pairs : ndarray of shape (A, A), optional
        Whether pairs with the first row of one atom and the second of another are asked for; sums over
        others may be left 0. By default all are.
    """

    scores: Array
    weight: Array
    atoms: Array
    count: int
    pairs: np.ndarray | None = None


class PairPoint(ABC):
    """``M_pq``, the sum of ``w_i w_j phi(s_i - s_j)`` over the rows i of atom p and j of atom q.

    All derivatives are with respect to the scores, of ``<U, M>`` for a matrix `U` of weights.

    Attributes
    ----------
    values : ndarray of shape (A, A)
        The matrix M.
    """

    values: np.ndarray

    @abstractmethod
    def slope(self, U: np.ndarray) -> Array:
        """Return the derivative (n,)."""

    @abstractmethod
    def push(self, d: Array) -> np.ndarray:
        """Return the change of M, to first order, where the scores change by `d`."""

    @abstractmethod
    def bend(self, U: np.ndarray) -> Array:
        """Return the second derivative with respect to each score, the other scores held fixed."""

    @abstractmethod
    def curve(self, U: np.ndarray, d: Array) -> Array:
        """Return the second derivative applied to a change `d` of the scores, (n,)."""
