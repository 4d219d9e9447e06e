"""Calibration: from scores to probabilities, by a logistic function fitted to the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, softmax

from equipoise._array import Array, counted, in_double, is_tensor, namespace, to_numpy
from equipoise.estimators._tensors import tensor_probabilities

# The inverse strength of the penalty on the slope, for scores of standard deviation 1: too weak to be felt,
# but enough to keep the slope finite where the scores separate the classes. Chosen.
SLOPE_C = 1e4

# Where higher scores do not mean a higher probability, the slope is this over the size of the scores:
# all rows get the shares of the classes, to about nine digits, and the order of the scores stays. Chosen.
FLAT_SLOPE = 1e-9

# Scores of two classes are counted in bins. Their number; how far they reach to both sides of the median, in
# distances between the quartiles; and the number of rows that median and quartiles are taken of.
# Probabilities are then right to four digits (measured on scores of a census), and counting takes a tenth of
# the time. Chosen.
BINS, QUARTILE_DISTANCES, SEEN_ROWS = 2048, 15.0, 1024

MAX_NEWTON_STEPS = 50  # it takes five to ten; chosen
NEWTON_TOL = 1e-12  # of the decrease that a step promises, per row; chosen


@dataclass(frozen=True)
class Calibration:
    """Probabilities of scores: the logistic function of ``slope * score + offset``, or its softmax.

    Attributes
    ----------
    slope : float
        Positive, so that a higher score is a higher probability.
    offsets : tuple of float
        One for each class after the first.
    """

    slope: float = 1.0
    offsets: tuple[float, ...] = (0.0,)

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities (n, K) of scores (n,) of the second of two classes, or (n, K)."""
        if is_tensor(scores):
            return tensor_probabilities(self.slope, self.offsets[0], scores)
        if scores.ndim == 1:
            logits = self.slope * scores + self.offsets[0]
            return np.column_stack((expit(-logits), expit(logits)))
        return softmax(self.slope * scores + np.array([0.0, *self.offsets]), axis=1)

    def opposite(self) -> Calibration:
        """Return the calibration of minus the scores, for two classes in the other order."""
        return replace(self, offsets=(0.0 - self.offsets[0],))


def calibrated(scores: Array, codes: Array, weight: Array) -> Calibration:
    """Fit a calibration to rows: their scores, (n,) or (n, K), the numbers of their classes, and weights.

    Rows of two classes may be tensors.
    """
    if scores.ndim == 1:
        return _fitted(*_binned(in_double(scores), codes, weight))
    above = np.asarray(scores[:, 1:] - scores[:, :1], dtype=np.float64)
    counted = np.zeros(scores.shape)
    counted[np.arange(len(codes)), codes] = weight
    return _fitted(above, counted)


def _binned(scores: Array, codes: Array, weight: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score (B, 1) of the rows in each bin, and the weight (B, 2) of each class there."""
    if scores.shape[0] <= BINS:
        scores, codes, weight = (to_numpy(part) for part in (scores, codes, weight))
        return scores[:, None], np.where(codes[:, None] == [0, 1], weight[:, None], 0.0)
    seen = np.sort(to_numpy(scores[:: max(1, scores.shape[0] // SEEN_ROWS)]))
    low, middle, high = seen[[seen.size // 4, seen.size // 2, (3 * seen.size) // 4]]
    reach = QUARTILE_DISTANCES * float(high - low)
    if not reach > 0.0:  # most scores are the same
        middle, reach = float(scores.mean()), QUARTILE_DISTANCES * float(scores.std()) or 1.0
    xp = namespace(scores)
    bins = xp.clip((scores - (middle - reach)) * (0.5 * BINS / reach), 0, BINS - 1)
    cells = 2 * xp.astype(bins, xp.int32) + codes
    table = counted(cells, weight, 2 * BINS).reshape(BINS, 2)
    sums = counted(cells, weight * scores, 2 * BINS).reshape(BINS, 2).sum(axis=1)
    total = table.sum(axis=1)
    used = total > 0
    return (sums[used] / total[used])[:, None], table[used]


def _fitted(above: np.ndarray, counted: np.ndarray) -> Calibration:
    """Fit slope and offsets to scores (m, K - 1) above the first class's, with weights (m, K) of classes."""
    total = counted.sum(axis=1)
    centre = total @ above / total.sum()
    apart = above - centre
    size = float(np.sqrt(np.mean(total @ apart**2 / total.sum())))
    slope, offsets = 0.0, centre
    if size > 1e-12 * float(np.abs(centre).max()):
        slope, offsets = _maximum_likelihood(apart / size, counted)
    if not slope > 0.0:
        shares = np.maximum(counted.sum(axis=0) / total.sum(), 1e-300)
        slope, offsets, size = FLAT_SLOPE, np.log(shares[1:] / shares[0]), size or 1.0
    made = offsets - slope / size * centre
    return Calibration(slope / size, tuple(made.tolist()))


def _maximum_likelihood(above: np.ndarray, counted: np.ndarray) -> tuple[float, np.ndarray]:
    """Return slope and offsets of the largest likelihood, by Newton's method with shorter steps if needed."""
    total, everyone = counted.sum(axis=1), float(counted.sum())
    shares = np.maximum(counted.sum(axis=0) / everyone, 1e-12)
    x = np.r_[1.0, np.log(shares[1:] / shares[0])]

    def evaluated(x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and the probabilities of all classes but the first."""
        z = x[0] * above + x[1:]
        top = np.maximum(z.max(axis=1), 0.0)[:, None]
        p = np.exp(z - top)
        below = np.exp(-top) + p.sum(axis=1)[:, None]
        lost = total @ (top + np.log(below))[:, 0] - np.sum(counted[:, 1:] * z)
        return float(lost) + 0.5 * x[0] ** 2 / SLOPE_C, p / below

    value, p = evaluated(x)
    for _ in range(MAX_NEWTON_STEPS):
        step, promised = _newton_step(above, counted, total, p, float(x[0]))
        if promised <= NEWTON_TOL * everyone:
            break
        length = 1.0
        while True:
            new, p = evaluated(x + length * step)
            if new <= value or length < 1e-6:
                break
            length /= 2
        x, value = x + length * step, new
    return float(x[0]), x[1:]


def _newton_step(
    above: np.ndarray, counted: np.ndarray, total: np.ndarray, p: np.ndarray, slope: float
) -> tuple[np.ndarray, float]:
    """Return Newton's step for slope and offsets, and twice the decrease that it promises."""
    K, weighted = counted.shape[1], total[:, None] * p
    wrong = weighted - counted[:, 1:]
    gradient = np.empty(K)
    gradient[0], gradient[1:] = np.sum(wrong * above) + slope / SLOPE_C, wrong.sum(axis=0)
    apart = above - np.sum(p * above, axis=1)[:, None]  # from the mean under the probabilities
    hessian = np.empty((K, K))
    hessian[0, 0] = np.sum(weighted * above * apart) + 1 / SLOPE_C
    hessian[0, 1:] = hessian[1:, 0] = np.sum(weighted * apart, axis=0)
    hessian[1:, 1:] = np.diag(weighted.sum(axis=0)) - weighted.T @ p
    hessian[np.diag_indices(K)] += 1e-12 * total.sum()  # where a class has no weight
    step = np.linalg.solve(hessian, -gradient)
    return step, -float(gradient @ step)
