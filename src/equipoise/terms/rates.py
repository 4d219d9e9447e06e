"""Rate terms: every function a linear combination of weighted means over subgroups."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms.channel import Channel
from equipoise.terms.kinks import RowKinks
from equipoise.terms.rate_bounds import rate_bounds
from equipoise.terms.scores import Scores
from equipoise.terms.terms import Terms, TermsBounds, TermsPoint, shift_of


@final
class RateTerms(Terms):
    r"""All functions are combinations of rates: ``f = C r + c`` with ``r = W' phi(s)``.

    One evaluation costs the non-zeros of `W` and of `C`, however many constraints there are.

    Parameters
    ----------
    channels : sequence of Channel
        The rates `r`, one after the other; each channel has its own pointwise function.
    coefficients : array or sparse matrix of shape (m + 1, R)
        The matrix `C`; its first row is the objective.
    offsets : array of shape (m + 1,), default 0
        The vector `c`.
    names : sequence of str, optional
        One for each constraint.
    squares : tuple (Q, q), optional
        Adds :math:`|Q r + q|^2 / 2` to the objective: squared gaps between rates (P004).

    Examples
    --------
    Minimise the logistic loss; at most half of all rows predicted positive.

    >>> import numpy as np
    >>> from equipoise.terms import Channel, Logistic, RateTerms, Sigmoid
    >>> mean = np.full((4, 1), 0.25)
    >>> terms = RateTerms(
    ...     [Channel(Logistic(), mean, sign=[1, 1, -1, -1]), Channel(Sigmoid(), mean)],
    ...     coefficients=[[1, 0], [0, 1]],
    ...     offsets=[0, -0.5],
    ... )
    >>> scores = np.array([2.0, 1.0, 1.0, -1.0])
    >>> terms.at(scores).values.round(3), terms.hard(scores)[1]
    (array([0.517, 0.153]), np.float64(0.25))
    """

    def __init__(
        self,
        channels: Sequence[Channel],
        coefficients: Any,
        offsets: Any = None,
        *,
        names: Sequence[str] | None = None,
        squares: tuple[Any, Any] | None = None,
    ) -> None:
        owner = "RateTerms"
        self.channels = tuple(channels)
        shapes = [channel.weights.shape for channel in self.channels]
        if not shapes or any(n != shapes[0][0] for n, _ in shapes):
            _check.fail(owner, "channels", "must be over the same rows", shapes)
        self.n_rows = shapes[0][0]
        n_rates = sum(columns for _, columns in shapes)
        ends = np.cumsum([0, *(columns for _, columns in shapes)]).tolist()
        self._parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
        self.coefficients = sparse.csr_array(_matrix(coefficients))
        if self.coefficients.shape[1] != n_rates:
            shape = self.coefficients.shape
            _check.fail(owner, "coefficients", f"must have {n_rates} columns", shape)
        count = self.coefficients.shape[0]
        self.offsets = (
            np.zeros(count) if offsets is None else _check.vector(owner, "offsets", offsets, count)
        )
        self.n_constraints = count - 1
        self.names = tuple(names) if names else tuple(f"f_{i}" for i in range(1, count))
        if len(self.names) != self.n_constraints:
            _check.fail(owner, "names", f"must have {self.n_constraints} entries", self.names)
        self.squares = None
        if squares is not None:
            Q = sparse.csr_array(_matrix(squares[0]))
            self.squares = Q, _check.vector(owner, "squares", squares[1], Q.shape[0])
        self.shift = np.zeros(self.n_constraints)
        self._transposed = self.coefficients.T
        self.smooth = all(c.function.kink is None for c in self.channels)

    def at(self, scores: Array | Scores) -> TermsPoint:
        """Evaluate every function."""
        s = self._checked(scores)
        margins = [channel.margins(s) for channel in self.channels]
        r = np.concatenate([c.rates(z) for c, z in zip(self.channels, margins)])
        values = self._combine(r)
        values[1:] += self.shift

        def per_channel(weights: np.ndarray) -> list[np.ndarray]:
            """What one unit of each rate weighs."""
            total = self._transposed @ np.asarray(weights, dtype=np.float64)
            if self.squares is not None:
                Q, q = self.squares
                total = total + weights[0] * (Q.T @ (Q @ r + q))
            return [total[part] for part in self._parts]

        def spread(weights: np.ndarray, derivatives: Any) -> Array:
            """Sum over channels of ``W (weights of its rates) * derivative``."""
            total = None
            for i, part in enumerate(per_channel(weights)):
                if part.any():
                    term = self.channels[i].weights.spread(part, s.s) * derivatives(i)
                    total = term if total is None else total + term
            return namespace(s.s).zeros_like(s.s) if total is None else total

        def slope(weights: np.ndarray) -> Array:
            return spread(weights, lambda i: self.channels[i].slope(margins[i]))

        kept: list[Any] = [None, None]  # of the latest weights: CG asks many times

        def bend(weights: np.ndarray) -> Array:
            if kept[0] is None or not np.array_equal(kept[0], weights):
                kept[0] = np.array(weights)
                kept[1] = spread(weights, lambda i: self.channels[i].function.curvature(margins[i]))
            return kept[1]

        def curve(weights: np.ndarray, d: Array) -> Array:
            total = bend(weights) * d
            if self.squares is not None and weights[0] != 0.0:
                total = total + float(weights[0]) * self._square_curve(margins, d)
            return total

        if not self.smooth:
            return TermsPoint(values, slope)
        return TermsPoint(values, slope, curve, bend, separable=self.squares is None)

    @property
    def used(self) -> np.ndarray:
        """Which rows have a weight in some rate, shape (n,)."""
        return np.logical_or.reduce([c.weights.used for c in self.channels])

    def _square_curve(self, margins: list[Scores], d: Array) -> Array:
        """Apply ``J' Q' Q J`` to `d`, with `J` the derivative of the rates."""
        assert self.squares is not None
        Q, _ = self.squares
        slopes = [c.slope(z) for c, z in zip(self.channels, margins)]
        moved = np.concatenate(
            [c.weights.rates(slope * d) for c, slope in zip(self.channels, slopes)]
        )
        pulled = Q.T @ (Q @ moved)
        parts = [pulled[part] for part in self._parts]
        total = namespace(d).zeros_like(d)
        for channel, slope, part in zip(self.channels, slopes, parts):
            if part.any():
                total = total + channel.weights.spread(part, d) * slope
        return total

    def rates(self, scores: Array | Scores, *, hard: bool = False) -> np.ndarray:
        """Return the rates `r`, shape (R,); the thresholded ones if `hard`."""
        s = self._checked(scores)
        return np.concatenate(
            [c.hard(c.margins(s)) if hard else c.rates(c.margins(s)) for c in self.channels]
        )

    def hard(self, scores: Array | Scores) -> np.ndarray:
        """Return the values with ``1[s > 0]`` for every sigmoid, and without the shift."""
        return self._combine(self.rates(scores, hard=True))

    def rows(self, index: np.ndarray, scale: float) -> RateTerms:
        """Return the terms of a mini-batch; unbiased but for `squares`."""
        part = copy(self)
        part.channels = tuple(channel.rows(index, scale) for channel in self.channels)
        part.n_rows = len(index)
        return part

    def with_(self, *, sharpness: float | None = None, shift: Any = None) -> RateTerms:
        """Return a copy with sharper sigmoids or shifted constraints; None leaves as it is."""
        changed = copy(self)
        if sharpness is not None:
            k = _check.positive("RateTerms.with_", "sharpness", sharpness)
            changed.channels = tuple(channel.sharpened(k) for channel in self.channels)
        if shift is not None:
            changed.shift = shift_of("RateTerms.with_", shift, self.n_constraints)
        return changed

    def smoothed(self, width: float) -> RateTerms:
        """Return a copy with every kink rounded."""
        changed = copy(self)
        changed.channels = tuple(channel.smoothed(width) for channel in self.channels)
        changed.smooth = True
        return changed

    def kinks(self, scores: Array | Scores, width: float) -> RowKinks | None:
        """Return the kinks of every channel; None if they enter `squares`."""
        s = self._checked(scores)
        found = [RowKinks.none(self.n_constraints)]
        for channel, part in zip(self.channels, self._parts):
            if channel.function.kink is None:
                continue
            if self.squares is not None and self.squares[0][:, part].nnz:
                return None
            found.append(channel.kinks(s, width, self.coefficients[:, part]))
        return RowKinks.joined(found)

    def bounds(self, norms: np.ndarray) -> TermsBounds:
        """Return constants of the functions of a linear model with rows of length `norms`."""
        found = rate_bounds(self.channels, self.coefficients, self.squares, norms)
        if found.lower is None:
            return found
        return replace(found, lower=found.lower + float(self.offsets[0]))

    def _combine(self, r: np.ndarray) -> np.ndarray:
        values = self.coefficients @ r + self.offsets
        if self.squares is not None:
            Q, q = self.squares
            gaps = Q @ r + q
            values[0] += 0.5 * float(gaps @ gaps)
        return values

    def _checked(self, scores: Array | Scores) -> Scores:
        s = Scores.of(scores)
        if tuple(s.s.shape) != (self.n_rows,):
            _check.fail("RateTerms", "scores", f"must have shape ({self.n_rows},)", s.s.shape)
        return s


def _matrix(values: Any) -> Any:
    return values if sparse.issparse(values) else np.atleast_2d(np.asarray(values, np.float64))
