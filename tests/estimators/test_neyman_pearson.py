"""NeymanPearsonClassifier: counted errors of two classes, class losses of several."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equipoise import NeymanPearsonClassifier, Status, certify
from equipoise.estimators import InfeasibleError, InfeasibleWarning


def errors(model, X, y):
    predicted = model.predict(X)
    return np.array([(predicted[y == label] != label).mean() for label in np.unique(y)])


@pytest.mark.parametrize("bound", [0.02, 0.1])
@pytest.mark.parametrize("target", [0, 1])
def test_the_counted_error_of_the_other_class_is_bounded(census, target, bound):
    model = NeymanPearsonClassifier(bound, minimise=target).fit(census.X, census.y)
    found = errors(model, census.X, census.y)
    assert found[1 - target] <= bound + 1e-12
    assert found[1 - target] > bound - 0.02  # and it is used
    assert found[target] < 0.95
    np.testing.assert_allclose(model.class_errors_, found, atol=1e-12)
    assert model.result_.success


@pytest.mark.parametrize("bound", [0.1, 0.05, 0.02, 0.01, 0.005])
def test_small_bounds_are_used_up_as_a_moved_threshold_would(bound):
    """Sigmoids say little of so few errors: the model must not predict one class of all rows."""
    X, y = make_classification(3000, 20, flip_y=0.3, weights=[0.9], class_sep=0.7, random_state=0)
    X = StandardScaler().fit_transform(X)
    found = NeymanPearsonClassifier(bound).fit(X, y).class_errors_
    assert 0.7 * bound <= found[0] <= bound
    scores = LogisticRegression().fit(X, y).decision_function(X)
    threshold = np.quantile(scores[y == 0], 1 - bound, method="higher")
    assert found[1] <= (scores[y == 1] <= threshold).mean() + 0.02


def rare(seed, share=0.02, n=5000):
    """Rows of which few are positive, and overlap with the others."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, 8)) + np.outer(y, rng.uniform(0.0, 1.2, 8))
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("seed", [1, 3, 5])
@pytest.mark.parametrize("bound", [0.0, 0.0005, 0.001, 0.02])
def test_no_fewer_positives_are_found_than_by_a_moved_threshold(seed, bound):
    """Where a bound is worth a few rows, each of them counts."""
    X, y = rare(seed)
    found = NeymanPearsonClassifier(bound).fit(X, y).class_errors_
    assert found[0] <= bound
    scores = LogisticRegression(tol=1e-8).fit(X, y).decision_function(X)
    others = np.sort(scores[y == 0])
    threshold = others[others.size - 1 - int(bound * others.size)]
    assert found[1] <= (scores[y == 1] <= threshold).mean()


@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("bound", [0.0, 0.001])
def test_so_it_is_with_weights_and_other_shares(share, bound):
    X, y = rare(11, share)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], y.size)
    found = NeymanPearsonClassifier(bound).fit(X, y, sample_weight=weight).class_errors_
    assert found[0] <= bound + 1e-12
    usual = LogisticRegression(tol=1e-8).fit(X, y, sample_weight=weight)
    scores = usual.decision_function(X)
    order = np.flatnonzero(y == 0)[np.argsort(-scores[y == 0])]
    wrong = np.cumsum(weight[order]) / weight[y == 0].sum()
    threshold = scores[order[np.searchsorted(wrong, bound + 1e-12)]]
    own = y == 1
    assert found[1] <= np.average(scores[own] <= threshold, weights=weight[own]) + 1e-12


@pytest.mark.parametrize("seed", [1, 3, 5])
@pytest.mark.parametrize("target", [0, 1])
def test_a_bound_of_zero_takes_no_longer_than_another(seed, target):
    X, y = rare(seed)
    steps = [NeymanPearsonClassifier(b, minimise=target).fit(X, y).n_iter_ for b in (0.0, 0.02)]
    assert steps[0] <= 2 * steps[1]


def test_where_no_threshold_helps_scores_still_rank():
    """The row with the largest score is of the other class: nothing is predicted, but new rows may be."""
    X, y = rare(3)
    first = LogisticRegression(tol=1e-8).fit(X, y)
    worst = np.flatnonzero(y == 0)[0]
    X[worst] = 3.0 * first.coef_[0]
    with pytest.warns(InfeasibleWarning, match="predicts 0 for every row"):
        model = NeymanPearsonClassifier(0.0).fit(X, y)
    np.testing.assert_array_equal(model.class_errors_, [0.0, 1.0])
    scores, usual = model.decision_function(X), LogisticRegression().fit(X, y).decision_function(X)
    assert np.corrcoef(scores, usual)[0, 1] > 0.99
    assert -1e-3 < scores[worst] / scores.std() < 0.0
    assert model.predict(4.0 * first.coef_)[0] == 1


