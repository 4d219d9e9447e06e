"""AUCs after the scores of one group were scaled and shifted, for a whole grid at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.problems._auc_fairness import pairs_of
from equipoise.terms._pair_point import PairedRows
from equipoise.terms._ranks import wins

# The grid of Yao, Lin & Yang (2023): 101 scales and 61 shifts.
SCALES = np.round(np.arange(0.0, 5.0 + 1e-9, 0.05), 10)
SHIFTS = np.round(np.arange(-3.0, 3.0 + 1e-9, 0.1), 10)


@dataclass(frozen=True)
class AtomAUCs:
    """AUCs between negatives and positives of two groups, from which every AUC and gap follows.

    Attributes
    ----------
    aucs : ndarray of shape (..., 4, 4)
        Between the atoms that `AUCFairness` has: 2 [positive] + [member]. Ties count as one half.
    counts : ndarray of shape (4,)
        The rows of each atom.
    """

    aucs: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, positive: np.ndarray, member: np.ndarray) -> AtomAUCs:
        """Return the AUCs of one vector of scores."""
        atoms = 2 * positive + member
        counts = np.bincount(atoms, minlength=4)
        won = wins(PairedRows(scores, np.ones(scores.size), atoms, 4))
        return cls(won / np.maximum(np.outer(counts, counts), 1), counts)

    def auc(self) -> np.ndarray:
        """Return the AUC of positives over negatives."""
        return self._between(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))

    def gap(self, kind: str) -> np.ndarray:
        """Return the absolute difference of the AUCs that ``auc_parity(kind, ...)`` compares."""
        return np.abs(self.signed_gap(kind))

    def signed_gap(self, kind: str) -> np.ndarray:
        """Return the difference: positive where members rank higher than the others."""
        sides = pairs_of("AtomAUCs", kind)
        return self._between(sides[4], sides[9]) - self._between(sides[2], sides[7])

    def _between(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        a, b = above * self.counts, below * self.counts
        return np.einsum("p,...pq,q->...", a / a.sum(), self.aucs, b / b.sum())


@dataclass(frozen=True)
class Transforms:
    """AUCs for every transform of a grid.

    Attributes
    ----------
    scales, shifts : arrays of shape (a,) and (b,)
    measured : AtomAUCs
        Of shape (a, b, 4, 4).
    """

    scales: np.ndarray
    shifts: np.ndarray
    measured: AtomAUCs

    @classmethod
    def of(
        cls,
        scores: np.ndarray,
        positive: np.ndarray,
        member: np.ndarray,
        scales: np.ndarray = SCALES,
        shifts: np.ndarray = SHIFTS,
    ) -> Transforms:
        """Return the AUCs where the scores s of members become ``scale * s + shift``.

        AUCs within a group stay as they are, but for a scale of 0, which makes all members equal. The others
        are counted by looking every member's score up among the sorted scores of those who are none:
        O(n log n) for each transform.
        """
        raw = AtomAUCs.of(scores, positive, member)
        parts = [np.sort(scores[2 * positive + member == atom]) for atom in range(4)]
        aucs = np.empty((scales.size, shifts.size, 4, 4))
        for i, scale in enumerate(scales):
            aucs[i] = raw.aucs
            if scale == 0.0:
                aucs[i][..., 1::2, 1::2] = 0.5
            for inside in (1, 3):
                moved = (scale * parts[inside] + shifts[:, None]).ravel()
                for outside in (0, 2):
                    below = np.searchsorted(parts[outside], moved, "left")
                    below = below + np.searchsorted(parts[outside], moved, "right")
                    total = below.reshape(shifts.size, -1).sum(axis=1)
                    won = total / max(1, 2 * parts[inside].size * parts[outside].size)
                    aucs[i, :, inside, outside] = won
                    aucs[i, :, outside, inside] = 1.0 - won
        return cls(scales, shifts, AtomAUCs(aucs, raw.counts))

    def best(self, kind: str, bound: float) -> tuple[float, float, bool]:
        """Return scale and shift with the largest AUC within the bound, and whether there are any.

        Where there are none, those with the smallest gap.
        """
        gap, auc = self.measured.gap(kind), self.measured.auc()
        allowed = gap <= bound
        met = bool(allowed.any())
        place = np.where(allowed, auc, -1.0).argmax() if met else gap.argmin()
        i, j = np.unravel_index(int(place), gap.shape)
        return float(self.scales[i]), float(self.shifts[j]), met
