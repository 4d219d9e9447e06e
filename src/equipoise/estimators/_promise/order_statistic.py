"""Neyman-Pearson promises: the threshold at an order statistic of rows held out (Tong, Feng & Li 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import binom

from equipoise._array import to_numpy
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.estimators._counted import Candidate, measure
from equipoise.estimators._counted.candidate import counted_minus_smooth
from equipoise.estimators._promise.stricter import Promised
from equipoise.estimators._promise.testing import HeldOutRows
from equipoise.estimators._promise.walk import Walk
from equipoise.estimators._training import BoundTraining
from equipoise.models import linear_scores
from equipoise.rows import DeviceTable, MemoryTable
from equipoise.run import Verdict

CHOSEN = (
    "The threshold is the one that rows held out allow to promise. The certificate says how far the model is "
    "from optimal on the training rows."
)


@dataclass(frozen=True, eq=False)
class OrderStatistic:
    """Trains a model, and moves its threshold to an order statistic of the scores of one class held out.

    Attributes
    ----------
    walk : Walk
        What is to be promised, with which rows.
    bounded : int
        The class whose error is bounded: 0 or 1.
    bound : float
    """

    walk: Walk
    bounded: int
    bound: float

    @property
    def training(self) -> MemoryTable | DeviceTable:
        """The rows to train on."""
        return self.walk.parts.training

    def fit(self, given: BoundTraining) -> tuple[Candidate, Promised]:
        """Return the model with its threshold moved, and what may be promised of it, the only one tested."""
        walk, testing = self.walk, self.walk.parts.testing
        training, problem = given.training, given.problem
        fit = given.fit()
        coef, intercept = training.units.coefficients(fit.x)
        wrong_side = 1.0 if self.bounded == 0 else -1.0  # where scores of the class are errors
        own = testing.labelled().positive == bool(self.bounded)
        scores = wrong_side * to_numpy(linear_scores(testing.X, coef, intercept))[own]
        moved = threshold(np.sort(scores), self.bound, 1.0 - walk.confidence)
        if moved is not None:
            x = training.units.parameters(coef, intercept - wrong_side * moved)
            shifted = problem.shifted(counted_minus_smooth(problem, x))
            certificate = certify(shifted, x, second_order=False)
            verdict = Verdict(Status.FEASIBLE, claim=CHOSEN)
            result = fit.result.judged(verdict, x=x, certificate=certificate, state=None)
            fit = measure(problem, result, given.allowed, shifted)
        held = HeldOutRows(walk.owner, testing, given.binding.inequalities, walk.confidence)
        rows = training.table.n_rows + testing.n_rows
        tested = held.tested(*training.units.coefficients(fit.x), rows)
        return fit, partial(walk.promise, tested, 1)


def threshold(scores: np.ndarray, bound: float, level: float) -> float | None:
    """Return the lowest threshold that scores in ascending order allow to promise; None if there is none.

    As many scores may lie above it as a binomial number with the probability `bound` falls short of, or
    reaches, with probability `level` at the most.
    """
    n = scores.size
    above = int(binom.ppf(level, n, bound)) if n else 0
    while above >= 0 and binom.cdf(above, n, bound) > level:
        above -= 1
    if above < 0 or not n:
        return None
    lowest = scores[n - 1 - above]
    higher = scores[scores > lowest]
    # half-way to the next score: then rounding errors of scores change no prediction
    return float(0.5 * (lowest + higher[0]) if higher.size else lowest + 1e-6 * (1.0 + abs(lowest)))
