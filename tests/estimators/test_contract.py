"""scikit-learn's contract, to the letter."""

import sklearn
from packaging.version import Version
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import AUCClassifier, ConstrainedClassifier, NeymanPearsonClassifier


def not_of_our_making(estimator):
    """Checks that scikit-learn itself has wrong, with the reason; from 1.7 on there are none."""
    if Version(sklearn.__version__) >= Version("1.7") or not isinstance(
        estimator, ConstrainedClassifier
    ):
        return {}
    reason = "scikit-learn 1.6 gives two fits different labels where there are only two classes"
    names = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{name}_data": reason for name in names}


@parametrize_with_checks(
    [AUCClassifier(), ConstrainedClassifier(), NeymanPearsonClassifier(on_infeasible="ignore")],
    expected_failed_checks=not_of_our_making,
)
def test_estimator_contract(estimator, check):
    check(estimator)
