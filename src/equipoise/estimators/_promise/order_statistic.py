"""Neyman-Pearson promises: the threshold at an order statistic of rows held out (Tong, Feng & Li 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from equipoise._array import to_numpy
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.constraints import Binding
from equipoise.estimators._counted import Candidate, Unconstrained, allowances, measure
from equipoise.estimators._counted.candidate import counted_minus_smooth
from equipoise.estimators._promise.testing import HeldOutRows, Tested
from equipoise.estimators._promise.walk import Walk
from equipoise.estimators._promised import Promise
from equipoise.estimators._training import Training
from equipoise.models import linear_scores
from equipoise.problems import LearningProblem
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

    def fit(
        self,
        training: Training,
        binding: Binding,
        problem: LearningProblem,
        unconstrained: Unconstrained,
    ) -> tuple[Candidate, Tested, int]:
        """Return the model with its threshold moved, what its test says, and 1: it alone is tested."""
        walk, testing = self.walk, self.walk.parts.testing
        fit = training.fit(problem, binding, unconstrained)
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
            allowed = allowances(binding, problem.facts.rounding, training.runner.tol)
            fit = measure(problem, result, allowed, shifted)
        held = HeldOutRows(walk.owner, testing, binding.inequalities, walk.confidence)
        rows = training.table.n_rows + testing.n_rows
        return fit, held.tested(*training.units.coefficients(fit.x), rows), 1

    def promise(self, tested: Tested, training: np.ndarray, models: int) -> Promise:
        """Return what may be promised; `training` holds the values on the training rows."""
        return self.walk.promise(tested, training, models)


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
