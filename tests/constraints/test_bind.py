"""Binding: labels, weights, names, sizes, and the mistakes that can be made with them."""

import pickle

import numpy as np
import pytest

from equipoise.constraints import (
    bind,
    bounded_group_loss,
    churn,
    coverage,
    custom,
    demographic_parity,
    equalized_odds,
    error_rate,
    false_positive_rate,
    group_loss,
    loss_budget,
    minority_coverage,
    parity_pair,
    precision,
    rate,
    recall,
    unfairness,
)

from .examples import N, data, mean_score

Y, GROUPS, SCORES = data()


@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), (False, True), ("no", "yes"), (1, 2), (0.0, 1.0)], ids=repr
)
def test_labels_of_any_kind(labels):
    y = np.array(labels)[Y]
    expected = bind([equalized_odds(0.1), recall(0.5)], Y, GROUPS).terms.at(SCORES).values
    binding = bind([equalized_odds(0.1), recall(0.5)], y, GROUPS)
    np.testing.assert_array_equal(binding.terms.at(SCORES).values, expected)
    by_label = bind(rate("positive", label=labels[1]) >= 0.5, y).terms.at(SCORES).values[1]
    assert by_label == pytest.approx(expected[-1], rel=1e-12)
    old = bind(churn(0.1, y[::-1]), y).terms.at(SCORES).values[1]
    assert old == bind(churn(0.1, Y[::-1]), Y).terms.at(SCORES).values[1]


def test_classes_can_be_given():
    ones = np.ones(N)
    binding = bind(coverage(at_least=0.2), ones, classes=(0, 1))
    assert binding.terms.n_constraints == 1
    swapped = bind(recall(0.5), Y, classes=(1, 0)).terms.thresholded(SCORES)[1]
    assert swapped == pytest.approx(0.5 - (SCORES > 0)[Y == 0].mean())


def test_equal_names_are_numbered():
    binding = bind([recall(0.5), recall(0.9), custom(mean_score), custom(mean_score)], Y)
    assert binding.names == ("recall", "recall (2)", "mean_score", "mean_score (2)")
    assert binding.terms.names == binding.names


def test_a_custom_function_sees_labels_and_groups():
    seen = []

    def look(scores, y, groups):
        seen.append((y, groups))
        return 0.0, np.zeros_like(scores)

    labels = np.array(["no", "yes"])[Y]
    bind(custom(look), labels, GROUPS).terms.at(SCORES)
    bind(custom(look), labels, {"a": GROUPS, "b": GROUPS}).terms.at(SCORES)
    bind(custom(look), labels).terms.at(SCORES)
    assert all(np.array_equal(y, labels) for y, _ in seen)
    np.testing.assert_array_equal(seen[0][1], GROUPS)
    assert set(seen[1][1]) == {"a", "b"}
    assert seen[2][1] is None


def test_custom_names_and_smoothness():
    assert custom(lambda s, y, g: None).name == "custom"
    assert custom(mean_score, "quota").name == "quota"
    kinked = bind([recall(0.5), custom(mean_score, smooth=False)], Y).terms
    assert not kinked.smooth
    assert bind(custom(mean_score), Y).terms.smooth


