"""Windows: the outcomes of a binomial number that matter, and their probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

# Outcomes are added up on both sides of a mean within a number of standard deviations, the first, plus a
# number of outcomes, the second. Those beyond count as if they were in the region asked for, which errs on
# the safe side. Chosen.
WINDOW = (6.5, 12.0)


@dataclass(frozen=True)
class Window:
    """The outcomes of one rate that matter, and their probabilities."""

    rows: int
    hits: np.ndarray

    @staticmethod
    def of(rows: int, p: np.ndarray) -> Window:
        """Return the outcomes around the means for these probabilities."""
        low, high = float(p.min()), float(p.max())
        widths = [WINDOW[0] * math.sqrt(rows * v * (1.0 - v)) + WINDOW[1] for v in (low, high)]
        first = max(0, math.floor(rows * low - widths[0]))
        last = min(rows, math.ceil(rows * high + widths[1]))
        return Window(rows, np.arange(first, last + 1, dtype=np.float64))

    def pmf(self, p: np.ndarray) -> np.ndarray:
        """Return the probabilities (cells, outcomes)."""
        n, k = self.rows, self.hits
        ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            yes = np.where(k == 0, 0.0, k * np.log(p)[:, None])
            no = np.where(k == n, 0.0, (n - k) * np.log1p(-p)[:, None])
        return np.exp(ways + yes + no)

    def at_least(self, p: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what lies beyond the window (cells,), and P(hits >= least) inside it (cells, m)."""
        pmf = self.pmf(p)
        beyond = np.maximum(1.0 - pmf.sum(axis=1), 0.0)
        tail = np.concatenate(
            (np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1], np.zeros((p.size, 1))), axis=1
        )
        place = np.clip(least - self.hits[0], 0, self.hits.size).astype(int)
        return beyond, tail[:, place]
