"""ConstrainedClassifier as scikit-learn users meet it: data in any form, tools around it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from packaging.version import Version
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import ConstrainedClassifier, Status, demographic_parity, equalized_odds, solvers
from equipoise.datasets import make_census
from equipoise.models._sketch_plan import MIN_SKETCH_ROWS


def fitted(census, constraints=None, **options):
    constraints = demographic_parity(0.03) if constraints is None else constraints
    model = ConstrainedClassifier(constraints, **options)
    return model.fit(census.X, census.y, sensitive_features=census.groups)


def test_clone_and_pickle_predict_the_same(census):
    model = fitted(census)
    again = clone(model).fit(census.X, census.y, sensitive_features=census.groups)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(census.X), model.predict(census.X))
    assert str(loaded.report_) == str(model.report_)
    assert loaded.certificate_.residual == model.certificate_.residual


def test_fit_changes_no_parameter_and_no_argument(census):
    constraints = [demographic_parity(0.03)]
    model = ConstrainedClassifier(constraints, C=2.0)
    before = dict(model.get_params())
    X, y, groups = census.X.copy(), census.y.copy(), census.groups.copy()
    model.fit(X, y, sensitive_features=groups)
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(X, census.X)
    np.testing.assert_array_equal(y, census.y)
    np.testing.assert_array_equal(groups, census.groups)
    assert model.set_params(C=3.0).C == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'bound'"):
        model.set_params(bound=0.1)


def test_fitting_twice_forgets_the_first_fit(census):
    once = fitted(census)
    twice = fitted(census, equalized_odds(0.05))
    twice.set_params(constraints=once.constraints)
    twice.fit(census.X, census.y, sensitive_features=census.groups)
    np.testing.assert_array_equal(once.coef_, twice.coef_)


def test_warm_start_starts_at_the_previous_solution(census):
    cold = fitted(census, true_metric=False)
    warm = fitted(census, true_metric=False, warm_start=True)
    warm.fit(census.X, census.y, sensitive_features=census.groups)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.result_.fun == pytest.approx(cold.result_.fun, abs=1e-6)
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-3, atol=1e-6)


def test_random_state_may_be_a_generator_and_only_matters_to_solvers_that_draw(census):
    states = [None, 7, np.random.RandomState(0)]
    models = [fitted(census, random_state=state) for state in states]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_a_solver_by_name_and_as_an_object(census):
    by_name = fitted(census, solver="augmented_newton", true_metric=False, tol=1e-8)
    as_object = fitted(
        census, solver=solvers.SOLVERS["augmented_newton"](), true_metric=False, tol=1e-8
    )
    np.testing.assert_array_equal(by_name.coef_, as_object.coef_)
    auto = fitted(census, true_metric=False, tol=1e-8)
    np.testing.assert_allclose(auto.coef_, by_name.coef_, rtol=1e-3, atol=1e-7)


def scales(X):
    """What features are divided by: the size of indicators and the like, else the deviation."""
    present = [column[column != 0] for column in X.T]
    return [
        np.sqrt(np.mean(some**2)) if some.size < len(X) / 2 else column.std()
        for column, some in zip(X.T, present)
    ]


def test_without_constraints_it_is_logistic_regression(census):
    from sklearn.linear_model import LogisticRegression

    Z = (census.X - census.X.mean(axis=0)) / scales(census.X)
    assert 0 < np.isclose(scales(census.X), 1.0).sum() < Z.shape[1]  # some indicators, not all
    model = ConstrainedClassifier(C=0.5, tol=1e-9).fit(census.X, census.y)
    twin = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(Z, census.y)
    np.testing.assert_allclose(
        model.decision_function(census.X), twin.decision_function(Z), atol=1e-5
    )
    np.testing.assert_allclose(model.predict_proba(census.X), twin.predict_proba(Z), atol=1e-5)
    assert model.score(census.X, census.y) == twin.score(Z, census.y)


def test_grid_search_over_constraints_and_C(census):
    grid = {
        "constraints": [demographic_parity(0.02), demographic_parity(0.2), ()],
        "C": [0.01, 1.0],
    }
    search = GridSearchCV(ConstrainedClassifier(), grid, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        search.estimator.set_fit_request(sensitive_features=True)
        search.fit(census.X, census.y, sensitive_features=census.groups)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 6
    assert np.isfinite(scores).all()
    assert scores.max() > scores.min()  # the constraint costs accuracy
    assert search.best_estimator_.report_.accuracy > 0.05 + max(
        census.y.mean(), 1 - census.y.mean()
    )


@pytest.mark.skipif(
    Version(sklearn.__version__) < Version("1.7"),
    reason="Pipeline.score of scikit-learn 1.6 does not route weights",
)
def test_metadata_is_routed_through_cross_validation_and_pipelines(census):
    weight = np.where(census.y == 1, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = ConstrainedClassifier(demographic_parity(0.05))
        model.set_fit_request(sensitive_features=True, sample_weight=True)
        model.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline[0].set_fit_request(sample_weight=False)
        params = {"sensitive_features": census.groups, "sample_weight": weight}
        routed = cross_val_score(pipeline, census.X, census.y, cv=3, params=params)
        alone = cross_val_score(model, census.X, census.y, cv=3, params=params)
        model.set_fit_request(sensitive_features=True, sample_weight=False)
        unweighted = cross_val_score(model, census.X, census.y, cv=3, params=params)
    np.testing.assert_allclose(routed, alone, atol=0.02)  # scaling twice changes little
    assert np.abs(unweighted - alone).max() > 0.01  # the weights arrived
    with pytest.raises(ValueError, match=r"groups are needed; pass `sensitive_features`\."):
        cross_val_score(model, census.X, census.y, cv=2, error_score="raise")


def test_pipeline_with_a_scaler_by_keyword(census):
    model = ConstrainedClassifier(demographic_parity(0.03), C=1e3)  # so scaling hardly matters
    pipeline = make_pipeline(StandardScaler(), clone(model))
    pipeline.fit(census.X, census.y, constrainedclassifier__sensitive_features=census.groups)
    model.fit(census.X, census.y, sensitive_features=census.groups)
    same = (pipeline.predict(census.X) == model.predict(census.X)).mean()
    assert same > 0.995


@pytest.mark.parametrize("form", ["name", "names", "series", "dict", "frame", "list", "column"])
def test_sensitive_columns_in_every_form(census, frame, form):
    X = frame.drop(columns=["sex", "race"])
    given = {
        "name": "sex",
        "names": ["sex"],
        "series": frame["sex"],
        "dict": {"sex": frame["sex"].tolist()},
        "frame": frame[["sex"]],
        "list": frame["sex"].tolist(),
        "column": np.asarray(frame[["sex"]]),
    }[form]
    named = form in ("name", "names")
    model = ConstrainedClassifier(demographic_parity(0.03))
    model.fit(frame.drop(columns="race") if named else X, census.y, sensitive_features=given)
    np.testing.assert_allclose(model.coef_, fitted(census).coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == list(X.columns)
    predicted = model.predict(X)  # needs no sensitive column
    if named:  # and does not mind one that was there in fit
        np.testing.assert_array_equal(model.predict(frame.drop(columns="race")), predicted)
    assert [line.group for line in model.report_.groups] == ["female", "male"]


def test_short_lists_of_groups_are_not_taken_for_names():
    X = np.arange(8.0).reshape(-1, 1)
    y = [0, 1, 0, 1, 0, 1, 0, 1]
    groups = list("aabbaabb")
    model = ConstrainedClassifier(demographic_parity(0.5)).fit(X, y, sensitive_features=groups)
    assert {line.group for line in model.report_.groups} == {"a", "b"}


def test_string_labels(census):
    words = np.where(census.y == 1, "rich", "poor")
    model = ConstrainedClassifier(demographic_parity(0.03))
    model.fit(census.X, words, sensitive_features=census.groups)
    assert list(model.classes_) == ["poor", "rich"]
    expected = np.where(fitted(census).predict(census.X) == 1, "rich", "poor")
    np.testing.assert_array_equal(model.predict(census.X), expected)


def test_a_weight_is_a_repetition(census):
    rng = np.random.default_rng(0)
    times = rng.integers(0, 3, len(census.y))
    repeated = np.repeat(np.arange(len(census.y)), times)
    options = {"true_metric": False, "tol": 1e-9}
    weighted = ConstrainedClassifier(equalized_odds(0.05), **options)
    weighted.fit(census.X, census.y, sensitive_features=census.groups, sample_weight=times)
    twin = ConstrainedClassifier(equalized_odds(0.05), **options)
    twin.fit(census.X[repeated], census.y[repeated], sensitive_features=census.groups[repeated])
    np.testing.assert_allclose(
        weighted.decision_function(census.X), twin.decision_function(census.X), atol=1e-4
    )
    assert weighted.report_.accuracy == pytest.approx(twin.report_.accuracy, abs=2e-3)


def test_class_weight_moves_predictions_but_not_the_rule(census, gaps):
    balanced = fitted(census, class_weight="balanced")
    assert balanced.predict(census.X).mean() > 1.3 * fitted(census).predict(census.X).mean()
    assert gaps(census.y, balanced.predict(census.X), census.groups)["positive"] <= 0.03 + 1e-12


def test_csr_is_dense_and_never_densified(monkeypatch):
    census = make_census(5 * MIN_SKETCH_ROWS, seed=0)
    X = np.where(np.median(census.X, axis=0) < census.X, census.X, 0.0)
    A = sparse.csr_matrix(X)

    def checked(toarray):
        def densify(self, *args, **kwargs):
            assert self.shape[0] <= MIN_SKETCH_ROWS / 2, "only pieces of a sketch may be made dense"
            return toarray(self, *args, **kwargs)

        return densify

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, checked(getattr(kind, name)))
    options = {"constraints": demographic_parity(0.03), "tol": 1e-8, "true_metric": False}
    thin = ConstrainedClassifier(**options).fit(A, census.y, sensitive_features=census.groups)
    monkeypatch.undo()
    dense = ConstrainedClassifier(**options).fit(X, census.y, sensitive_features=census.groups)
    np.testing.assert_allclose(thin.decision_function(A), dense.decision_function(X), atol=1e-5)


def test_float32_keeps_the_promise_in_float32(census, gaps):
    X = census.X.astype(np.float32)
    for data in (X, sparse.csr_array(X)):
        model = ConstrainedClassifier(demographic_parity(0.02), max_steps=100)
        model.fit(data, census.y, sensitive_features=census.groups)
        predicted = model.predict(data)
        assert gaps(census.y, predicted, census.groups)["positive"] <= 0.02 + 1e-12
        assert (predicted == census.y).mean() > 0.75


def test_units_of_the_features_do_not_matter(census, gaps):
    units = 10.0 ** np.linspace(-6, 6, census.d)
    shifted = census.X * units + 100 * units
    model = ConstrainedClassifier(demographic_parity(0.03))
    model.fit(shifted, census.y, sensitive_features=census.groups)
    same = fitted(census).predict(census.X) == model.predict(shifted)
    assert same.mean() > 0.99
    assert gaps(census.y, model.predict(shifted), census.groups)["positive"] <= 0.03 + 1e-12


def test_constant_columns_get_no_weight(census):
    X = np.column_stack((census.X, np.zeros(census.n), np.full(census.n, 1e7)))
    model = ConstrainedClassifier(demographic_parity(0.03))
    model.fit(X, census.y, sensitive_features=census.groups)
    np.testing.assert_allclose(model.coef_[0, -2:] * [1, 1e7], 0.0, atol=1e-7)
    assert (model.predict(X) == fitted(census).predict(census.X)).mean() > 0.995


def test_without_intercept(census):
    model = fitted(census, fit_intercept=False)
    assert all(line.holds for line in model.report_.constraints)
    plain = ConstrainedClassifier(fit_intercept=False).fit(census.X, census.y)
    centred = census.X - census.X.mean(axis=0)
    assert abs(plain.decision_function(centred).mean() - plain.intercept_[0]) < 1e-6


def test_predict_says_which_columns_are_missing(frame, census):
    model = ConstrainedClassifier(demographic_parity(0.03))
    model.fit(frame.drop(columns="race"), census.y, sensitive_features="sex")
    with pytest.raises(ValueError, match="age"):
        model.predict(frame.drop(columns=["race", "sex", "age"]))


def test_attributes_describe_the_model_returned(census):
    from equipoise import certify

    model = fitted(census, equalized_odds(0.03))
    x = model.certificate_.x
    assert x is model.result_.x
    again = certify_problem(census, model)
    certificate = certify(again, x, model.certificate_.multipliers)
    assert certificate.objective == pytest.approx(model.certificate_.objective, rel=1e-12)
    scores = again.rows.model.scores(x)
    np.testing.assert_allclose(scores, model.decision_function(census.X), atol=1e-9)
    assert model.status_ is model.result_.status
    assert model.trace_ is model.result_.trace
    assert pd.notna(model.n_iter_)


def certify_problem(census, model):
    """The training problem, built by hand from the layers below."""
    from equipoise.constraints import bind
    from equipoise.models import LinearModel
    from equipoise.problems import LearningProblem

    binding = bind(model.constraints, census.y, census.groups)
    linear = LinearModel(census.X, True, scales(census.X), census.X.mean(axis=0))
    return LearningProblem.of(linear, binding.terms, l2=1.0 / (model.C * census.n))


def test_the_certificate_of_a_smooth_fit_can_be_recomputed(census):
    from equipoise import certify

    model = fitted(census, equalized_odds(0.03), true_metric=False)
    certificate = certify(
        certify_problem(census, model), model.result_.x, model.result_.multipliers
    )
    assert certificate.residual < 2e-6
    np.testing.assert_allclose(certificate.values, model.certificate_.values, atol=1e-9)


def test_steps_that_are_used_up_are_warned_of(census):
    with pytest.warns(ConvergenceWarning, match=r"`max_steps` \(1\) was used up"):
        model = ConstrainedClassifier(max_steps=1).fit(census.X, census.y)
    assert model.status_ is Status.MAX_STEPS
