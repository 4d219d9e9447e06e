"""Stream: what is remembered between mini-batches, and the step that each of them makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.problems import LearningProblem

# The first step sizes of the model and of the multipliers, for standardised features. Chosen on census
# and Adult data.
PRIMAL_STEP, DUAL_STEP = 0.3, 2.0

# In the average over iterates, the weight of step t grows like t to this power, so that early iterates
# hardly count (Shamir & Zhang 2013 average in this way). Chosen.
FORGETTING = 8.0

# The weight of a new batch in the running count of predictions, at the least: about the last fifty
# batches count. Chosen.
LEAST_NEW = 0.02


@dataclass(frozen=True)
class Stream:
    """What is remembered between mini-batches.

    Attributes
    ----------
    steps : int
    coef, intercept : the latest iterate; the estimator predicts with an average of them.
    weight : float
        The rows seen, by weight.
    mean, spread : ndarray of shape (d,)
        Running mean and sum of squared deviations of every column.
    squares : ndarray of shape (d + 1,)
        Sums of squared gradients (Adagrad).
    multipliers : dict of str to float
        By the name of the constraint; one that a batch does not speak of stays as it is.
    shifts : dict of str to float
        Running differences of counted and smooth rates.
    """

    steps: int
    coef: np.ndarray
    intercept: float
    weight: float
    mean: np.ndarray
    spread: np.ndarray
    squares: np.ndarray
    multipliers: Mapping[str, float] = field(default_factory=dict)
    shifts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def start(cls, coef: np.ndarray, intercept: float) -> Stream:
        """Return a stream before its first mini-batch."""
        d = coef.size
        return cls(0, coef, intercept, 0.0, np.zeros(d), np.zeros(d), np.zeros(d + 1))

    def seen(self, X: Any, weight: np.ndarray) -> Stream:
        """Return the stream with the columns' means and deviations brought up to date."""
        total = float(weight.sum())
        if sparse.issparse(X):
            mean = np.asarray(X.T @ weight, np.float64) / total
            square = np.asarray(X.multiply(X).T @ weight, np.float64)
            spread = np.maximum(square - total * mean**2, 0.0)
        else:
            mean = weight @ X / total
            spread = weight @ (X - mean) ** 2
        new = self.weight + total
        apart = mean - self.mean
        spread = self.spread + spread + apart**2 * self.weight * total / new
        return replace(self, weight=new, mean=self.mean + apart * total / new, spread=spread)

    @property
    def scale(self) -> np.ndarray:
        """Running standard deviations; 1 for a column that has been constant so far."""
        scale = np.sqrt(self.spread / self.weight)
        return np.where(scale > 1e-9 * np.abs(self.mean), scale, 1.0)


def advance(
    stream: Stream, problem: LearningProblem, x: np.ndarray, true_metric: bool
) -> tuple[Stream, np.ndarray]:
    r"""Take one step on the Lagrangian of a mini-batch; return the stream and the new `x`.

    1. f <- the batch's constraints at x, plus a running count of thresholded minus smooth rates
    2. lam <- [lam + DUAL_STEP / sqrt(t) f]_+
    3. g <- grad (f_0 + lam'f)(x); x <- x - PRIMAL_STEP g / sqrt(sum of g^2 so far)     (each coordinate)
    """
    t, names = stream.steps + 1, problem.names
    point = problem.at(x)
    shifts, multipliers = dict(stream.shifts), dict(stream.multipliers)
    f = point.constraints.copy()
    if true_metric and names:
        counted = problem.thresholded(x)[1:]
        for i, gap in enumerate(counted - f):
            old = shifts.get(names[i], gap)
            shifts[names[i]] = old + max(1 / t, LEAST_NEW) * (gap - old)
        f += [shifts[name] for name in names]  # 1
    for name, value in zip(names, f):
        multipliers[name] = max(0.0, multipliers.get(name, 0.0) + DUAL_STEP / t**0.5 * value)  # 2
    g = point.lagrangian_gradient(np.array([multipliers[name] for name in names]))
    squares = stream.squares[: g.size] + g**2
    x = x - PRIMAL_STEP * g / np.sqrt(np.maximum(squares, 1e-300))  # 3
    new = replace(stream, steps=t, multipliers=multipliers, shifts=shifts)
    return replace(new, squares=np.append(squares, stream.squares[g.size :])), x


def average(old: np.ndarray, new: np.ndarray, steps: int) -> np.ndarray:
    """Return the running average after `steps` iterates, late ones counting more."""
    return old + (1 + FORGETTING) / (steps + FORGETTING) * (new - old)
