"""A set around one of its points, as rows of a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array


@dataclass(frozen=True, eq=False)
class LinearRows:
    """The steps ``{s : low <= s <= high, A s + B v <= b for some v}``; 0 is one of them."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)
    A: csr_array  # (k, d)
    B: csr_array  # (k, e)
    b: np.ndarray  # (k,)

    @staticmethod
    def of(
        dim: int,
        low: np.ndarray | float = -np.inf,
        high: np.ndarray | float = np.inf,
        A: Any = None,
        B: Any = None,
        b: np.ndarray | None = None,
    ) -> LinearRows:
        """Return rows from what there is of them; all else is free."""
        b = np.empty(0) if b is None else np.maximum(b, 0.0)  # 0 is a step, but for rounding
        A = _empty(0, dim) if A is None else csr_array(A)
        B = _empty(b.size, 0) if B is None else B
        return LinearRows(np.full(dim, low), np.full(dim, high), A, B, b)

    @cached_property
    def unbounded(self) -> bool:
        """Whether no variable has a bound of its own."""
        return bool((self.low == -np.inf).all() and (self.high == np.inf).all())

    @staticmethod
    def joined(parts: Sequence[LinearRows]) -> LinearRows:
        """Return the rows of a product of sets."""
        return LinearRows(
            low=np.concatenate([part.low for part in parts]),
            high=np.concatenate([part.high for part in parts]),
            A=block_diag([part.A for part in parts], format="csr"),
            B=block_diag([part.B for part in parts], format="csr"),
            b=np.concatenate([part.b for part in parts]),
        )


@lru_cache(maxsize=64)
def free_rows(dim: int) -> LinearRows:
    """Return rows that leave every step free."""
    rows = LinearRows.of(dim)
    for array in (rows.low, rows.high, rows.b):
        array.flags.writeable = False  # others get the same ones
    return rows


@lru_cache(maxsize=64)
def _empty(rows: int, columns: int) -> csr_array:
    """Return a matrix without entries; to make one takes longer than to solve a small program."""
    return csr_array((rows, columns))