def test_a_looser_bound_lowers_the_other_error(census):
    found = [
        NeymanPearsonClassifier(bound).fit(census.X, census.y).class_errors_[1]
        for bound in (0.01, 0.05, 0.2)
    ]
    assert found[0] > found[1] > found[2]


def test_default_target_and_dict_of_bounds(census):
    words = np.where(census.y == 1, "sick", "healthy").astype(object)
    default = NeymanPearsonClassifier(0.05).fit(census.X, words)
    assert default.class_errors_[0] <= 0.05 < default.class_errors_[1]
    named = NeymanPearsonClassifier({"healthy": 0.05}).fit(census.X, words)
    np.testing.assert_array_equal(default.coef_, named.coef_)
    other = NeymanPearsonClassifier({"sick": 0.05}, minimise="sick")
    with pytest.raises(ValueError, match="must hold a bound for class 'healthy'"):
        other.fit(census.X, words)


def test_weights_count(census):
    weight = np.where(census.groups == "female", 4.0, 1.0)
    model = NeymanPearsonClassifier(0.05).fit(census.X, census.y, sample_weight=weight)
    wrong, rows = model.predict(census.X) != census.y, census.y == 0
    assert np.average(wrong[rows], weights=weight[rows]) <= 0.05 + 1e-12
    assert model.class_errors_[0] == pytest.approx(np.average(wrong[rows], weights=weight[rows]))


def test_a_radius_bounds_the_weights_and_takes_data_as_they_are(census):
    Z = (census.X - census.X.mean(axis=0)) / census.X.std(axis=0)
    model = NeymanPearsonClassifier(0.5, radius=0.3).fit(Z, census.y)
    assert np.linalg.norm(model.coef_) <= 0.3 + 1e-12
    assert model.intercept_ == pytest.approx([0.0], abs=0)


def iris():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack((X / np.abs(X).max(axis=0), np.ones(len(y))))
    return X, y


def class_losses(W, X, y):
    """The class losses of Ma, Lin & Yang (2020), written naively."""
    losses = []
    for k in range(len(W)):
        rows = X[y == k]
        others = [expit(-(rows @ (W[k] - W[j]))) for j in range(len(W)) if j != k]
        losses.append(np.sum(others, axis=0).mean())
    return np.array(losses)


def test_several_classes_against_slsqp():
    X, y = iris()
    bounds, radius = np.array([np.inf, 0.7, 0.75]), 2.0
    model = NeymanPearsonClassifier({1: 0.7, 2: 0.75}, radius=radius, tol=1e-8).fit(X, y)
    assert model.result_.success
    found = class_losses(model.coef_, X, y)
    np.testing.assert_allclose(model.class_losses_, found, atol=1e-10)
    assert (found <= bounds + 1e-6).all()
    assert (np.linalg.norm(model.coef_, axis=1) <= radius + 1e-9).all()

    shape = model.coef_.shape
    rules = [
        {"type": "ineq", "fun": lambda w: (bounds - class_losses(w.reshape(shape), X, y))[1:]},
        {"type": "ineq", "fun": lambda w: radius**2 - (w.reshape(shape) ** 2).sum(axis=1)},
    ]
    twin = minimize(
        lambda w: class_losses(w.reshape(shape), X, y)[0],
        np.zeros(model.coef_.size),
        constraints=rules,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert twin.success
    assert found[0] == pytest.approx(twin.fun, abs=1e-4)


def test_any_class_may_be_minimised_and_bounds_bind():
    X, y = iris()
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    for target in (1, 2):
        label = np.unique(words)[target]
        model = NeymanPearsonClassifier(0.75, minimise=label, radius=2.0).fit(X, words)
        found = class_losses(model.coef_, X, y)
        assert (np.delete(found, target) <= 0.75 + 1e-6).all()
        assert found[target] < np.delete(found, target).max()
        assert model.certificate_.residual <= 1e-8


def test_several_classes_without_a_radius_are_standardised():
    X, y = load_iris(return_X_y=True)
    units = np.array([1e-5, 1.0, 1e4, 10.0])
    plain = NeymanPearsonClassifier(0.2).fit(X, y)
    scaled = NeymanPearsonClassifier(0.2).fit(X * units, y)
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X * units))
    assert (plain.class_losses_[1:] <= 0.2 + 1e-6).all()
    assert plain.score(X, y) > 0.9
    assert plain.predict_proba(X).shape == (150, 3)
    np.testing.assert_allclose(plain.predict_proba(X).sum(axis=1), 1.0)


