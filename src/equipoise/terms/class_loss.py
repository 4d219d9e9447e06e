"""Class losses: the multi-class Neyman-Pearson problem of P001 (11)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, namespace, to_numpy
from equipoise.terms._placed import Placed
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.row_weights import RowWeights
from equipoise.terms.scores import Scores
from equipoise.terms.sigmoid import PairLoss
from equipoise.terms.terms import Terms, TermsBounds, TermsPoint, shift_of


@final
class ClassLossTerms(Terms):
    r"""Minimise the loss of one class; bound the loss of every other class.

    The loss of class `k` sums over the classes it is mistaken for,

    .. math:: \ell_k = \frac{1}{|D_k|} \sum_{i \in D_k} \sum_{l \ne k} \phi(s_{ik} - s_{il}),

    so at scores 0 it is ``(K - 1) / 2``. Scores have shape ``(n, K)``. Everything is computed for
    all pairs at once, with one exponential per score.

    Parameters
    ----------
    labels : integer array of shape (n,)
        The class ``0..K-1`` of each row.
    bounds : array of shape (K,)
        The bound on every class's loss; the entry of the class `objective` is not used.
    objective : int, default 0
        The class whose loss is minimised.
    sample_weight : array of shape (n,), optional
    loss : Pointwise, default PairLoss()
    names : sequence of str, optional
        One for each class, objective included.
    """

    def __init__(
        self,
        labels: Any,
        bounds: Any,
        *,
        objective: int = 0,
        sample_weight: Any = None,
        loss: Pointwise | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        owner = "ClassLossTerms"
        self.r = np.asarray(bounds, dtype=np.float64)
        if self.r.ndim != 1 or self.r.size < 2:
            _check.fail(owner, "bounds", "must hold one number for each class", bounds)
        K = self.n_classes = self.r.size
        self.objective = _check.count(owner, "objective", objective)
        if self.objective >= K:
            _check.fail(owner, "objective", f"must be a class below {K}", objective)
        others = [k for k in range(K) if k != self.objective]
        _check.finite(owner, "bounds", self.r[others])
        self.order = np.array([self.objective, *others])  # function i is the loss of this class
        self.labels = np.asarray(labels)
        if self.labels.ndim != 1 or self.labels.dtype.kind not in "iu":
            _check.fail(owner, "labels", "must be a vector of integers", self.labels.dtype)
        if self.labels.size and not 0 <= self.labels.min() <= self.labels.max() < K:
            _check.fail(owner, "labels", f"must lie in 0..{K - 1}", np.unique(self.labels))
        n = self.n_rows = self.labels.size
        mass = np.ones(n) if sample_weight is None else sample_weight
        mass = _check.vector(owner, "sample_weight", mass, n)
        totals = np.bincount(self.labels, mass, minlength=K)
        if not (mass >= 0).all() or not (totals > 0).all():
            empty = np.flatnonzero(~(totals > 0)).tolist()
            raise ValueError(
                f"{owner}: every class needs rows of positive weight; classes {empty} have none. "
                f"Leave them out, or give them rows."
            )
        self.mass = mass / totals[self.labels]
        self.loss = loss if loss is not None else PairLoss()
        self.smooth = self.loss.kink is None
        self.n_constraints = K - 1
        labelled = tuple(names) if names is not None else tuple(f"class {k}" for k in range(K))
        if len(labelled) != K:
            _check.fail(owner, "names", f"must have {K} entries", names)
        self.names = tuple(f"loss of {labelled[k]}" for k in others)
        self.shift = np.zeros(K - 1)
        self._prepare()

    def _prepare(self) -> None:
        n, K = self.n_rows, self.n_classes
        place = np.empty(K, dtype=np.intp)  # the function that is this class's loss
        place[self.order] = np.arange(K)
        spread = (self.mass, place[self.labels], np.arange(n + 1))
        self._weights = RowWeights(sparse.csr_array(spread, shape=(n, K)))
        self._own = self.labels[:, None] == np.arange(K)
        self._placed = Placed(partial(np.asarray, self._own))

    def at(self, scores: Array | Scores) -> TermsPoint:
        """Evaluate the losses of all classes."""
        s = self._checked(scores)
        xp, own = namespace(s), self._own_class(s)
        z = Scores(self._differences(s, own))
        values = self._values(self.loss.value(z), own)
        values[1:] += self.shift

        def back(weights: np.ndarray, pair: Array) -> Array:
            """Pull a derivative with respect to each difference back to the scores."""
            pair = self._weights.spread(np.asarray(weights, np.float64), s)[:, None] * pair
            return own * xp.sum(pair, axis=1, keepdims=True) - pair

        def slope(weights: np.ndarray) -> Array:
            return back(weights, self.loss.slope(z))

        def curve(weights: np.ndarray, d: Array) -> Array:
            return back(weights, self.loss.curvature(z) * self._differences(d, own))

        return TermsPoint(values, slope, curve if self.smooth else None)

    def hard(self, scores: Array | Scores) -> np.ndarray:
        """Return the values with pairs counted: ``1[s_k <= s_l]``."""
        s = self._checked(scores)
        own = self._own_class(s)
        return self._values(self.loss.hard(Scores(self._differences(s, own))), own)

    def class_errors(self, scores: Array) -> np.ndarray:
        """Return the share of each class ``0..K-1`` for which the largest score is another's."""
        s = to_numpy(self._checked(scores))
        wrong = self.mass * (s.argmax(axis=1) != self.labels)
        return np.bincount(self.labels, wrong, minlength=self.n_classes)

    def rows(self, index: np.ndarray, scale: float) -> ClassLossTerms:
        """Return the terms of a mini-batch."""
        part = copy(self)
        part.labels, part.mass = self.labels[index], self.mass[index] * scale
        part.n_rows = len(index)
        part._prepare()
        return part

    def with_(self, *, sharpness: float | None = None, shift: Any = None) -> ClassLossTerms:
        """Return a copy with a sharper loss or shifted constraints; None leaves as it is."""
        changed = copy(self)
        if sharpness is not None:
            changed.loss = self.loss.sharpened(sharpness)
        if shift is not None:
            changed.shift = shift_of("ClassLossTerms.with_", shift, self.n_constraints)
        return changed

    def smoothed(self, width: float) -> ClassLossTerms:
        """Return a copy with the loss's kink rounded."""
        changed = copy(self)
        changed.loss, changed.smooth = self.loss.smoothed(width), True
        return changed

    def bounds(self, norms: np.ndarray) -> TermsBounds:
        r"""Return constants for linear scores.

        The gradient of one row's loss has the block norm
        :math:`\mathrm{lip}\,|a| \sqrt{K(K-1)}`; its Hessian lies between multiples of the Laplacian
        of a star, whose largest eigenvalue is `K`.
        """
        K = self.n_classes
        first, second = self._weights.rates(norms), self._weights.rates(norms * norms)
        lipschitz, curvatures = self.loss.lipschitz, self.loss.curvatures
        if lipschitz is None or not self.smooth:
            return TermsBounds()
        least, largest = max(0.0, -curvatures[0]), max(abs(c) for c in curvatures)
        return TermsBounds(
            lipschitz * np.sqrt(K * (K - 1)) * first,
            largest * K * second,
            least * K * second,
            lower=0.0,
        )

    def _values(self, pairs: Array, own: Array) -> np.ndarray:
        """Weighted sums over rows and over pairs of different classes, minus the bounds."""
        xp = namespace(pairs)
        values = self._weights.rates(xp.sum(pairs - own * pairs, axis=1))
        values[1:] -= self.r[self.order[1:]]
        return values

    def _differences(self, s: Array, own: Array) -> Array:
        """``s_ik - s_il`` for the own class `k` of each row and every `l`."""
        return namespace(s).sum(own * s, axis=1, keepdims=True) - s

    def _own_class(self, s: Array) -> Array:
        return self._own if isinstance(s, np.ndarray) else self._placed.at(s)

    def _checked(self, scores: Array | Scores) -> Array:
        s = scores.s if isinstance(scores, Scores) else scores
        expected = (self.n_rows, self.n_classes)
        if tuple(s.shape) != expected:
            _check.fail("ClassLossTerms", "scores", f"must have shape {expected}", tuple(s.shape))
        return s

    def __getstate__(self) -> dict[str, Any]:
        hidden = ("_own", "_weights", "_placed")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
