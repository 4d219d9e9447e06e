"""Kinks of row sums: the scores at which a slope jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class RowKinks:
    """K rows whose scores are next to a kink; the slope there is ``right + share * jump``."""

    rows: np.ndarray  # (K,) a row is listed once for each sum that has a kink there
    shifts: np.ndarray  # (K,) what is missing to the score at the kink
    jumps: np.ndarray  # (K,) of the slope with respect to the score, from right to left
    masses: np.ndarray  # (K, R) how much of the jump each sum (or function of sums) has
    used: np.ndarray  # (K,) the share, 0 or 1, that the sums' own slope takes

    @staticmethod
    def none(size: int) -> RowKinks:
        """Return no kinks of `size` sums."""
        empty = np.empty(0)
        return RowKinks(empty.astype(int), empty, empty, np.empty((0, size)), empty)

    @staticmethod
    def joined(parts: Sequence[RowKinks]) -> RowKinks:
        """Return the kinks of all parts."""
        names = [field.name for field in fields(RowKinks)]
        return RowKinks(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))