def test_the_certificate_describes_the_point_returned():
    from equipoise import sets
    from equipoise.models import MultiClassLinearModel
    from equipoise.problems import LearningProblem
    from equipoise.terms import class_loss_terms

    X, y = iris()
    model = NeymanPearsonClassifier(0.75, radius=2.0).fit(X, y)
    problem = LearningProblem.of(
        MultiClassLinearModel(X, 3, intercept=False),
        class_loss_terms(y, [0.0, 0.75, 0.75]),
        domain=sets.Product([(sets.L2Ball(2.0), 5)] * 3),
    )
    again = certify(problem, model.coef_.ravel(), model.certificate_.multipliers)
    assert again.residual == pytest.approx(model.certificate_.residual, abs=1e-12)
    assert model.certificate_.names == ("loss of class 1", "loss of class 2")


def test_csr_clone_and_pickle():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.where(X.mean(axis=0) < X, X, 0.0)
    model = NeymanPearsonClassifier(0.02).fit(sparse.csr_array(X), y)
    assert errors(model, sparse.csr_array(X), y)[0] <= 0.02 + 1e-12
    again = pickle.loads(pickle.dumps(clone(model).fit(sparse.csr_array(X), y)))
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_impossible_bounds_warn_raise_or_pass():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 3, 300)
    with pytest.warns(InfeasibleWarning, match=r"class 1 asked <= 0.1, reached \d.*Loosen"):
        NeymanPearsonClassifier(0.1, radius=1.0, max_steps=100).fit(X, y)
    strict = NeymanPearsonClassifier(0.1, radius=1.0, on_infeasible="raise", max_steps=100)
    with pytest.raises(InfeasibleError, match=r"class 2 asked <= 0.1"):
        strict.fit(X, y)
    quiet = NeymanPearsonClassifier(0.1, radius=1.0, on_infeasible="ignore", max_steps=100)
    assert quiet.fit(X, y).class_losses_[1:].max() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": -0.1}, "'bounds' parameter .* must be a float in the range"),
        ({"bounds": 1.5}, r"`bounds` must lie in \[0, 1\] for 2 classes, got 1.5"),
        ({"bounds": {0: -0.2}}, r"`bounds` must lie in \[0, 1\]"),
        ({"bounds": {0: 0.1, 5: 0.1}}, r"`bounds` names 5; the classes are \[0, 1\]"),
        ({"bounds": {1: 0.1}}, "must hold a bound for class 0"),
        ({"bounds": {0: "low"}}, r"`bounds` must hold numbers, got 'low' for class 0"),
        ({"bounds": "low"}, "'bounds' parameter"),
        ({"minimise": 7}, r"`minimise` must be one of \[0, 1\], got 7"),
        ({"radius": 0.0}, "'radius' parameter"),
        ({"C": 0.0}, "'C' parameter"),
        ({"solver": "magic"}, "NeymanPearsonClassifier: `solver` must be one of 'auto'"),
        ({"on_infeasible": "shout"}, "'on_infeasible' parameter"),
    ],
)
def test_wrong_parameters(census, options, message):
    with pytest.raises(ValueError, match=message):
        NeymanPearsonClassifier(**options).fit(census.X, census.y)


def test_class_bounds_go_up_to_the_number_of_classes():
    X, y = iris()
    with pytest.raises(ValueError, match=r"`bounds` must lie in \[0, 2\] for 3 classes, got 2.5"):
        NeymanPearsonClassifier(2.5).fit(X, y)
    assert NeymanPearsonClassifier(2.0).fit(X, y).class_errors_[0] == 0.0


def test_a_bound_that_zero_weights_meet_is_not_called_infeasible():
    """Of 13 features one is near 1,000: in a ball, losses saturate at the first step."""
    X, y = load_wine(return_X_y=True)
    model = NeymanPearsonClassifier(1.2, radius=0.1, on_infeasible="ignore").fit(X, y)
    assert model.status_ is Status.STALLED
    assert "Feasible points were passed" in model.result_.message


def test_a_model_that_never_predicts_the_class_is_warned_of():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), np.repeat([0, 1], [280, 20])
    X[0], X[1] = 10.0, -10.0  # the most extreme rows are of the other class
    with pytest.warns(InfeasibleWarning, match="predicts 0 for every row"):
        model = NeymanPearsonClassifier(0.0).fit(X, y)
    np.testing.assert_array_equal(model.class_errors_, [0.0, 1.0])
