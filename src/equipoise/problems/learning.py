"""Learning problems: a model, terms of its scores, and a domain for its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, like, norm, to_numpy
from equipoise.models.model import Model
from equipoise.models.sketch import Sketch
from equipoise.problem import Facts, Kinks, Point, Problem
from equipoise.problems.kinks import heaviest, kinks_near
from equipoise.problems.learning_facts import facts_of
from equipoise.sets.set import Set
from equipoise.sets.whole_space import WholeSpace
from equipoise.terms.terms import Terms, TermsPoint


class LearningProblem(Problem):
    """``min f_0(scores(x)) + l2/2 |weights|^2  s.t.  f_i(scores(x)) <= 0``.

    One evaluation costs one product with the data and one exponential per score; a gradient of any
    weighted sum one product with the transpose; a Hessian product two products and no exponential.

    Parameters
    ----------
    model : Model
        Maps the parameters `x` to scores.
    terms : Terms
        Objective and constraints as functions of the scores.
    domain : Set, default whole space
    l2 : float, default 0
        A penalty on the weights, not on intercepts.
    facts : Facts, optional
        By default computed; see the notes.
    names : sequence of str, optional
        Names of the constraints; by default those of the terms.
    batch : int, optional
        The rows of a mini-batch; by default the problem is deterministic.

    Notes
    -----
    The computed facts are bounds from the lengths of the rows: each pointwise function's constants,
    times weighted means of ``|a|`` (slopes) and ``|a|^2`` (curvatures). They need one
    pass over the data, and can be far above the true constants. With a penalty, gradients are
    bounded only on a bounded domain.

    Mini-batches are drawn without replacement, new for each call of `sample`. A rate is estimated
    by its sum over the rows drawn times ``n / batch``, so it keeps its mean; a small group may be
    absent from a batch.
    """

    def __init__(
        self,
        model: Model,
        terms: Terms,
        *,
        domain: Set | None = None,
        l2: float = 0.0,
        facts: Facts | None = None,
        names: Sequence[str] | None = None,
        batch: int | None = None,
    ) -> None:
        owner = "LearningProblem"
        if model.n_rows != terms.n_rows:
            rule = f"must be over the model's {model.n_rows} rows"
            _check.fail(owner, "terms", rule, terms.n_rows)
        self.model, self.terms = model, terms
        self.domain = domain if domain is not None else WholeSpace()
        self.dim, self.n_constraints = model.dim, terms.n_constraints
        if self.domain.dim not in (None, self.dim):
            rule = f"must have the model's dimension {self.dim}"
            _check.fail(owner, "domain", rule, self.domain.dim)
        self.l2 = _check.non_negative(owner, "l2", l2)
        self.names = tuple(names) if names is not None else terms.names
        if len(self.names) != self.n_constraints:
            _check.fail(owner, "names", f"must have {self.n_constraints} entries", self.names)
        self._rounded = False  # whether kinks of the terms were rounded
        self.batch = None if batch is None else _check.count(owner, "batch", batch, least=1)
        if self.batch is not None and self.batch > model.n_rows:
            _check.fail(owner, "batch", f"must be at most the {model.n_rows} rows", batch)
        self.facts = facts if facts is not None else facts_of(self)
        self._sharp: dict[float, Facts] = {}  # of sharper sigmoids; shifts change nothing in them

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        scores = self.model.scores(x)
        point = self.terms.at(scores)
        values = point.values
        if self.l2 > 0.0:
            values[0] += 0.5 * self.l2 * norm(self._weights(x)) ** 2

        def penalised(weights: np.ndarray, gradient: Array, v: Array) -> Array:
            gradient = _as(gradient, x)
            if self.l2 > 0.0 and weights[0] != 0.0:
                gradient = gradient + (self.l2 * float(weights[0])) * self._weights(v)
            return gradient

        def back(weights: np.ndarray, score_gradient: Array, v: Array) -> Array:
            return penalised(weights, self.model.pull(score_gradient), v)

        def vjp(weights: np.ndarray) -> Array:
            return back(weights, point.slope(weights), x)

        if point.curve is None:
            return Point(x, values, vjp)
        curve = point.curve

        def hvp(weights: np.ndarray, v: Array) -> Array:
            if point.separable and point.bend is not None:
                return penalised(weights, self.model.sandwich(point.bend(weights), v), v)
            return back(weights, curve(weights, self.model.push(v)), v)

        if point.bend is None or not self.model.sketchable or not isinstance(x, np.ndarray):
            return Point(x, values, vjp, hvp)
        return Point(x, values, vjp, hvp, partial(self._curvature, point, x))

    def _curvature(self, point: TermsPoint, x: Array, weights: np.ndarray) -> np.ndarray:
        """Estimate the weighted sum of Hessians from the rows of the model's sketch."""
        sketch, apart = self._sketch, None
        if len(sketch.index) < self.model.n_rows:
            sampled = self._sketched.at(sketch.scores(x))
            apart = heaviest(_bends(point, weights), self.dim) if self._rounded else None
        else:
            sampled = point
        bends = _bends(sampled, weights)
        if apart is not None:  # few rows bend much, and a sample would miss them
            bends[np.isin(sketch.index, apart)] = 0.0
        estimate = sketch.gram(bends)
        if apart is not None and apart.size:
            rows: Any = self.model.rows(apart)
            estimate += Sketch(rows, sketch.wide).gram(_bends(point, weights)[apart])
        diagonal = estimate if estimate.ndim == 1 else np.einsum("ii->i", estimate)  # a view
        diagonal += self.l2 * float(weights[0]) * self.model.penalised
        return estimate

    @property
    def _sketch(self) -> Sketch:
        return self.model.kinked_sketch if self._rounded else self.model.sketch

    @cached_property
    def _sketched(self) -> Terms:
        """The terms of the sketch's rows."""
        return self.terms.rows(np.asarray(self._sketch.index), 1.0)

    def hard(self, x: Array) -> np.ndarray:
        """Return the values (m + 1,) with thresholded rates; without the penalty."""
        return self.terms.hard(self.model.scores(x))

    def sharpened(self, sharpness: float) -> LearningProblem:
        """Return the problem with sharper sigmoids."""
        changed = self._copy()
        changed.terms = self.terms.with_(sharpness=sharpness)
        if sharpness not in self._sharp:
            self._sharp[sharpness] = facts_of(changed)
        changed.facts = self._sharp[sharpness]
        return changed

    def shifted(self, shift: np.ndarray) -> LearningProblem:
        """Return the problem with this shift of its constraints; all that is known of it still holds."""
        changed = copy(self)
        changed.terms = self.terms.with_(shift=shift)
        return changed

    def smoothed(self, width: float) -> LearningProblem | None:
        """Return the problem with every kink of its terms rounded; itself if there is none."""
        if self.terms.smooth:
            return self
        changed = self._copy()
        changed.terms, changed._rounded = self.terms.smoothed(width), True
        changed.facts = replace(self.facts, smooth=True, smoothness=None)
        return changed if changed.terms.smooth else None

    def kinks(self, x: np.ndarray, width: float) -> Kinks | None:
        """Return the nearest point with all scores on a kink that are within `width` of one."""
        return kinks_near(self, x, width)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch of `batch` rows, or the problem itself if it has none."""
        if self.batch is None:
            return self
        n = self.model.n_rows
        index = rng.choice(n, self.batch, replace=False, shuffle=False)
        drawn = self._copy()
        drawn.model = self.model.rows(index)
        drawn.terms = self.terms.rows(index, n / self.batch)
        drawn.batch = None
        return drawn

    def _copy(self) -> LearningProblem:
        """Return a copy for other functions: nothing that was computed of the old ones is kept."""
        changed = copy(self)
        changed.__dict__.pop("_sketched", None)
        return changed

    def _weights(self, x: Array) -> Array:
        return x * like(self.model.penalised, x)


def _bends(point: TermsPoint, weights: np.ndarray) -> np.ndarray:
    """The weighted second derivative with respect to every score, where it is positive."""
    bend: Any = point.bend
    return np.maximum(to_numpy(bend(weights)), 0.0)


def _as(gradient: Array, x: Array) -> Array:
    """Return `gradient` in the kind and dtype of `x`: the data may be of another precision."""
    if isinstance(x, np.ndarray):
        if not isinstance(gradient, np.ndarray):
            gradient = to_numpy(gradient)
        return gradient.astype(x.dtype, copy=False)
    return like(gradient, x)
