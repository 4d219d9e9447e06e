"""A constraint that is any function of the scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, like, namespace, to_numpy
from equipoise.terms.scores import Scores
from equipoise.terms.terms import Terms, TermsBounds, TermsPoint, shift_of


@final
class CallableTerms(Terms):
    """One constraint ``f(scores, y, groups) <= 0`` from a callable; the objective is 0.

    Parameters
    ----------
    function : callable
        ``(scores, y, groups) -> (value, slope)`` with ``slope = d value / d scores``, or
        ``(value, slope, curve)`` with ``curve(d)`` the second derivative applied to `d`.
    y : array of shape (n,)
        Passed on; on a mini-batch its rows.
    groups : array, dict of arrays, or None
        Passed on likewise.
    name : str, optional
    smooth : bool, default True
        Whether the function has a Lipschitz gradient.

    Notes
    -----
    On a mini-batch the function sees only the rows drawn; whether its value is then unbiased is up
    to the function (a mean over all rows is; a ratio is not).
    """

    def __init__(
        self,
        function: Callable[..., Any],
        y: Any,
        groups: Any = None,
        *,
        name: str | None = None,
        smooth: bool = True,
    ) -> None:
        if not callable(function):
            _check.fail("CallableTerms", "function", "must be callable", function)
        self.function, self.y, self.groups = function, np.asarray(y), groups
        self.smooth = smooth
        self.n_rows, self.n_constraints = len(self.y), 1
        named = getattr(function, "__name__", "custom")
        self.names = (name or ("custom" if named == "<lambda>" else named),)
        self.shift = np.zeros(1)

    def at(self, scores: Array | Scores) -> TermsPoint:
        """Call the function."""
        s = Scores.of(scores).s
        value, gradient, second = self._call(s)

        def slope(weights: np.ndarray) -> Array:
            return float(weights[1]) * gradient

        def curve(weights: np.ndarray, d: Array) -> Array:
            assert second is not None
            return float(weights[1]) * like(second(d), s)

        values = np.array([0.0, value + self.shift[0]])
        return TermsPoint(values, slope, curve if second is not None else None)

    def hard(self, scores: Array | Scores) -> np.ndarray:
        """Return the value itself: a callable is its own truth."""
        return np.array([0.0, self._call(Scores.of(scores).s)[0]])

    def rows(self, index: np.ndarray, scale: float) -> CallableTerms:
        """Return the function of some rows; `scale` is not used."""
        part = copy(self)
        part.y, part.n_rows = self.y[index], len(index)
        if isinstance(self.groups, dict):
            part.groups = {name: values[index] for name, values in self.groups.items()}
        elif self.groups is not None:
            part.groups = self.groups[index]
        return part

    def with_(self, *, sharpness: float | None = None, shift: Any = None) -> CallableTerms:
        """Return a copy with a shifted value; there is nothing to sharpen."""
        changed = copy(self)
        if shift is not None:
            changed.shift = shift_of("CallableTerms.with_", shift, 1)
        return changed

    def bounds(self, norms: np.ndarray) -> TermsBounds:
        """Return what is known: that the objective is 0."""
        return TermsBounds(lower=0.0)

    def _call(self, s: Array) -> tuple[float, Array, Any]:
        answer = self.function(s, self.y, self.groups)
        if not (isinstance(answer, tuple) and len(answer) in (2, 3)):
            raise TypeError(
                f"CallableTerms: {self.names[0]!r} must return (value, slope) or "
                f"(value, slope, curve), got {type(answer).__name__}."
            )
        value, gradient = answer[:2]
        gradient = like(gradient, s) if isinstance(s, np.ndarray) else gradient
        if tuple(gradient.shape) != tuple(s.shape):
            raise ValueError(
                f"CallableTerms: {self.names[0]!r} returned a slope of shape "
                f"{tuple(gradient.shape)}, expected {tuple(s.shape)}."
            )
        number = to_numpy(namespace(value).asarray(value)) if hasattr(value, "shape") else value
        if np.ndim(number) != 0:
            raise ValueError(
                f"CallableTerms: {self.names[0]!r} must return a number as its value, got an "
                f"array of shape {np.shape(number)}."
            )
        return float(number), gradient, answer[2] if len(answer) == 3 else None
