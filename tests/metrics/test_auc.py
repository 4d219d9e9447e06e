"""AUCs between subsets against the double loop, fairness gaps, scorers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_validate

from equipoise import metrics, recall
from equipoise.constraints import AUC_PARITIES
from equipoise.metrics import auc_gap, auc_gap_scorer, subset_auc, violation_scorer

RNG = np.random.default_rng(0)
N = 70
SCORES = {
    "ordinary": RNG.normal(size=N),
    "ties": np.round(RNG.normal(size=N)),
    "one value": np.full(N, 3.0),
    "huge": 1e300 * RNG.normal(size=N),
}
Y = RNG.integers(0, 2, N)
GROUPS = RNG.choice(["a", "b", "c"], N)
WEIGHT = RNG.random(N)


def double_loop(scores, above, below, weight, tie):
    total = won = 0.0
    for i in np.flatnonzero(above):
        for j in np.flatnonzero(below):
            pair = weight[i] * weight[j]
            total += pair
            won += pair * (1.0 if scores[i] > scores[j] else tie if scores[i] == scores[j] else 0.0)
    return won / total


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(("ties", "tie"), [("half", 0.5), ("strict", 0.0)])
def test_t6_8_subsets_agree_with_the_double_loop(scores, ties, tie):
    above, below = RNG.random(N) < 0.5, RNG.random(N) < 0.5  # they overlap
    for weight in (None, WEIGHT):
        w = np.ones(N) if weight is None else weight
        found = subset_auc(scores, above, below, sample_weight=weight, ties=ties)
        assert found == pytest.approx(double_loop(scores, above, below, w, tie), abs=1e-12)


def test_it_is_scikit_learns_auc():
    scores = SCORES["ties"]
    found = subset_auc(scores, Y == 1, Y == 0, sample_weight=WEIGHT)
    assert found == pytest.approx(roc_auc_score(Y, scores, sample_weight=WEIGHT), abs=1e-12)


def test_a_sample_beside_itself():
    """Of n different scores, strictly (1 - 1/n) / 2; one half with ties as one half."""
    everyone = np.ones(N, dtype=bool)
    assert subset_auc(SCORES["ordinary"], everyone, everyone) == 0.5
    strict = subset_auc(SCORES["ordinary"], everyone, everyone, ties="strict")
    assert strict == pytest.approx((1 - 1 / N) / 2)


@pytest.mark.parametrize("kind", AUC_PARITIES)
def test_gaps_are_the_largest_of_all_groups(kind):
    scores, P, M = SCORES["ties"], Y == 1, Y == 0
    groups = [name == GROUPS for name in "abc"]
    pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
    value = {
        "group": [subset_auc(scores, a, b) - 0.5 for a, b in pairs],
        "inter": [
            subset_auc(scores, a & P, b & M) - subset_auc(scores, b & P, a & M) for a, b in pairs
        ],
        "intra": [
            subset_auc(scores, a & P, a & M) - subset_auc(scores, b & P, b & M) for a, b in pairs
        ],
        "positive": [subset_auc(scores, a & P, P) - 0.5 for a in groups],
        "negative": [subset_auc(scores, a & M, M) - 0.5 for a in groups],
        "background": [subset_auc(scores, P, a & M) - subset_auc(scores, a & P, M) for a in groups],
    }[kind]
    found = auc_gap(Y, scores, sensitive_features=GROUPS, kind=kind)
    assert found == pytest.approx(np.abs(value).max(), abs=1e-12)


def test_a_scorer_in_cross_validation():
    import sklearn

    X = np.column_stack((RNG.normal(size=300), RNG.normal(size=300)))
    y, groups = RNG.integers(0, 2, 300), RNG.choice(["a", "b"], 300)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = auc_gap_scorer("inter").set_score_request(sensitive_features=True)
        scores = cross_validate(
            LogisticRegression(), X, y, scoring=scorer, params={"sensitive_features": groups}, cv=3
        )["test_score"]
    assert (scores <= 0).all()
    assert (scores > -1).all()


def test_scorers_say_what_they_measure():
    """Old versions of scikit-learn print a scorer by the name of its function, while they route metadata."""
    assert repr(auc_gap_scorer("inter")).startswith("make_scorer(auc_gap, ")
    assert repr(violation_scorer(recall(at_least=0.5))).startswith("make_scorer(violation, ")


def test_rows_in_any_order_and_one_product():
    order = RNG.permutation(N)
    scores = SCORES["ordinary"]
    for kind in AUC_PARITIES:
        one = auc_gap(Y, scores, sensitive_features=GROUPS, kind=kind)
        two = auc_gap(Y[order], scores[order], sensitive_features=GROUPS[order], kind=kind)
        assert one == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: subset_auc([1.0, np.nan], [True, False], [False, True]), "`y_score`"),
        (lambda: subset_auc([1.0, 2.0], [1, 0], [False, True]), "`above` must be a boolean array"),
        (lambda: subset_auc([1.0, 2.0], [True], [False, True]), "`above` must be a boolean array"),
        (lambda: subset_auc([1.0, 2.0], [False, False], [False, True]), "`above` must hold rows"),
        (lambda: subset_auc([1.0, 2.0], [True, False], [False, True], ties="no"), "`ties` must be"),
        (
            lambda: subset_auc([1.0, 2.0], [True, False], [False, True], sample_weight=[-1, 1]),
            "`sample_weight` must be non-negative",
        ),
        (
            lambda: auc_gap(Y, SCORES["ties"][:5], sensitive_features=GROUPS),
            "`y_score` must have shape",
        ),
        (
            lambda: auc_gap(Y, SCORES["ties"], sensitive_features=GROUPS, kind="x"),
            "`kind` must be one",
        ),
        (lambda: auc_gap_scorer("x"), "`kind` must be one of"),
    ],
)
def test_wrong_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_module_is_public():
    assert {"subset_auc", "auc_gap", "auc_gap_scorer"} <= set(metrics.__all__)
