"""Terms: all m + 1 functions of the scores at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise.terms.kinks import RowKinks
from equipoise.terms.scores import Scores


@dataclass(frozen=True)
class TermsPoint:
    """All functions of the scores at one score array; in score space what `Point` is for `x`.

    Attributes
    ----------
    values : ndarray of shape (m + 1,)
        The objective first, then the constraints (feasible: ``<= 0``); NumPy float64.
    slope : callable
        Weights ``(m + 1,)`` to the weighted sum of score-gradients, like the scores.
    curve : callable or None
        ``(weights, d)`` to the weighted sum of second derivatives applied to the score direction
        `d`, like the scores; None if a function has a kink or gives no second derivative.
    bend : callable or None
        Weights to the weighted sum of second derivatives of every score, like the scores: what
        `curve` multiplies by, as far as that is known and does not couple the scores.
    separable : bool
        Whether `bend` is all there is.
    """

    values: np.ndarray
    slope: Callable[[np.ndarray], Array]
    curve: Callable[[np.ndarray, Array], Array] | None = None
    bend: Callable[[np.ndarray], Array] | None = None
    separable: bool = False


@dataclass(frozen=True)
class TermsBounds:
    """Constants of every function ``x -> f_i(scores(x))``, shape (m + 1,) each; None: unknown.

    Attributes
    ----------
    lipschitz : a bound on every gradient.
    smoothness : a Lipschitz constant of every gradient.
    weak_convexity : rho_i, such that ``f_i + rho_i/2 |x|^2`` is convex; 0 where convex.
    lower : a number not above the objective.
    """

    lipschitz: np.ndarray | None = None
    smoothness: np.ndarray | None = None
    weak_convexity: np.ndarray | None = None
    lower: float | None = None


class Terms(ABC):
    """Objective and constraints as functions of the scores of `n_rows` rows.

    Attributes
    ----------
    n_rows : int
        The length of the scores; their first axis if they have two.
    n_constraints : int
    names : tuple of str
        One for each constraint.
    smooth : bool
        Every function has a Lipschitz gradient.
    """

    n_rows: int
    n_constraints: int
    names: tuple[str, ...]
    smooth: bool

    @abstractmethod
    def at(self, scores: Array | Scores) -> TermsPoint:
        """Evaluate every function."""

    @abstractmethod
    def hard(self, scores: Array | Scores) -> np.ndarray:
        """Return the values, shape (m + 1,), with every sigmoid replaced by what it stands for.

        These are the thresholded rates that a user measures; no shift is added.
        """

    @abstractmethod
    def rows(self, index: np.ndarray, scale: float) -> Terms:
        """Return the terms of a mini-batch: the sums over the rows `index`, times `scale`."""

    def with_(self, *, sharpness: float | None = None, shift: Any = None) -> Terms:
        """Return a copy with sharper sigmoids or shifted constraints; None leaves as it is.

        Parameters
        ----------
        sharpness : float, optional
            The factor `k` of every ``sigmoid(k s)``.
        shift : float or array of shape (m,), optional
            Added to the constraint values in `at`: positive numbers tighten. It replaces an
            earlier shift, and does not touch `hard`.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither sharpness nor shift.")

    def smoothed(self, width: float) -> Terms:
        """Return smooth terms within `width` of these, where they are known; else these."""
        return self

    def kinks(self, scores: Array | Scores, width: float) -> RowKinks | None:
        """Return the rows whose scores are within `width` of a kink; None if that is not known."""
        return RowKinks.none(self.n_constraints) if self.smooth else None

    def bounds(self, norms: np.ndarray) -> TermsBounds:
        """Return constants of the functions of a linear model with rows of length `norms`."""
        return TermsBounds()


def shift_of(owner: str, shift: Any, n_constraints: int) -> np.ndarray:
    """Return `shift` as a vector of one number for each constraint."""
    given = np.full(n_constraints, float(shift)) if np.ndim(shift) == 0 else shift
    return _check.vector(owner, "shift", given, n_constraints)
