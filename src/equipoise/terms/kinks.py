"""Kinks of terms: the scores at which a slope jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RowKinks:
    """K rows whose scores are next to a kink; the slope there is ``right + share * jump``."""

    rows: np.ndarray  # (K,) a row is listed once for each function that has a kink there
    shifts: np.ndarray  # (K,) what is missing to the score at the kink
    jumps: np.ndarray  # (K,) of the slope with respect to the score, from right to left
    masses: np.ndarray  # (K, m + 1) how much of it each function has; none is negative
    used: np.ndarray  # (K,) the share, 0 or 1, that the terms' own slope takes

    @staticmethod
    def none(n_constraints: int) -> RowKinks:
        """Return no kinks."""
        empty = np.empty(0)
        return RowKinks(empty.astype(int), empty, empty, np.empty((0, n_constraints + 1)), empty)

    @staticmethod
    def joined(parts: Sequence[RowKinks]) -> RowKinks:
        """Return the kinks of all parts."""
        names = ("rows", "shifts", "jumps", "masses", "used")
        return RowKinks(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))
