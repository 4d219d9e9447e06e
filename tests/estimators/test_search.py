"""Beside other tools: grid search over bounds, scorers, fairlearn's frames, pipelines."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equipoise import (
    AUCClassifier,
    ConstrainedClassifier,
    auc_parity,
    demographic_parity,
    equalized_odds,
    frontier,
    recall,
)
from equipoise.datasets import make_census
from equipoise.metrics import demographic_parity_gap, feasible_first, violation_scorer

DATA = make_census(800, seed=4)
GROUPS = np.asarray(DATA.groups)
RULE = demographic_parity(0.05)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_bounds_are_parameters():
    model = ConstrainedClassifier(RULE)
    assert model.get_params()["constraints__bound"] == 0.05
    assert "constraints__bound" not in model.get_params(deep=False)
    other = clone(model).set_params(constraints__bound=0.1, C=2.0)
    assert (other.constraints.bound, other.C) == (0.1, 2.0)
    assert model.constraints is RULE
    assert RULE.bound == 0.05
    other.set_params(
        constraints=[equalized_odds(0.2), recall(at_least=0.5)], constraints__1__bound=0.6
    )
    assert [rule.bound for rule in other.constraints] == [0.2, 0.6]
    assert AUCClassifier(auc_parity("inter", 0.1)).get_params()["constraints__bound"] == 0.1
    assert ConstrainedClassifier((RULE,)).set_params(constraints__bound=0).constraints[0].bound == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "constraints__bond",
            0.1,
            "`constraints__bond` is not a parameter; .* are: constraints__bound",
        ),
        ("constraints__bound", "a", "`constraints__bound` must be a"),
        ("constraints__bound", 2.0, "`bound` must lie between 0 and 1"),
    ],
)
def test_wrong_bounds_are_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedClassifier(RULE).set_params(**{name: value})


def test_a_grid_over_bounds_is_searched_bounds_first(routing):
    model = ConstrainedClassifier(RULE).set_fit_request(sensitive_features=True)
    kept = violation_scorer(RULE).set_score_request(sensitive_features=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model),
        {"constrainedclassifier__constraints__bound": [0.3, 0.05, 0.0]},
        scoring={"accuracy": "accuracy", "violation": kept},
        refit=feasible_first("accuracy", tolerance=0.02),
        cv=3,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(DATA.X, DATA.y, sensitive_features=GROUPS)
    found = search.cv_results_
    assert list(found["param_constrainedclassifier__constraints__bound"]) == [0.3, 0.05, 0.0]
    assert found["mean_test_accuracy"].argmax() == 0  # the loosest bound, which is broken
    assert found["mean_test_violation"][0] < -0.02
    assert search.best_index_ != 0
    assert search.best_estimator_[-1].constraints.bound < 0.3


def test_feasible_first_is_the_choice_it_says():
    rng = np.random.default_rng(0)
    for _ in range(50):
        score, broken = rng.random(6), np.maximum(rng.random(6) - 0.4, 0.0)
        score[rng.integers(6)] = np.nan
        chosen = feasible_first()({"mean_test_score": score, "mean_test_violation": -broken})
        done = [i for i in range(6) if not np.isnan(score[i])]
        assert chosen == min(done, key=lambda i: (broken[i], -score[i]))
    with pytest.raises(ValueError, match=r"`score` must be a name in `scoring`, \['violation'\]"):
        feasible_first("accuracy")({"mean_test_violation": [0.0]})


def test_a_gap_is_a_scorer(routing):
    model = ConstrainedClassifier(RULE).set_fit_request(sensitive_features=True)
    gap = make_scorer(demographic_parity_gap, greater_is_better=False)
    scores = cross_val_score(
        model,
        DATA.X,
        DATA.y,
        scoring=gap.set_score_request(sensitive_features=True),
        cv=2,
        params={"sensitive_features": GROUPS},
    )
    assert (scores <= 0).all()
    assert (scores > -0.3).all()


def test_in_a_metric_frame_of_fairlearn():
    metrics = pytest.importorskip("fairlearn.metrics")
    part = np.where(DATA.X[:, 0] > np.median(DATA.X[:, 0]), "old", "young")
    predicted = ConstrainedClassifier(max_steps=20).fit(DATA.X, DATA.y).predict(DATA.X)
    frame = metrics.MetricFrame(
        metrics={"gap": demographic_parity_gap},
        y_true=DATA.y,
        y_pred=predicted,
        sensitive_features=part,
        sample_params={"gap": {"sensitive_features": GROUPS}},
    )
    for name in ("old", "young"):
        own = part == name
        expected = metrics.demographic_parity_difference(
            DATA.y[own], predicted[own], sensitive_features=GROUPS[own]
        )
        assert frame.by_group["gap"][name] == pytest.approx(expected, abs=1e-12)


def test_the_frontier_of_a_pipeline():
    frame = pd.DataFrame(DATA.X[:, :4], columns=list("abcd"))
    frame["part"] = np.where(DATA.X[:, 5] > np.median(DATA.X[:, 5]), "x", "y")
    frame["sex"] = GROUPS
    columns = make_column_transformer(
        (StandardScaler(), list("abcd")), (OneHotEncoder(drop="first"), ["part"])
    )
    pipeline = make_pipeline(columns, ConstrainedClassifier(RULE))
    curve = frontier(pipeline, frame, DATA.y, [0.1, 0.05], sensitive_features="sex")
    made = clone(columns).fit_transform(frame)
    twin = frontier(
        ConstrainedClassifier(RULE), made, DATA.y, [0.1, 0.05], sensitive_features=GROUPS
    )
    for one, two in zip(curve.points, twin.points):
        np.testing.assert_array_equal(one.coef, two.coef)
        assert one.holds
    split = frontier(pipeline, frame, DATA.y, [0.1], sensitive_features=GROUPS, splits=2)
    assert all(np.isfinite(point.test_accuracy) for point in split.points)
    with pytest.raises(TypeError, match="`estimator` must be a ConstrainedClassifier"):
        frontier(make_pipeline(columns), frame, DATA.y, [0.1])
    with pytest.raises(ValueError, match="frontier: `X` or `estimator` cannot be used"):
        frontier(pipeline, frame[["a"]], DATA.y, [0.1], sensitive_features=GROUPS)
