"""The papers' data: promises recounted by fairlearn, and the multi-class problem of Ma, Lin & Yang (2020)."""

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference

from equipoise import (
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    demographic_parity,
    equalized_odds,
)

RULES = {
    "demographic parity": (demographic_parity, demographic_parity_difference),
    "equalised odds": (equalized_odds, equalized_odds_difference),
}
ACCURACY = {  # at least, for (rule, bound): a point below what was measured in November 2026
    ("adult", "demographic parity"): (0.823, 0.829),
    ("adult", "equalised odds"): (0.829, 0.837),
    ("bank", "demographic parity"): (0.895, 0.897),
    ("bank", "equalised odds"): (0.895, 0.900),
    ("compas", "demographic parity"): (0.658, 0.659),
    ("compas", "equalised odds"): (0.643, 0.660),
}


@pytest.mark.parametrize("bound", [0.02, 0.05])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["adult", "bank", "compas"])
def test_the_true_gap_is_within_the_bound(real, name, rule, bound):
    data = real(name)
    data = data.part("train") if name == "adult" else data
    make, difference = RULES[rule]
    model = ConstrainedClassifier(make(bound))
    model.fit(data.X, data.y, sensitive_features=data.groups)
    predicted = model.predict(data.X)
    assert difference(data.y, predicted, sensitive_features=data.groups) <= bound + 1e-12
    least = ACCURACY[name, rule][0 if bound == 0.02 else 1]
    assert (predicted == data.y).mean() >= least
    assert model.result_.success
    assert model.certificate_.residual <= 1e-6


@pytest.mark.parametrize(("name", "bound"), [("pendigits", 4.5), ("segment", 3.0), ("usps", 4.5)])
def test_multi_class_bounds_are_met(real, name, bound):
    data = real(name)
    data = data.part("train") if "train" in data.split else data
    X = data.X / abs(data.X).max()  # pendigits as given, 0..100, saturates: its best loss is 0
    model = NeymanPearsonClassifier(bound, radius=0.1, tol=1e-6).fit(X, data.y)
    assert (model.class_losses_[1:] <= bound + 1e-6).all()
    assert model.result_.success
    assert model.certificate_.residual <= 1e-6
    K = len(model.classes_)
    assert model.class_losses_[0] < (K - 1) / 2  # better than the start
    assert (np.linalg.norm(model.coef_, axis=1) <= 0.1 + 1e-9).all()
