"""Fixed predictions: the same objective, and every row predicted as it is now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms._combination import Combination
from equipoise.terms._joined_sums import JoinedSums
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._rates import Rates
from equipoise.terms._scores import Scores
from equipoise.terms._terms import Terms


@final
@dataclass(frozen=True)
class Identity(Pointwise):
    """The score itself."""

    name: ClassVar[str] = "identity"
    lipschitz: ClassVar[float] = 1.0
    curvatures: ClassVar[tuple[float, float]] = (0.0, 0.0)
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    def value(self, z: Scores) -> Array:
        """Return ``z``."""
        return z.s

    def slope(self, z: Scores) -> Array:
        """Return 1."""
        return namespace(z.s).ones_like(z.s)

    def curvature(self, z: Scores) -> Array:
        """Return 0."""
        return namespace(z.s).zeros_like(z.s)


def fixed_predictions(
    terms: Terms, positive: Any, margin: float, beside: Sequence[int] = ()
) -> Terms:
    """Return the objective of `terms` under one constraint for each row of weight: its prediction stays.

    The constraint of row `i` is ``margin - s_i <= 0`` if it is predicted positive, else
    ``margin + s_i <= 0``. These are linear: with a convex objective the best model with these
    predictions is the solution of a convex problem, and whatever is counted from predictions is
    the same for all its feasible points.

    Parameters
    ----------
    terms : Terms
    positive : boolean array of shape (n,)
        The predictions.
    margin : float
        How far from 0 every score has to be.
    beside : sequence of int
        Constraints of `terms` to keep, counted from 0; they come first.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import Combination, Logistic, Rates, Terms, fixed_predictions
    >>> loss = Rates(Logistic(), np.full((2, 1), 0.5), sign=[1, -1])
    >>> terms = fixed_predictions(Terms(loss, Combination([[1.0]])), [True, False], margin=0.1)
    >>> terms.at(np.array([0.0, -1.0])).values.round(3)
    array([ 0.503,  0.1  , -0.9  ])
    """
    owner = "fixed_predictions"
    n = _check.kind(owner, "terms", terms, Terms).n_rows
    positive = np.asarray(_check.labels(owner, "positive", positive))
    if positive.shape != (n,) or positive.dtype != bool:
        _check.fail(owner, "positive", f"must hold {n} booleans", positive)
    margin = _check.non_negative(owner, "margin", margin)
    beside = _check.integers(owner, "beside", beside, terms.n_constraints).tolist()
    kept = terms.combination.selected([0, *(1 + i for i in beside)])
    return _beside_rows(terms, kept, positive, margin, np.flatnonzero(terms.sums.used))


def held_predictions(terms: Terms, positive: np.ndarray, margin: float, small: np.ndarray) -> Terms:
    """Return `terms` with the predictions of the rows of a few rates held, and these rates as numbers.

    Rates over few rows jump where a prediction changes, and smooth rates say little of them. Held, they
    are constants of the constraints that other rates are in; constraints of no other rate are left out, and
    each row of such a rate has a constraint of its own, as in `fixed_predictions`.

    Parameters
    ----------
    terms : Terms
        Linear in the rates that are held.
    positive : boolean array of shape (n,)
        The predictions; only those of the rows of the `small` rates are used.
    margin : float
        How far from 0 the score of every such row has to be.
    small : integer array
        The places of the rates among the sums.
    """
    combination, sums = terms.combination, terms.sums
    counted = sums.thresholded(Scores(np.where(positive, 1.0, -1.0)))
    others = np.ones(combination.n_sums)
    others[small] = 0.0
    matrix = sparse.csr_array(combination.coefficients @ sparse.diags_array(others))
    matrix.eliminate_zeros()
    left = np.diff(matrix.indptr) > 0
    left[[0, *(place for place, _ in combination.bent)]] = True
    held = Combination(
        matrix,
        combination.offsets + combination.coefficients[:, small] @ counted[small],
        names=combination.names,
        bent=combination.bent,
    )
    changes = abs(sums.turned(positive)[small]).sum(axis=0)
    kept = held.shifted(combination.shift).selected(np.flatnonzero(left).tolist())
    return _beside_rows(terms, kept, positive, margin, np.flatnonzero(changes))


def _beside_rows(
    terms: Terms, kept: Combination, positive: np.ndarray, margin: float, rows: np.ndarray
) -> Terms:
    """Return functions of the sums, followed by one constraint for each of some rows."""
    sides = sparse.diags_array(np.where(positive, -1.0, 1.0)).tocsc()[:, rows]
    count = rows.size
    each = Combination(
        sparse.vstack((sparse.csr_array((1, count)), sparse.eye_array(count)), format="csr"),
        np.r_[0.0, np.full(count, margin)],
        names=[f"row {i}" for i in rows],
    )
    sums = JoinedSums([terms.sums, Rates(Identity(), sides)])
    return Terms(sums, Combination.joined([kept, each]))
