"""The same rows in another order give the same model."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import equipoise as eq
from equipoise import ConstrainedClassifier
from equipoise.estimators._fit import fit_two_classes
from equipoise.rows import Blocks, MemoryTable


def people(groups, n=500, d=4, seed=0, kind="dense"):
    """Rows of many groups with different base rates; `kind` also makes them sparse, or repeats them."""
    rng = np.random.default_rng(seed)
    code = rng.integers(groups, size=n)
    X = rng.normal(size=(n, d)).round(1 if kind == "repeated" else 9)
    if kind == "sparse":
        X = X * (rng.random((n, d)) < 0.4)
    score = X @ rng.normal(size=d) + rng.normal(size=groups)[code]
    y = (score + rng.logistic(size=n) > 0.4).astype(int)
    X = sparse.csr_array(X) if kind == "sparse" else X
    return X, y, np.array([f"g{i}" for i in code]), rng.uniform(0.5, 2.0, n)


def fitted(X, y, group, weight, rows, rules=None, **options):
    model = ConstrainedClassifier(
        rules or eq.demographic_parity(0.05), on_infeasible="ignore", **options
    )
    weight = None if weight is None else weight[rows]
    return model.fit(X[rows], y[rows], sensitive_features=group[rows], sample_weight=weight)


def assert_same(one, two):
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert str(one.report_) == str(two.report_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("groups", "kind"), [(3, "dense"), (10, "sparse"), (25, "dense"), (10, "repeated")]
)
def test_shuffled_rows_give_the_same_model(groups, kind, weighted):
    X, y, group, weight = people(groups, kind=kind)
    weight = weight if weighted else None
    shuffled = np.random.default_rng(1).permutation(len(y))
    one = fitted(X, y, group, weight, np.arange(len(y)))
    assert_same(one, fitted(X, y, group, weight, shuffled))


@pytest.mark.parametrize("rule", [eq.demographic_parity(0.05), eq.equalized_odds(0.05)])
def test_two_groups_in_any_order(rule):
    """Few of them are moved, and give the same model; of many, fits agree to what solvers reach."""
    for n in (2000, 12_000):
        X, y, group, weight = people(2, n=n)
        shuffled = np.random.default_rng(1).permutation(len(y))
        one = fitted(X, y, group, weight, np.arange(len(y)), rule)
        two = fitted(X, y, group, weight, shuffled, rule)
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=0.0, atol=0.0 if n < 3000 else 1e-5)


@pytest.mark.parametrize("loss", ["hinge", "truncated_logistic"])
def test_shuffled_rows_with_other_losses(loss):
    X, y, group, _ = people(3, n=600)
    shuffled = np.random.default_rng(1).permutation(len(y))
    one = fitted(X, y, group, None, np.arange(len(y)), loss=loss)
    assert_same(one, fitted(X, y, group, None, shuffled, loss=loss))


def test_a_reference_and_a_function_keep_their_rows():
    """Both belong to the rows as they were given, in that order."""
    X, y, group, _ = people(2, n=600)
    reference = (X[:, 0] > 0).astype(int)
    chosen = X[:, 1] > 1.0
    seen = []

    def few(scores, labels, groups):
        seen.append((labels, groups))
        return scores[chosen].mean() + 0.5, chosen / chosen.sum()

    rules = [eq.churn(0.15, reference), eq.custom(few)]
    model = fitted(X, y, group, None, slice(None), rules)
    assert (model.predict(X) != reference).mean() <= 0.15
    assert model.decision_function(X)[chosen].mean() <= -0.5 + 1e-5
    np.testing.assert_array_equal(seen[-1][0], y)
    np.testing.assert_array_equal(seen[-1][1], group)


def test_more_threads_give_the_same_model():
    X, y, group, _ = people(5)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fits.append(fitted(X, y, group, None, slice(None)))
    assert_same(*fits)


def test_blocks_in_another_order_give_the_same_model():
    X, y, group, weight = people(5)
    reference = (X[:, 0] > 0).astype(int)

    def fit(cuts, rows):
        parts = [rows[part] for part in cuts]
        given = np.concatenate(parts)
        tables = [MemoryTable(y[p], X[p], group[p], weight=weight[p]) for p in parts]
        rules = [eq.demographic_parity(0.05), eq.churn(0.3, reference[given])]
        model = ConstrainedClassifier(rules, on_infeasible="ignore")
        fit_two_classes(model, model._task(), Blocks(tables))
        return model

    rows, cuts = np.arange(len(y)), [slice(0, 100), slice(100, 300), slice(300, None)]
    mixed = np.concatenate([np.random.default_rng(1).permutation(rows[part]) for part in cuts])
    one, two = fit(cuts, rows), fit(cuts[::-1], mixed)
    assert_same(one, two)
    assert np.average(one.predict(X) != reference, weights=weight) <= 0.3 + 1e-12
