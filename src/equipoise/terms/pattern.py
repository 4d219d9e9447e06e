"""Pattern terms: the same objective, and every row predicted as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, namespace
from equipoise.terms.channel import Channel
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.rates import RateTerms
from equipoise.terms.scores import Scores
from equipoise.terms.sigmoid import PairLoss, Sigmoid


@final
@dataclass(frozen=True)
class Identity(Pointwise):
    """The score itself."""

    name: ClassVar[str] = "identity"
    lipschitz: ClassVar[float] = 1.0
    curvatures: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def value(self, z: Scores) -> Array:
        """Return ``z``."""
        return z.s

    def slope(self, z: Scores) -> Array:
        """Return 1."""
        return namespace(z.s).ones_like(z.s)

    def curvature(self, z: Scores) -> Array:
        """Return 0."""
        return namespace(z.s).zeros_like(z.s)


def pattern_terms(
    terms: RateTerms, positive: Any, margin: float, beside: Sequence[int] = ()
) -> RateTerms:
    """Return the objective of `terms` under one constraint for each row of weight: its prediction stays.

    The constraint of row `i` is ``margin - s_i <= 0`` if it is predicted positive, else
    ``margin + s_i <= 0``. These are linear: with a convex objective the best model of a pattern of
    predictions is the solution of a convex problem, and whatever is counted from predictions is
    the same for all its feasible points.

    Parameters
    ----------
    terms : RateTerms
    positive : boolean array of shape (n,)
        The predictions.
    margin : float
        How far from 0 every score has to be.
    beside : sequence of int
        Constraints of `terms` to keep, counted from 0; they come first.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import Channel, Logistic, RateTerms, pattern_terms
    >>> loss = RateTerms([Channel(Logistic(), np.full((2, 1), 0.5), sign=[1, -1])], [[1.0]])
    >>> pattern_terms(loss, [True, False], margin=0.1).at(np.array([0.0, -1.0])).values.round(3)
    array([ 0.503,  0.1  , -0.9  ])
    """
    n = terms.n_rows
    positive = np.asarray(positive)
    if positive.shape != (n,) or positive.dtype != bool:
        _check.fail("pattern_terms", "positive", f"must hold {n} booleans", positive)
    margin = _check.non_negative("pattern_terms", "margin", margin)
    kept = [0, *(1 + int(i) for i in beside)]
    rows = np.flatnonzero(terms.used)
    sides = sparse.diags_array(np.where(positive, -1.0, 1.0)).tocsc()[:, rows]
    count, squares = rows.size, None
    if terms.squares is not None:
        Q, q = terms.squares
        squares = sparse.hstack((Q, sparse.csr_array((Q.shape[0], count)))), q
    changed = RateTerms(
        [*terms.channels, Channel(Identity(), sides)],
        sparse.block_diag((terms.coefficients[kept], sparse.eye_array(count)), format="csr"),
        np.concatenate((terms.offsets[kept], np.full(count, margin))),
        names=[*(terms.names[i] for i in beside), *(f"row {i}" for i in rows)],
        squares=squares,
    )
    return changed.with_(shift=np.concatenate((terms.shift[list(beside)], np.zeros(count))))


def flip_effects(terms: RateTerms, positive: np.ndarray) -> sparse.csr_array:
    """Return what every row's prediction, turned over, adds to the counted constraints: (m, n)."""
    side = np.where(positive, 1.0, -1.0)
    effects, first = sparse.csr_array((terms.n_constraints, terms.n_rows)), 0
    for channel in terms.channels:
        last = first + channel.weights.shape[1]
        if isinstance(channel.function, Sigmoid | PairLoss):  # a loss does not follow predictions
            hard = channel.function.hard
            turned = hard(channel.margins(Scores(-side))) - hard(channel.margins(Scores(side)))
            rates = channel.weights.matrix.T @ sparse.diags_array(turned)
            effects = effects + terms.coefficients[1:, first:last] @ rates
        first = last
    return effects
