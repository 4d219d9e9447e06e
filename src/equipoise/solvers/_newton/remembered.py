"""Directions of earlier runs of conjugate gradients, on which a preconditioner can be exact.

They pay: without them the fits, races and frontiers of `make peers` and `make scaling` take 7 % more time
in the geometric mean over 34 cases, frontiers of a9a and bank a third more, sparse problems a sixth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise._array import Array, quiet
from equipoise.solvers._newton.hessian import Map

# Directions remembered at the most, and numbers in them (but two directions at the least): long
# vectors are noted less often, to save memory. Chosen.
MAX_DIRECTIONS, MAX_NUMBERS = 12, 40_000

# A direction adds nothing where the directions before it leave this share of its curvature: single
# precision has seven digits, and a few are lost. Chosen.
ADDS_NOTHING = 1e-3


class Notes:
    """The last directions of conjugate gradients; call it with p, H p and <p, H p>."""

    def __init__(self, dim: int) -> None:
        self.pairs: deque[tuple[np.ndarray, ...]] = deque(
            maxlen=min(MAX_DIRECTIONS, max(2, MAX_NUMBERS // dim))
        )

    def __call__(self, p: Array, Hp: Array, curvature: float) -> None:
        """Note a direction, scaled to ``<p, H p> = 1``, in single precision."""
        if len(self.pairs) == self.pairs.maxlen:  # before there is another: they can be large
            self.pairs.popleft()
        root = curvature**0.5
        self.pairs.append(tuple(_single(v, root) for v in (p, Hp)))

    def of_raised(
        self, rows: np.ndarray, b: float, piece: Map
    ) -> Callable[[Array, Array, float], None]:
        """Return notes for CG with ``H + b rows' rows``: they are of H itself.

        `piece` is what products are projected with.
        """
        return lambda p, Hp, curvature: self(p, Hp - b * piece(rows.T @ (rows @ p)), curvature)

    def forget(self) -> None:
        """Forget all directions."""
        self.pairs.clear()


def _single(v: Array, divisor: float) -> np.ndarray:
    """Return the quotient in single precision, without a copy in double."""
    v = np.asarray(v)
    return np.divide(v, divisor, out=np.empty(v.shape, np.float32), casting="same_kind")


@dataclass(frozen=True)
class Remembered:
    """Directions P with their products HP, float32; along some of them H may bend downwards."""

    P: np.ndarray  # (d, k)
    HP: np.ndarray  # (d, k)

    @staticmethod
    def nothing(dim: int) -> Remembered:
        """Return no directions."""
        none = np.zeros((dim, 0), dtype=np.float32)
        return Remembered(none, none)

    @staticmethod
    @quiet
    def of(notes: Notes) -> Remembered:
        """Return what was noted; the notes are used up."""
        P = np.array([p for p, _ in notes.pairs]).T
        HP = np.array([notes.pairs.popleft()[1] for _ in range(len(notes.pairs))]).T
        return Remembered(P, HP)

    @quiet
    def raised(self, rows: np.ndarray, b: float) -> Remembered:
        """Return the same directions with the products of ``H + b rows' rows``."""
        added = rows.T @ (b * (rows @ self.P))
        return Remembered(self.P, self.HP + added.astype(np.float32))

    @cached_property
    @quiet
    def scaled(self) -> Remembered:
        """What P spans, turned and scaled so that P' H P is the identity, without what adds nothing."""
        square = self.P.T @ self.HP
        values, vectors = np.linalg.eigh((square + square.T) / 2)
        new = values > ADDS_NOTHING
        turn = vectors[:, new] / np.sqrt(values[new])
        return Remembered(self.P @ turn, self.HP @ turn)

    def __len__(self) -> int:
        return self.P.shape[1]

    def corrected(self, solve: Map, v: Array) -> Array:
        """Return ``M v`` with ``M H P = P``, for a vector or columns, from ``solve = F^-1``.

        ``M = (I - P (HP)') F^-1 (I - HP P') + P P'``, with P scaled, is positive definite, whatever H has
        become.
        """
        P, HP = self.scaled.P, self.scaled.HP
        known = P.T @ v.astype(np.float32)
        rest = solve(v - HP @ known)
        return rest + P @ (known - HP.T @ rest.astype(np.float32))
