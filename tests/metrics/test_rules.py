"""Gaps and violations of predictions, against counting by hand."""

import numpy as np
import pytest

from equipoise import auc, coverage, custom, demographic_parity, precision, rate, recall
from equipoise.constraints import Each
from equipoise.metrics import (
    demographic_parity_gap,
    equal_opportunity_gap,
    equalized_odds_gap,
    violation,
)

RNG = np.random.default_rng(0)
N = 300
Y = RNG.integers(0, 2, N)
PREDICTED = np.where(RNG.random(N) < 0.3, 1 - Y, Y)
GROUPS = RNG.choice(list("abc"), N)
WEIGHT = RNG.random(N)


def spread(among, wanted=1, weight=WEIGHT):
    """The largest difference of two groups' shares of predictions, counted one by one."""
    rates = []
    for name in "abc":
        own = among & (name == GROUPS)
        rates.append(weight[own & (wanted == PREDICTED)].sum() / weight[own].sum())
    return max(rates) - min(rates)


@pytest.mark.parametrize("wanted", [0, 1])
def test_gaps(wanted):
    given = {"sensitive_features": GROUPS, "sample_weight": WEIGHT, "pos_label": wanted}
    everyone, positive = np.ones(N, bool), wanted == Y
    assert demographic_parity_gap(Y, PREDICTED, **given) == pytest.approx(spread(everyone))
    true = spread(positive, wanted)
    assert equal_opportunity_gap(Y, PREDICTED, **given) == pytest.approx(true)
    both = max(true, spread(~positive, wanted))
    assert equalized_odds_gap(Y, PREDICTED, **given) == pytest.approx(both)


def test_texts_columns_and_frames():
    words, predicted = np.where(Y, "approve", "reject"), np.where(PREDICTED, "approve", "reject")
    given = {"sensitive_features": {"one": GROUPS, "two": ["x"] * 150 + ["y"] * 150}}
    one = equal_opportunity_gap(words, predicted, pos_label="approve", **given)
    assert one == equal_opportunity_gap(Y, PREDICTED, **given)
    assert one >= equal_opportunity_gap(Y, PREDICTED, sensitive_features=GROUPS)


def test_violations():
    hits = (PREDICTED[Y == 1] == 1).mean()
    positive = PREDICTED.mean()
    right = Y[PREDICTED == 1].mean()
    assert violation(Y, PREDICTED, rules=recall(at_least=0.99)) == pytest.approx(0.99 - hits)
    assert violation(Y, PREDICTED, rules=recall(at_least=0.01)) == 0.0
    assert violation(Y, PREDICTED, rules=[]) == 0.0
    rules = [recall(at_least=hits - 0.1), coverage(at_most=positive - 0.2)]
    assert violation(Y, PREDICTED, rules=rules) == pytest.approx(0.2)
    assert violation(Y, PREDICTED, rules=precision(at_least=1.0)) == pytest.approx(1.0 - right)
    gap = demographic_parity_gap(Y, PREDICTED, sensitive_features=GROUPS)
    rules = [demographic_parity(0.01), rate("positive", Each()) <= 0.99]
    found = violation(Y, PREDICTED, rules=rules, sensitive_features=GROUPS)
    assert found == pytest.approx(gap - 0.01)


@pytest.mark.parametrize(
    "rule", [auc() >= 0.9, rate("loss") <= 0.3, custom(lambda s, y, g: (0.0, 0 * s))]
)
def test_rules_that_are_not_about_predictions_are_refused(rule):
    with pytest.raises(ValueError, match="violation: `rules` must be about predictions"):
        violation(Y, PREDICTED, rules=rule)


def test_labels_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="`y_true` must hold labels of two classes"):
        violation(Y, PREDICTED + 5, rules=[])
    with pytest.raises(ValueError, match="`y_pred` must hold 300 predictions"):
        violation(Y, PREDICTED[:-1], rules=[])


def test_a_positive_class_without_rows_is_named():
    none = np.zeros(Y.size, dtype=int)
    measured = demographic_parity_gap(none, none, sensitive_features=GROUPS, pos_label=1)
    assert measured == 0.0
    assert violation(none, none, rules=coverage(at_least=0.3), pos_label=1) == 0.3
    for wrong in (None, 0, "1", True):
        with pytest.raises(ValueError, match="`y_true` must hold labels of two classes"):
            violation(none, none, rules=[], pos_label=wrong)