def test_each_rate_is_counted_once_however_many_pairs():
    groups = np.arange(1000) % 50
    y = (np.arange(1000) // 50) % 2
    binding = bind([demographic_parity(0.1), demographic_parity(0.2, "mean")], y, groups)
    assert len(binding.inequalities) == 50 * 49 + 100
    assert len(binding.rates) == 51
    loss, sigmoid = binding.terms.sums.parts
    assert loss.weights.matrix.nnz == sigmoid.weights.matrix.nnz == 1000
    assert {info.rows for info in binding.rates} == {20, 1000}


def test_weights_of_many_groups_are_not_stored_as_a_dense_matrix():
    groups = np.arange(2000) % 50
    y = (np.arange(2000) // 50) % 2
    sums = bind(equalized_odds(0.1), y, groups).terms.sums
    weights = sums.parts[1].weights
    n, rates = weights.shape
    assert (n, rates) == (2000, 100)
    assert len(pickle.dumps(weights)) < 0.1 * 8 * n * rates


def test_effective_rows():
    weight = np.where(np.arange(N) < 10, 10.0, 1.0)
    info = bind(coverage(at_least=0.1), Y, None, weight).rates[-1]
    assert info.rows == N
    assert info.effective_rows == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": np.zeros(N)}, r"`y` must hold labels of exactly two classes, got \(0.0,\)"),
        ({"y": np.arange(N)}, "exactly two classes, got '120 values'"),
        ({"y": np.zeros((2, 2))}, "`y` must be a vector of labels"),
        ({"y": []}, "`y` must be a vector of labels"),
        ({"classes": (0, 2)}, "`classes` must be the two classes of `y`"),
        ({"classes": (0, 1, 2)}, "`classes` must be the two classes of `y`"),
        ({"sample_weight": np.ones(3)}, r"bind: `sample_weight` must have shape \(120,\)"),
        ({"sample_weight": -np.ones(N)}, "`sample_weight` must be non-negative and not all 0"),
        ({"sample_weight": np.zeros(N)}, "`sample_weight` must be non-negative and not all 0"),
        ({"sample_weight": np.full(N, np.nan)}, "`sample_weight` must be finite"),
        ({"objective_weight": np.zeros(N)}, "`objective_weight` must be non-negative"),
        ({"sharpness": 0}, "`sharpness` must be positive"),
        ({"best_loss": -1}, "`best_loss` must be non-negative"),
        ({"min_cell": 1}, "`min_cell` must be an integer of at least 2"),
        ({"small_cells": "merge"}, "`small_cells` must be one of 'raise', 'skip'"),
        ({"loss": "zero-one"}, "bind: `loss` must be one of 'logistic'"),
        ({"objective": "auc"}, r"`objective` must be a combination of rates or unfairness\(\)"),
        ({"constraints": 0.02}, r"must be rules such as demographic_parity\(0.02\).*got 0.02"),
        ({"constraints": [0.02]}, r"`constraints` must be rules such as"),
        ({"constraints": [rate("error")]}, r"must be compared with a bound, .*got error"),
        (
            {"constraints": rate("positive")},
            r"must be compared with a bound, as in rate\('positive'\) <= 0.3, got positive",
        ),
        ({"constraints": rate("positive", label=7) <= 0.1}, r"`label` must be one of the classes"),
        ({"constraints": churn(0.1, [0, 1])}, "one prediction for each of the 120 training rows"),
        (
            {"constraints": churn(0.1, np.full(N, 7))},
            r"`reference` must hold labels of the classes",
        ),
    ],
)
def test_wrong_input(options, message):
    given = {"constraints": [], "y": Y, **options}
    with pytest.raises(ValueError, match=message):
        bind(**given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: demographic_parity(-0.1), "demographic_parity: `bound` must lie between 0 and 1"),
        (lambda: demographic_parity(1.1), "`bound` must lie between 0 and 1, got 1.1"),
        (lambda: demographic_parity("a"), "`bound` must be a number"),
        (lambda: demographic_parity(True), "`bound` must be a number"),
        (lambda: demographic_parity(np.nan), "`bound` must lie between 0 and 1"),
        (
            lambda: equalized_odds(0.1, "median"),
            "equalized_odds: `reference` must be one of 'pairs'",
        ),
        (lambda: coverage(), "`at_least` or `at_most` must be given, and only one"),
        (lambda: coverage(0.1, 0.2), "`at_least` or `at_most` must be given, and only one"),
        (lambda: coverage(at_most=2), "coverage: `at_most` must lie between 0 and 1, got 2"),
        (lambda: recall(1.5), "recall: `at_least` must lie between 0 and 1"),
        (lambda: precision(-1), "precision: `at_least` must lie between 0 and 1"),
        (lambda: false_positive_rate(7), "false_positive_rate: `at_most` must lie"),
        (lambda: error_rate(7), "error_rate: `at_most` must lie"),
        (lambda: churn(7, [0, 1]), "churn: `at_most` must lie"),
        (lambda: bounded_group_loss(-1), "`at_most` must be non-negative"),
        (lambda: group_loss(-1), "`excess` must be non-negative"),
        (lambda: group_loss(0.1, mode="max"), "`mode` must be one of 'all', 'mean'"),
        (lambda: minority_coverage(0, "F"), "`c` must lie strictly between 0 and 1"),
        (lambda: minority_coverage(1.2, "F"), "`c` must lie strictly between 0 and 1"),
        (lambda: minority_coverage(0.1, None), "`group` must be one group"),
        (lambda: parity_pair(0), "parity_pair: `r` must be positive"),
        (lambda: parity_pair(1, -1), "`beta` must be non-negative"),
        (lambda: parity_pair(1, groups="FM"), "`groups` must be a sequence"),
        (lambda: loss_budget(-0.1), "loss_budget: `kappa` must be non-negative"),
        (lambda: loss_budget(0.1, loss="l"), "loss_budget: `loss` must be one of"),
        (lambda: custom(3), "custom: `function` must be callable"),
        (lambda: unfairness("odds"), "unfairness: `notion` must be one of"),
    ],
)
def test_bounds_are_checked_when_written(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parity_pair_needs_two_groups():
    with pytest.raises(ValueError, match="needs at least two groups to compare"):
        bind(parity_pair(1.1, groups=("F",)), Y, GROUPS)


def test_equal_rules_are_equal():
    assert demographic_parity(0.02) == demographic_parity(0.02)
    assert demographic_parity(0.02) != demographic_parity(0.03)
    assert parity_pair(1.1) == parity_pair(1.1)
    assert hash(demographic_parity(0.02)) == hash(demographic_parity(0.02))
