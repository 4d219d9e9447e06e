"""scikit-learn's contract, to the letter."""

import sklearn
from packaging.version import Version
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from equipoise import AUCClassifier, ConstrainedClassifier, NeymanPearsonClassifier
from equipoise.estimators import _class_losses, _fitted_model
from equipoise.estimators._calibration import Calibration

BOUNDED = NeymanPearsonClassifier(on_infeasible="ignore")


def not_for_us(estimator):
    """Checks that do not hold, with the reason; the first is scikit-learn's own of its tuned thresholds."""
    if isinstance(estimator, NeymanPearsonClassifier):
        return {"check_classifiers_train": "Threshold at probability 0.5 does not hold"}
    if Version(sklearn.__version__) >= Version("1.7"):
        return {}
    reason = "scikit-learn 1.6 gives two fits different labels where there are only two classes"
    names = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{name}_data": reason for name in names}


@parametrize_with_checks(
    [AUCClassifier(), ConstrainedClassifier(), BOUNDED], expected_failed_checks=not_for_us
)
def test_estimator_contract(estimator, check):
    check(estimator)


def test_nothing_but_the_threshold_is_in_the_way(monkeypatch):
    def plain(scores, *_):
        return Calibration(1.0, (0.0,) * (1 if scores.ndim == 1 else scores.shape[1] - 1))

    for module in (_class_losses, _fitted_model):
        monkeypatch.setattr(module, "calibrated", plain)
    check_classifiers_train("NeymanPearsonClassifier", BOUNDED)
