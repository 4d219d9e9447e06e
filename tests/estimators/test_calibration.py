"""Probabilities: calibrated on the training rows, growing with the score, predictions apart."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from equipoise import (
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    demographic_parity,
    rate,
    recall,
)
from equipoise.datasets import make_census
from equipoise.estimators._calibration import BINS, Calibration, calibrated

DATA = make_census(4000, seed=1)
TRUTH = np.asarray(DATA.y) == 1
RNG = np.random.default_rng(0)


def is_calibrated(p, truth, width=0.2, atol=0.05):
    assert p.mean() == pytest.approx(truth.mean(), abs=1e-3)
    for low in np.arange(0.0, 1.0, width):
        own = (p >= low) & (p < low + width)
        if own.sum() > 200:
            assert p[own].mean() == pytest.approx(truth[own].mean(), abs=atol)


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedClassifier(recall(at_least=0.9)),
        ConstrainedClassifier(demographic_parity(0.02), loss="hinge"),
        ConstrainedClassifier(class_weight="balanced"),
        ConstrainedClassifier(objective=rate("error")),
    ],
    ids=["bounded", "hinge", "weighted", "error"],
)
def test_probabilities_of_constrained_classifiers(model):
    model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    p, scores = model.predict_proba(DATA.X)[:, 1], model.decision_function(DATA.X)
    is_calibrated(p, TRUTH)
    assert (np.diff(p[np.argsort(scores)]) >= 0).all()
    np.testing.assert_array_equal(model.predict(DATA.X) == 1, scores > 0)


def test_rare_positives_under_a_bound_on_false_alarms():
    truth = RNG.random(6000) < 0.0226
    X = RNG.normal(size=(6000, 3)) + 1.5 * truth[:, None]
    model = NeymanPearsonClassifier(bounds=0.1).fit(X, truth)
    p = model.predict_proba(X)[:, 1]
    is_calibrated(p, truth)
    assert expit(model.decision_function(X)).mean() > 2 * truth.mean()  # what it would be as it is


def test_several_classes():
    codes = RNG.integers(0, 3, 1500)
    X = RNG.normal(size=(1500, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes]
    model = NeymanPearsonClassifier({"b": 0.3, "c": 0.6}).fit(X, np.array(list("abc"))[codes])
    p = model.predict_proba(X)
    for k in range(3):
        is_calibrated(p[:, k], codes == k, atol=0.08)


def test_without_rules_it_is_logistic_regression():
    model = ConstrainedClassifier().fit(DATA.X, DATA.y)
    assert model.calibration_ == Calibration()
    p = model.predict_proba(DATA.X)[:, 1]
    np.testing.assert_array_equal(p, expit(model.decision_function(DATA.X)))


@pytest.mark.parametrize("n", [BINS, 20 * BINS])  # row by row, and counted in bins
@pytest.mark.parametrize("tails", ["light", "heavy"])
def test_the_likelihood_is_the_largest(n, tails):
    scores = 2.0 * (RNG.normal(size=n) if tails == "light" else RNG.standard_t(2, size=n)) - 3.0
    truth = RNG.random(n) < expit(0.7 * scores + 1.0)
    weight = RNG.integers(0, 3, n).astype(float)
    sign = np.where(truth, 1.0, -1.0)

    def loss(x):
        return weight @ np.logaddexp(0.0, -sign * (x[0] * scores + x[1])) / n

    twin = minimize(loss, [1.0, 0.0], tol=1e-12).x
    made = calibrated(scores, truth.astype(int), weight)
    assert (made.slope, made.offsets[0]) == pytest.approx(tuple(twin), abs=2e-3)


def test_the_likelihood_of_several_classes_is_the_largest():
    scores = RNG.normal(size=(400, 4))
    codes = (2.0 * scores + RNG.gumbel(size=scores.shape) + [0, 1, 0.5, 0]).argmax(axis=1)

    def loss(x):
        return -log_softmax(x[0] * scores + np.r_[0.0, x[1:]], axis=1)[range(400), codes].mean()

    twin = minimize(loss, [1.0, 0, 0, 0], tol=1e-12).x
    made = calibrated(scores, codes, np.ones(400))
    assert (made.slope, *made.offsets) == pytest.approx(tuple(twin), abs=1e-3)


def test_scores_that_say_nothing_or_everything():
    truth = np.arange(100) >= 80
    for scores in (np.full(100, 3.0), -1.0 * truth):  # all the same; the wrong way round
        made = calibrated(scores, truth.astype(int), np.ones(100))
        assert made.slope > 0
        np.testing.assert_allclose(made.probabilities(scores)[:, 1], 0.2, atol=1e-6)
    parted = calibrated(1.0 * truth, truth.astype(int), np.ones(100))
    assert np.isfinite(parted.slope)
    np.testing.assert_allclose(parted.probabilities(1.0 * truth)[:, 1], truth, atol=0.01)
