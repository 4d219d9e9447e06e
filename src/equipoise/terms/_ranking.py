"""Fair rankings: pairs within queries, and their order in both directions between two groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.terms._combination import Combination
from equipoise.terms._joined_sums import JoinedSums
from equipoise.terms._listed_pairs import ListedPairs
from equipoise.terms._losses import Logistic
from equipoise.terms._pointwise import Pointwise
from equipoise.terms._rates import Rates
from equipoise.terms._sigmoid import Sigmoid
from equipoise.terms._terms import Terms


def ranking_terms(
    relevant: Any,
    member: Any,
    query: Any,
    slack: float,
    *,
    loss: Pointwise | None = None,
    surrogate: Pointwise | None = None,
) -> Terms:
    """Return the loss of a ranking, and a bound in every query on what groups do to it.

    A pair is a relevant and an irrelevant document of one query. The loss is the mean over queries of the
    mean over their pairs, of a function of the score difference. In every query, pairs of a relevant member
    of the group and an irrelevant other are in the right order as often as pairs the other way round, up to
    `slack` (cross-group equal opportunity): two constraints for each query that has pairs of both kinds.

    Parameters
    ----------
    relevant, member : boolean arrays of shape (n,)
    query : array of shape (n,)
        What tells queries apart: numbers or names.
    slack : float
        Between 0 and 1.
    loss : Pointwise, default Logistic()
    surrogate : Pointwise, default Sigmoid()
        What is taken of a difference where pairs in the right order are counted; a loss bounds differences of
        losses instead.

    Returns
    -------
    Terms
        With constraints named by query; of scores (n,).

    References
    ----------
    Narasimhan, Cotter, Zhou, Wang & Guo 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.terms import ranking_terms
    >>> relevant, member = np.array([True, False, True, False]), np.array([True, False, False, True])
    >>> terms = ranking_terms(relevant, member, [7, 7, 7, 7], slack=0.1)
    >>> terms.names
    ('query 7: at most 0.1', 'query 7: at least -0.1')
    >>> terms.thresholded(np.array([3.0, 2.0, 0.0, 1.0]))[1:]  # the member's pair is right, the other wrong
    array([ 0.9, -1.1])
    """
    owner = "ranking_terms"
    query = _check.labels(owner, "query", query)
    relevant = _check.mask(owner, "relevant", relevant, query.size)
    member = _check.mask(owner, "member", member, query.size)
    slack = _check.between(owner, "slack", slack, 0.0, 1.0)
    loss = Logistic() if loss is None else _check.kind(owner, "loss", loss, Pointwise)
    surrogate = Sigmoid() if surrogate is None else surrogate
    _check.kind(owner, "surrogate", surrogate, Pointwise)
    above, below, number, names = _pairs(relevant, query)
    if above.size == 0:
        _check.fail(owner, "relevant", "must divide the documents of some query", "no pairs")
    counts = np.bincount(number)
    share = 1.0 / (counts.size * counts[number])  # of a pair in the loss
    kinds = np.column_stack((member[above] & ~member[below], ~member[above] & member[below]))
    rates, bounded = _cross_rates(kinds, number, counts.size)
    sums = ListedPairs(
        JoinedSums([Rates(loss, share[:, None]), Rates(surrogate, rates)]),
        *(above, below, query.size),
    )
    k = bounded.size
    gap = sparse.hstack((sparse.csr_array((k, 1)), sparse.eye_array(k), -sparse.eye_array(k)))
    first = sparse.csr_array(([1.0], ([0], [0])), shape=(1, 2 * k + 1))
    labels = [
        f"query {name}: {side}"
        for side in (f"at most {slack:g}", f"at least {0.0 - slack:g}")
        for name in names[bounded]
    ]
    rows = sparse.vstack((first, gap, -gap))
    return Terms(sums, Combination(rows, np.r_[0.0, np.full(2 * k, -slack)], names=labels))


def _pairs(
    relevant: np.ndarray, query: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of all pairs, the number of the query of each, and the names of queries with pairs."""
    names, codes = np.unique(query, return_inverse=True)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    kept = []
    for code, name in enumerate(names):
        inside = np.flatnonzero(codes == code)
        good, bad = inside[relevant[inside]], inside[~relevant[inside]]
        if good.size and bad.size:
            found.append((np.repeat(good, bad.size), np.tile(bad, good.size)))
            kept.append(name)
    empty = np.empty(0, dtype=np.intp)
    above, below = (np.concatenate([empty, *(pair[i] for pair in found)]) for i in (0, 1))
    number = np.repeat(np.arange(len(found)), [pair[0].size for pair in found])
    return above, below, number, np.array(kept)


def _cross_rates(kinds: np.ndarray, number: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    """Return the weights of pairs in the means of both kinds, (P, 2 k), and the k queries that have both."""
    totals = np.stack([np.bincount(number[kind], minlength=count) for kind in kinds.T])
    bounded = np.flatnonzero((totals > 0).all(axis=0))
    blocks = []
    for kind, total in zip(kinds.T, totals):
        pairs = np.flatnonzero(kind & np.isin(number, bounded))
        place = np.searchsorted(bounded, number[pairs])
        weights = 1.0 / total[number[pairs]]
        shape = (number.size, bounded.size)
        blocks.append(sparse.csr_array((weights, (pairs, place)), shape=shape))
    return sparse.hstack(blocks), bounded
