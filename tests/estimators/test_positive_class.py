"""`pos_label`: rules and reports speak of the class that the user calls positive."""

import warnings

import numpy as np
import pytest

from equipoise import (
    AUCClassifier,
    ConstrainedClassifier,
    auc,
    demographic_parity,
    frontier,
    recall,
)
from equipoise.datasets import make_census

DATA = make_census(1500, seed=3)
TRUTH = np.asarray(DATA.y) == 1
LOANS = np.where(TRUTH, "approve", "reject")  # the positive class is the first in sorted order


def recalled(model, label):
    return (model.predict(DATA.X)[label == LOANS] == label).mean()


def test_a_rule_bounds_the_class_that_is_named():
    approve = ConstrainedClassifier(recall(at_least=0.9), pos_label="approve").fit(DATA.X, LOANS)
    reject = ConstrainedClassifier(recall(at_least=0.97), pos_label="reject").fit(DATA.X, LOANS)
    assert recalled(approve, "approve") >= 0.9 > recalled(reject, "approve")
    assert recalled(reject, "reject") >= 0.97 > recalled(approve, "reject")
    for model, label in ((approve, "approve"), (reject, "reject")):
        assert list(model.classes_) == ["approve", "reject"]
        assert model.pos_label_ == label == model.report_.classes[1]
        assert f"positive class: '{label}'" in str(model.report_)


def test_without_it_the_report_says_which_class_is_positive():
    model = ConstrainedClassifier().fit(DATA.X, LOANS)
    assert "positive class: 'reject'; negative class: 'approve'" in str(model.report_)
    assert "positive class" not in str(ConstrainedClassifier().fit(DATA.X, TRUTH * 1).report_)


@pytest.mark.parametrize("kind", [ConstrainedClassifier, AUCClassifier])
def test_the_model_is_that_of_the_labels_0_and_1_turned_round(kind):
    rule = recall(at_least=0.9) if kind is ConstrainedClassifier else auc("female", "male") >= 0.9
    one = kind(rule, on_infeasible="ignore").fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    two = kind(rule, on_infeasible="ignore", pos_label="approve")
    two.fit(DATA.X, LOANS, sensitive_features=DATA.groups)
    np.testing.assert_array_equal(one.coef_, -two.coef_)
    np.testing.assert_array_equal(one.decision_function(DATA.X), -two.decision_function(DATA.X))
    np.testing.assert_array_equal(one.predict(DATA.X) == 1, two.predict(DATA.X) == "approve")
    np.testing.assert_array_equal(one.predict_proba(DATA.X), two.predict_proba(DATA.X)[:, ::-1])
    assert one.report_.constraints == two.report_.constraints
    assert one.report_.groups == two.report_.groups


def test_scores_of_0_are_not_positive_whichever_class_that_is():
    for label, other in (("approve", "reject"), ("reject", "approve")):
        model = ConstrainedClassifier(pos_label=label, max_steps=5, on_infeasible="ignore")
        model.fit(DATA.X[:, :2], LOANS)
        model.intercept_ = np.zeros(1)
        np.testing.assert_array_equal(model.predict(np.zeros((1, 2))), [other])


def test_warm_starts_streams_and_frontiers_agree():
    rule, groups = demographic_parity(0.05), DATA.groups
    model = ConstrainedClassifier(rule, pos_label="approve", warm_start=True)
    cold = model.fit(DATA.X, LOANS, sensitive_features=groups).coef_
    assert model.fit(DATA.X, LOANS, sensitive_features=groups).n_iter_ < 10
    np.testing.assert_allclose(model.coef_, cold, atol=0.02)
    curve = frontier(model, DATA.X, LOANS, [0.05], sensitive_features=groups)
    np.testing.assert_allclose(curve.points[0].coef, cold[0], atol=0.02)
    one = ConstrainedClassifier(rule).partial_fit(DATA.X, DATA.y, [0, 1], groups)
    two = ConstrainedClassifier(rule, pos_label="approve")
    for _ in range(2):
        two.partial_fit(DATA.X, LOANS, ["approve", "reject"], groups)
    one.partial_fit(DATA.X, DATA.y, None, groups)
    np.testing.assert_array_equal(one.coef_, -two.coef_)
    with pytest.raises(ValueError, match="`pos_label` must be that of the first call"):
        two.set_params(pos_label="reject").partial_fit(DATA.X, LOANS, None, groups)


@pytest.mark.parametrize("wrong", ["approved", 1, True])
def test_a_class_that_is_not_there_is_refused(wrong):
    model = ConstrainedClassifier(pos_label=wrong)
    with pytest.raises(ValueError, match=r"`pos_label` must be one of the classes \['approve'"):
        model.fit(DATA.X, LOANS)


def test_truth_values_and_numbers():
    for labels in (TRUTH, np.where(TRUTH, 3, 7)):
        positive = labels[TRUTH][0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ConstrainedClassifier(recall(at_least=0.9), pos_label=positive)
            model.fit(DATA.X, labels)
        assert (model.predict(DATA.X)[TRUTH] == positive).mean() >= 0.9
