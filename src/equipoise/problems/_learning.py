"""Learning problems: functions of sums over rows, a penalty, and a domain for the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Facts, Kinks, Point, Problem
from equipoise.models import Model
from equipoise.problems._learning_facts import learning_facts
from equipoise.problems._learning_point import Penalty, learning_point
from equipoise.problems._on_kinks import point_on_kinks
from equipoise.rows import MemorySums, RowSums
from equipoise.sets import Set, WholeSpace
from equipoise.terms import Combination, Terms


class LearningProblem(Problem):
    """``min F_0(r(x)) + l2/2 |weights|^2  s.t.  F_i(r(x)) <= 0``, with `r` sums over the training rows.

    One evaluation costs one pass over the rows (for a linear model one product with the data and one
    exponential per score); a gradient of any weighted sum one backward pass; a Hessian product
    two products and no exponential.

    Parameters
    ----------
    rows : RowSums
        The sums as functions of the parameters `x`.
    combination : Combination
        Objective and constraints as functions of the sums.
    domain : Set, default whole space
    l2 : float, default 0
        A penalty on the weights, not on intercepts.
    facts : Facts, optional
        By default computed; see the notes.
    names : sequence of str, optional
        Names of the constraints; by default those of the combination.
    batch : int, optional
        The rows of a mini-batch; by default the problem is deterministic.

    Notes
    -----
    The computed facts are bounds from the lengths of the rows: each pointwise function's constants,
    times weighted means of ``|a|`` (slopes) and ``|a|^2`` (curvatures). They need one
    pass over the data, and can be far above the true constants. With a penalty, gradients are
    bounded only on a bounded domain. Of a model that is not linear, nothing of this is known.

    Mini-batches are drawn without replacement, new for each call of `sample`. A rate is estimated
    by its sum over the rows drawn times ``n / batch``, so it keeps its mean; a small group may be
    absent from a batch. What is certified at the end of a run are the functions of all rows: no error of
    sampling is in it.
    """

    sketched = True

    def __init__(
        self,
        rows: RowSums,
        combination: Combination,
        *,
        domain: Set | None = None,
        l2: float = 0.0,
        facts: Facts | None = None,
        names: Sequence[str] | None = None,
        batch: int | None = None,
    ) -> None:
        owner = "LearningProblem"
        _check.kind(owner, "rows", rows, RowSums)
        _check.kind(owner, "combination", combination, Combination)
        for parameter, value, expected in (("domain", domain, Set), ("facts", facts, Facts)):
            if value is not None:
                _check.kind(owner, parameter, value, expected)
        if rows.n_sums != combination.n_sums:
            rule = f"must be of the {rows.n_sums} sums over rows"
            _check.fail(owner, "combination", rule, combination.n_sums)
        self.rows, self.combination = rows, combination
        self.domain = domain if domain is not None else WholeSpace()
        self.dim, self.n_constraints, self.start = rows.dim, combination.n_constraints, rows.start
        self.solved_on_host = (
            rows.linear
        )  # rows on a device then exchange a few numbers per column with it
        if self.domain.dim not in (None, self.dim):
            rule = f"must have the model's dimension {self.dim}"
            _check.fail(owner, "domain", rule, self.domain.dim)
        self.l2 = _check.non_negative(owner, "l2", l2)
        listed = combination.names if names is None else names
        self.names = _check.names(owner, "names", listed, self.n_constraints)
        self.batch = None if batch is None else _check.count(owner, "batch", batch, least=1)
        if self.batch is not None and self.batch > rows.n_rows:
            _check.fail(owner, "batch", f"must be at most the {rows.n_rows} rows", batch)
        self.facts = facts if facts is not None else self._known_facts()
        self._sharp: dict[float, Facts] = {}  # of these rows with sharper sigmoids

    @classmethod
    def of(cls, model: Model, terms: Terms, **options: Any) -> LearningProblem:
        """Return the problem of a model and terms of its scores, with rows in memory."""
        if model.n_rows != terms.n_rows:
            rule = f"must be over the model's {model.n_rows} rows"
            _check.fail("LearningProblem", "terms", rule, terms.n_rows)
        return cls(MemorySums(model, terms.sums), terms.combination, **options)

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        x = self._argument(x)
        sums = self.rows.at(x)
        functions = self.combination.at(sums.values)
        return learning_point(x, sums, functions, Penalty(self.l2, self.rows.penalised))

    def values_of(self, sums: np.ndarray) -> np.ndarray:
        """Return objective and constraints (m + 1,) of sums, without penalty and shift."""
        return self.combination.plain_values(sums)

    def thresholded(self, x: np.ndarray) -> np.ndarray:
        """Return the values (m + 1,) of predictions, counted; without the penalty."""
        return self.values_of(self.rows.thresholded(self._argument(x)))

    def sharpened(self, sharpness: float) -> LearningProblem:
        """Return the problem with sharper sigmoids."""
        sharpness = _check.positive("sharpened", "sharpness", sharpness)
        changed = self._over(self.rows.sharpened(sharpness))
        if sharpness not in self._sharp:
            self._sharp[sharpness] = changed._known_facts()
        changed.facts = self._sharp[sharpness]
        return changed

    def shifted(self, shift: Any) -> LearningProblem:
        """Return the problem with this shift of its constraints; all that is known of it still holds."""
        return self.recombined(self.combination.shifted(shift))

    def recombined(self, combination: Combination) -> LearningProblem:
        """Return the problem with other bounds: another combination of the same sums.

        All that is known of it must still hold.
        """
        changed = copy(self)
        changed.combination = combination
        return changed

    def for_programs(self) -> LearningProblem:
        """Return the problem as one for quadratic programs, which see which of many constraints are active.

        Otherwise the automatic choice prefers methods that use its estimates of curvature.
        """
        changed = copy(self)
        changed.sketched = False
        return changed

    def smoothed(self, width: float) -> LearningProblem | None:
        """Return the problem with every kink of its functions rounded; itself if there is none."""
        if self.rows.smooth:
            return self
        changed = self._over(self.rows.smoothed(width))
        changed.facts = replace(self.facts, smooth=True, smoothness=None)
        return changed if changed.rows.smooth else None

    def kinks(self, x: np.ndarray, width: float) -> Kinks | None:
        """Return the nearest point with all scores on a kink that are within `width` of one."""
        if self.facts.weak_convexity is None:
            return None  # at a concave kink not every slope between the two is a subgradient
        return point_on_kinks(self.rows, self.combination, x, width)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch of `batch` rows, or the problem itself if it has none."""
        if self.batch is None:
            return self
        drawn = self._over(self.rows.sample(rng, self.batch))
        drawn.batch = None
        return drawn

    def _over(self, rows: RowSums) -> LearningProblem:
        """Return the problem with other sums over rows."""
        changed = copy(self)
        changed.rows, changed._sharp = rows, {}
        return changed

    def _known_facts(self) -> Facts:
        stochastic = self.batch is not None
        return learning_facts(self.rows, self.combination, self.domain, self.l2, stochastic)
