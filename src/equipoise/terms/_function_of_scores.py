"""One number that is any function of all the scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor, like, namespace
from equipoise.terms._score_sum import ScoreSum, ScoreSumPoint, SumBounds
from equipoise.terms._scores import Scores


@final
class FunctionOfScores(ScoreSum):
    """A user's function ``f(scores, y, groups)``, as one sum beside the others.

    It need not be a sum over rows, so it is not `additive`: where rows lie in several places, their
    scores are brought together for it.

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
    order : array of shape (n,), optional
        The numbers of the rows as their owner knows them: the function sees them ascending.

    Notes
    -----
    On a mini-batch the function sees only the rows drawn; whether its value is then unbiased is up
    to the function (a mean over all rows is; a ratio is not).
    """

    size = 1
    additive = False

    def __init__(
        self,
        function: Callable[..., Any],
        y: Any,
        groups: Any = None,
        *,
        name: str | None = None,
        smooth: bool = True,
        order: Any = None,
    ) -> None:
        owner = "FunctionOfScores"
        self.function = _check.function(owner, "function", function)
        self.y, self.groups = _check.labels(owner, "y", y), groups
        self.smooth, self.n_rows = _check.flag(owner, "smooth", smooth), len(self.y)
        columns = groups if isinstance(groups, dict) else {"": groups}
        for column in columns.values():
            if column is not None and len(_check.labels(owner, "groups", column)) != self.n_rows:
                _check.fail(owner, "groups", f"must have {self.n_rows} rows", column)
        self._order = None if order is None else _check.integers(owner, "order", order, self.n_rows)
        if self._order is not None and len(self._order) != self.n_rows:
            _check.fail(owner, "order", f"must have {self.n_rows} rows", order)
        self._arrange()
        named = getattr(function, "__name__", "custom")
        known = "custom" if named == "<lambda>" else named
        self.name = known if name is None else _check.text(owner, "name", name)

    def at(self, scores: Scores) -> ScoreSumPoint:
        """Call the function."""
        s = scores.s
        value, gradient, second = self._call(s)

        def curve(u: np.ndarray, d: Array) -> Array:
            return float(u[0]) * like(second(d), s)

        return ScoreSumPoint(
            np.array([value]),
            lambda u: float(u[0]) * gradient,
            lambda d: np.array([float(namespace(d).sum(gradient * d))]),
            lambda index: gradient[:, None] * np.ones((1, len(index))),
            curve=curve if second is not None else None,
        )

    def thresholded(self, scores: Scores) -> np.ndarray:
        """Return the value itself: the function stands for nothing else."""
        return np.array([self._call(scores.s)[0]])

    def rows(self, index: np.ndarray, scale: float) -> FunctionOfScores:
        """Return the function of some rows; `scale` is not used."""
        part = copy(self)
        part.y, part.n_rows = self.y[index], len(index)
        part.groups = _taken(self.groups, index)
        part._order = None if self._order is None else self._order[index]
        part._arrange()
        return part

    def _arrange(self) -> None:
        """Put labels and groups in the order that the function sees."""
        self._seen: Any = slice(None)  # the rows as the function sees them
        self._back: Any = slice(None)
        if self._order is not None:
            self._seen = np.argsort(self._order, kind="stable")
            self._back = np.argsort(self._seen, kind="stable")
        self._labels, self._columns = self.y[self._seen], _taken(self.groups, self._seen)

    def bounds(self, lengths: Array | None) -> SumBounds:
        """Return bounds that say nothing."""
        return SumBounds.unknown(1)

    @property
    def used(self) -> np.ndarray:
        """All rows: the function may look at each of them."""
        return np.ones(self.n_rows, dtype=bool)

    def _call(self, s: Array) -> tuple[float, Array, Any]:
        answer = self.function(s[self._seen], self._labels, self._columns)
        if not (isinstance(answer, tuple) and len(answer) in (2, 3)):
            raise TypeError(
                f"custom: {self.name!r} must return (value, slope) or (value, slope, curve), "
                f"got {type(answer).__name__}."
            )
        value, gradient = answer[:2]
        if isinstance(s, np.ndarray) or not is_tensor(gradient):
            gradient = like(_check.numbers("custom", f"slope of {self.name!r}", gradient), s)
        if tuple(gradient.shape) != tuple(s.shape):
            raise ValueError(
                f"custom: {self.name!r} returned a slope of shape {tuple(gradient.shape)}, "
                f"expected {tuple(s.shape)}."
            )
        if not _check.is_number(value):
            shape = tuple(getattr(value, "shape", ()))
            got = f"an array of shape {shape}" if shape else _check.shown(value)
            reason = f"{self.name!r} must return a number as its value, got {got}."
            raise _check.WrongKindError("custom", reason)
        second = None
        if len(answer) == 3:

            def second(d: Array) -> Array:
                return answer[2](d[self._seen])[self._back]

        return float(value), gradient[self._back], second


def _taken(groups: Any, index: Any) -> Any:
    """Return some rows of one column, of several, or of none."""
    if isinstance(groups, dict):
        return {name: values[index] for name, values in groups.items()}
    return None if groups is None else groups[index]
