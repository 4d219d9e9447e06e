"""Class losses: the multi-class Neyman-Pearson problem of Ma, Lin & Yang (2020), equation 11."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array
from equipoise.terms._combination import Combination
from equipoise.terms._own_entries import OwnEntries, row_totals
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._row_weights import RowWeights
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores
from equipoise.terms._sigmoid import PairLoss
from equipoise.terms._terms import Terms


@final
class ClassLosses(ScoreSum):
    r"""The loss of each of K classes, summed over the classes it is mistaken for.

    .. math:: \ell_k = \frac{1}{|D_k|} \sum_{i \in D_k} \sum_{l \ne k} \phi(s_{ik} - s_{il}),

    so at scores 0 it is ``(K - 1) / 2``. Scores have shape ``(n, K)``. Everything is computed for
    all pairs at once, with one exponential per score.

    Parameters
    ----------
    labels : integer array of shape (n,)
        The class ``0..K-1`` of each row.
    n_classes : int
        The number K of classes.
    sample_weight : array of shape (n,), optional
    loss : Pointwise, default PairLoss()
    totals : array of shape (K,), optional
        The weight of each class, where these rows are a part of more; by default that of these rows.
    """

    def __init__(
        self,
        labels: Any,
        n_classes: int,
        sample_weight: Any = None,
        loss: Pointwise | None = None,
        *,
        totals: Any = None,
    ) -> None:
        owner = "ClassLosses"
        K = self.size = _check.count(owner, "n_classes", n_classes, least=2)
        self.labels = _check.integers(owner, "labels", labels, K)
        n = self.n_rows = self.labels.size
        mass = np.ones(n) if sample_weight is None else sample_weight
        mass = _check.vector(owner, "sample_weight", mass, n)
        if totals is None:
            totals = np.bincount(self.labels, mass, minlength=K)
        totals = _check.vector(owner, "totals", totals, K)
        if not (mass >= 0).all() or not (totals > 0).all():
            empty = np.flatnonzero(~(totals > 0)).tolist()
            reason = f"every class needs rows of positive weight; classes {empty} have none. "
            raise _check.InputError(owner, reason + "Leave them out, or give them rows.")
        self.mass = mass / totals[self.labels]
        self.loss = _check.kind(owner, "loss", PairLoss() if loss is None else loss, Pointwise)
        self.smooth = self.loss.kink is None
        self._prepare()

    def _prepare(self) -> None:
        n, K = self.n_rows, self.size
        spread = (self.mass, self.labels, np.arange(n + 1))
        self._weights = RowWeights(sparse.csr_array(spread, shape=(n, K)))
        self._own = OwnEntries(self.labels, K)

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Evaluate the losses of all classes."""
        s = self._checked(scores)
        z = Scores(self._differences(s))

        @cache
        def slopes() -> Array:
            """Return the derivatives with respect to each difference; that from itself is always 0."""
            return self._own.emptied(self.loss.slope(z))

        @cache
        def curvatures() -> Array:
            return self._own.emptied(self.loss.curvature(z))

        def back(u: np.ndarray, pair: Array) -> Array:
            """Pull a derivative with respect to each difference back to the scores."""
            return self._own.balanced(self._weights.spread(u, s)[:, None] * pair)

        def curve(u: np.ndarray, d: Array) -> Array:
            return back(u, curvatures() * self._differences(d))

        def alone(k: int) -> tuple[np.ndarray, Array]:
            """Return the rows of class `k`, and the derivative of its loss with respect to their scores."""
            rows = self._own.rows[k]
            pair = self.mass[rows, None].astype(s.dtype, copy=False) * slopes()[rows]
            gradient = -pair
            gradient[:, k] = row_totals(pair)
            return rows, gradient

        return ScoreSumPoint(
            self._losses(self.loss.value(z)),
            lambda u: back(u, slopes()),
            lambda d: self._weights.rates(row_totals(slopes() * self._differences(d))),
            curve=curve if self.smooth else None,
            alone=alone if isinstance(s, np.ndarray) else None,
        )

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the losses with pairs counted: ``1[s_k <= s_l]``."""
        return self._losses(self.loss.thresholded(Scores(self._differences(self._checked(scores)))))

    def rows(self, index: np.ndarray, scale: float) -> ClassLosses:
        """Return the losses over some rows, times `scale`."""
        part = copy(self)
        part.labels, part.mass = self.labels[index], self.mass[index] * scale
        part.n_rows = len(index)
        part._prepare()
        return part

    def sharpened(self, k: float) -> ClassLosses:
        """Return the losses with a sharper pointwise loss."""
        changed = copy(self)
        changed.loss = self.loss.sharpened(k)
        return changed

    def smoothed(self, width: float) -> ClassLosses:
        """Return the losses with the kink of the pointwise loss rounded."""
        changed = copy(self)
        changed.loss, changed.smooth = self.loss.smoothed(width), True
        return changed

    def bounds(self, lengths: Array | None) -> SumBounds:
        r"""Return constants for linear scores.

        The gradient of one row's loss has the block norm
        :math:`\mathrm{lip}\,|a| \sqrt{K(K-1)}`; its Hessian lies between multiples of the Laplacian
        of a star, whose largest eigenvalue is `K`.
        """
        K = self.size
        least, largest = np.zeros(K), np.full(K, (K - 1) * self.loss.range[1])
        lipschitz, curvatures = self.loss.lipschitz, self.loss.curvatures
        if lengths is None or lipschitz is None or not self.smooth:
            unknown = np.full(K, np.inf)
            return SumBounds(unknown, unknown, unknown, least, largest)
        first, second = self._weights.rates(lengths), self._weights.rates(lengths * lengths)
        concave, convex = max(0.0, -curvatures[0]), max(0.0, curvatures[1])
        slope = lipschitz * np.sqrt(K * (K - 1)) * first
        return SumBounds(slope, concave * K * second, convex * K * second, least, largest)

    @property
    def used(self) -> np.ndarray:
        """Which rows have a weight."""
        return self.mass > 0

    def _losses(self, pairs: Array) -> np.ndarray:
        """Weighted sums over rows and over pairs of different classes."""
        return self._weights.rates(row_totals(self._own.emptied(pairs)))

    def _differences(self, s: Array) -> Array:
        """``s_ik - s_il`` for the own class `k` of each row and every `l`."""
        return self._own.taken(s) - s

    def _checked(self, scores: Scores) -> Array:
        expected = (self.n_rows, self.size)
        if scores.shape != expected:
            _check.fail("ClassLosses", "scores", f"must have shape {expected}", scores.shape)
        return scores.s

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_own", "_weights")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()


def class_loss_terms(
    labels: Any,
    bounds: Any,
    *,
    objective: int = 0,
    sample_weight: Any = None,
    loss: Pointwise | None = None,
    names: Sequence[str] | None = None,
) -> Terms:
    """Return terms that minimise the loss of one class, and bound the loss of every other class.

    Parameters
    ----------
    labels : integer array of shape (n,)
        The class ``0..K-1`` of each row.
    bounds : array of shape (K,)
        The bound on every class's loss; the entry of the class `objective` is not used.
    objective : int, default 0
        The class whose loss is minimised.
    sample_weight, loss : as in `ClassLosses`
    names : sequence of str, optional
        One for each class, objective included.
    """
    limits = _limits(bounds)
    combination = class_loss_combination(limits, objective, names)
    return Terms(ClassLosses(labels, limits.size, sample_weight, loss), combination)


def _limits(bounds: Any) -> np.ndarray:
    """Return one bound for each class; that of the class which is minimised may be infinite."""
    limits = _check.array("class_loss_terms", "bounds", bounds, ("K",))
    if limits.size < 2:
        _check.fail("class_loss_terms", "bounds", "must hold one number for each class", bounds)
    return limits


def class_loss_combination(
    bounds: np.ndarray, objective: int = 0, names: Sequence[str] | None = None
) -> Combination:
    """Return: minimise the loss of the class `objective`, bound the losses of the others."""
    bounds = _limits(bounds)
    owner, K = "class_loss_terms", bounds.size
    first = _check.count(owner, "objective", objective)
    if first >= K:
        _check.fail(owner, "objective", f"must be a class below {K}", objective)
    others = [k for k in range(K) if k != first]
    _check.finite(owner, "bounds", bounds[others])
    given = [f"class {k}" for k in range(K)] if names is None else names
    listed = _check.names(owner, "names", given, K)
    order = np.array([first, *others])  # function i is the loss of this class
    return Combination(
        np.eye(K)[order],
        np.where(order == first, 0.0, -bounds[order]),
        names=[f"loss of {listed[k]}" for k in others],
    )
