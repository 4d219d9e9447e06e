"""scikit-learn's contract, to the letter."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import ConstrainedClassifier, NeymanPearsonClassifier


@parametrize_with_checks([ConstrainedClassifier(), NeymanPearsonClassifier(on_infeasible="ignore")])
def test_estimator_contract(estimator, check):
    check(estimator)
