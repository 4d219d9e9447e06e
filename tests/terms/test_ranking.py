"""Pairs within queries, and what groups do to their order."""

import numpy as np
import pytest

from equipoise import solve
from equipoise.datasets import load_mslr
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import Hinge, ListedPairs, Rates, Scores, Sigmoid, ranking_terms
from tests.datasets.conftest import need


def documents(n=60, queries=5, seed=0):
    rng = np.random.default_rng(seed)
    relevant, member = rng.random(n) < 0.4, rng.random(n) < 0.5
    return relevant, member, rng.integers(0, queries, n), rng.normal(size=n)


def in_order(s, relevant, member, query, q, first):
    """The share of pairs of a query in the right order, their relevant member and irrelevant other first."""
    pairs = [
        s[i] > s[j]
        for i in np.flatnonzero((query == q) & relevant & (member == first))
        for j in np.flatnonzero((query == q) & ~relevant & (member != first))
    ]
    return np.mean(pairs) if pairs else np.nan


def test_t5_10_a_query_of_six_documents_by_hand():
    """Relevant: 0 and 1 of the group, 2 not; irrelevant: 3 of the group, 4 and 5 not."""
    relevant = np.array([True, True, True, False, False, False])
    member = np.array([True, True, False, True, False, False])
    scores = np.array([5.0, 2.0, 1.0, 3.0, 4.0, 0.0])
    terms = ranking_terms(relevant, member, [3] * 6, slack=0.25, loss=Hinge())
    # of the four pairs (0,4) (0,5) (1,4) (1,5) all but (1,4) are right; (2,3), the only other one, is wrong
    objective, above, below = terms.thresholded(scores)
    assert (above, below) == (pytest.approx(0.75 - 0.25), pytest.approx(-0.75 - 0.25))
    # 1 - difference, over the nine pairs: 0 of (0,3) (0,4) (0,5) (1,5), 0 of (2,5); 2, 3; 3, 4
    assert objective == pytest.approx((2 + 3 + 3 + 4) / 9)
    assert terms.names == ("query 3: at most 0.25", "query 3: at least -0.25")


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_brute_force(seed):
    relevant, member, query, s = documents(seed=seed)
    terms = ranking_terms(relevant, member, query, slack=0.1)
    counted = terms.thresholded(s)
    gaps = {}
    for q in range(5):
        both = [in_order(s, relevant, member, query, q, first) for first in (True, False)]
        gaps[q] = both[0] - both[1]
    bounded = [q for q, gap in gaps.items() if np.isfinite(gap)]
    expected = [gaps[q] - 0.1 for q in bounded] + [-gaps[q] - 0.1 for q in bounded]
    np.testing.assert_allclose(counted[1:], expected)
    means = []
    for q in range(5):
        good, bad = s[(query == q) & relevant], s[(query == q) & ~relevant]
        if good.size and bad.size:
            means.append(np.logaddexp(0.0, bad[None] - good[:, None]).mean())
    assert counted[0] == pytest.approx(np.mean(means))


def test_queries_without_pairs_of_both_kinds_have_no_constraint():
    relevant = np.array([True, False, True, False, True, True])
    member = np.array([True, False, True, False, True, False])
    query = ["a", "a", "b", "b", "c", "c"]  # in a and b there is one kind only, in c no pair
    terms = ranking_terms(relevant, member, query, slack=0.1)
    assert terms.n_constraints == 0
    np.testing.assert_allclose(terms.at(np.zeros(6)).values, np.log(2))
    with pytest.raises(ValueError, match="`relevant` must divide the documents"):
        ranking_terms(np.ones(6, bool), member, query, slack=0.1)


def test_listed_pairs_know_the_range_and_the_curvature_of_their_functions(rng):
    n, pairs = 12, 30
    A = rng.normal(size=(n, 3))
    above, below = rng.integers(0, n, pairs), rng.integers(0, n, pairs)
    listed = ListedPairs(Rates(Sigmoid(), rng.random((pairs, 2))), above, below, n)
    bounds = listed.bounds(np.linalg.norm(A, axis=1))
    for _ in range(50):
        x = 2 * rng.normal(size=3)
        point = listed.at(Scores(A @ x))
        for r in range(2):
            unit = np.eye(2)[r]
            assert np.linalg.norm(A.T @ point.slope(unit)) <= bounds.slope[r]
            bend = np.linalg.norm(A.T @ point.curve(unit, A @ x)) / np.linalg.norm(x)
            assert bend <= max(bounds.below[r], bounds.above[r])
            assert bounds.least[r] <= point.values[r] <= bounds.largest[r]
    assert listed.used.sum() == np.unique(np.r_[above, below]).size


def test_half_of_the_rows_have_their_pairs(rng):
    relevant, member, query, s = documents()
    listed = ranking_terms(relevant, member, query, slack=0.1).sums
    index = rng.permutation(60)[:30]
    part = listed.rows(index, 2.0)
    above, below = listed._above, listed._below
    kept = np.flatnonzero(np.isin(above, index) & np.isin(below, index))
    among = ListedPairs(listed.sums.rows(kept, 4.0), above[kept], below[kept], 60)
    np.testing.assert_allclose(part.values(s[index]), among.values(s), atol=1e-14)


def test_a_fair_ranking_is_found_and_certified():
    rng = np.random.default_rng(2)
    n = 600
    member, query = rng.random(n) < 0.5, rng.integers(0, 10, n)
    X = np.column_stack([rng.normal(size=(n, 3)), member])
    relevant = X @ [1.0, -0.5, 0.0, 1.5] + rng.normal(size=n) > 1.0
    terms = ranking_terms(relevant, member, query, slack=0.25)
    assert terms.n_constraints == 20
    model = LinearModel(X, intercept=False)
    free = ranking_terms(relevant, member, query, slack=1.0)
    plain = solve(LearningProblem.of(model, free, l2=1e-3), tol=1e-6)
    assert terms.thresholded(X @ plain.x)[1:].max() > 0.2  # far from fair
    fair = solve(LearningProblem.of(model, terms, l2=1e-3), tol=1e-6)
    assert fair.success
    assert fair.maxcv <= 1e-6
    assert fair.fun > plain.fun
    sharp = LearningProblem.of(model, terms.sharpened(20.0), l2=1e-3)
    found = solve(sharp, x0=fair.x, tol=1e-4)
    assert terms.thresholded(X @ found.x)[1:].max() < 0.1  # counted, nearly as asked


def test_the_sample_of_mslr_has_queries_to_compare():
    need("mslr")
    train = load_mslr().part("train")
    terms = ranking_terms(train.y == 1, train.groups == "high quality", train.query, slack=0.25)
    assert terms.n_constraints == 2 * len({name.split(":")[0] for name in terms.names})
    assert terms.n_constraints > 40
