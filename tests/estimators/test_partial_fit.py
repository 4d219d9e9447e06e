"""ConstrainedClassifier.partial_fit: a stream of mini-batches."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import equipoise as eq
from equipoise import ConstrainedClassifier
from equipoise.estimators import Stream


def stream(model, X, y, groups, *, passes=10, batch=150, **options):
    rng = np.random.default_rng(0)
    for _ in range(passes):
        order = rng.permutation(len(y))
        for start in range(0, len(y), batch):
            rows = order[start : start + batch]
            part = None if groups is None else groups[rows]
            model.partial_fit(X[rows], y[rows], classes=[0, 1], sensitive_features=part, **options)
    return model


def soft_gap(model, X, groups):
    p = model.predict_proba(X)[:, 1]
    return abs(p[groups == "female"].mean() - p[groups == "male"].mean())


def log_loss(model, X, y):
    return np.logaddexp(0, -np.where(y == 1, 1, -1) * model.decision_function(X)).mean()


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_the_soft_gap_ends_near_the_bound(census, kind):
    make = {"dense": np.asarray, "sparse": sparse.csr_array, "float32": np.float32}[kind]
    X, rule = make(census.X), eq.demographic_parity(0.05)
    model = stream(ConstrainedClassifier(rule, true_metric=False), X, census.y, census.groups)
    plain = stream(ConstrainedClassifier(), X, census.y, None)
    best = ConstrainedClassifier(rule, true_metric=False)
    best.fit(census.X, census.y, sensitive_features=census.groups)
    assert soft_gap(plain, X, census.groups) > 0.1
    assert soft_gap(model, X, census.groups) == pytest.approx(0.05, abs=0.015)
    assert log_loss(model, X, census.y) < log_loss(best, census.X, census.y) + 0.01
    assert model.stream_.multipliers["demographic parity: male - female"] > 0.05
    assert model.stream_.multipliers["demographic parity: female - male"] < 0.02


def test_without_constraints_it_approaches_the_fit(census):
    model = stream(ConstrainedClassifier(), census.X, census.y, None, passes=20)
    best = ConstrainedClassifier().fit(census.X, census.y)
    assert log_loss(model, census.X, census.y) < log_loss(best, census.X, census.y) + 0.003


def test_counted_rates_steer_it_by_default(census, gaps):
    model = stream(
        ConstrainedClassifier(eq.demographic_parity(0.05)), census.X, census.y, census.groups
    )
    assert gaps(census.y, model.predict(census.X), census.groups)["positive"] <= 0.05 + 0.015
    assert model.score(census.X, census.y) > 0.76
    assert set(model.stream_.shifts) == set(model.stream_.multipliers)


def test_running_scales_are_those_of_all_rows(census):
    state = Stream.start(np.zeros(census.d), 0.0)
    weight = np.random.default_rng(0).uniform(0.5, 2, census.n)
    for rows in np.array_split(np.arange(census.n), 7):
        state = state.seen(census.X[rows], weight[rows])
    mean = np.average(census.X, axis=0, weights=weight)
    np.testing.assert_allclose(state.mean, mean, rtol=1e-10)
    variance = np.average((census.X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(state.scale, np.sqrt(variance), rtol=1e-10)


def test_units_do_not_matter(census):
    units = 10.0 ** np.linspace(-5, 5, census.d)
    one = stream(ConstrainedClassifier(), census.X, census.y, None, passes=2)
    two = stream(ConstrainedClassifier(), census.X * units, census.y, None, passes=2)
    np.testing.assert_allclose(
        one.decision_function(census.X), two.decision_function(census.X * units), atol=1e-6
    )


def test_what_describes_another_model_is_dropped(census):
    model = ConstrainedClassifier(eq.demographic_parity(0.1))
    model.fit(census.X, census.y, sensitive_features=census.groups)
    before = model.coef_
    model.partial_fit(census.X, census.y, sensitive_features=census.groups)
    assert not hasattr(model, "report_")
    assert not hasattr(model, "certificate_")
    assert model.n_iter_ == model.stream_.steps == 1
    assert np.abs(model.coef_ - before).max() > 0
    model.fit(census.X, census.y, sensitive_features=census.groups)
    assert not hasattr(model, "stream_")
    np.testing.assert_array_equal(model.coef_, before)


def test_a_stream_goes_on_after_pickling(census):
    rule = eq.equalized_odds(0.1)
    parts = np.array_split(np.arange(census.n), 6)
    straight, broken = ConstrainedClassifier(rule), ConstrainedClassifier(rule)
    for rows in parts:
        for model in (straight, broken):
            model.partial_fit(
                census.X[rows],
                census.y[rows],
                classes=[0, 1],
                sensitive_features=census.groups[rows],
            )
        broken = pickle.loads(pickle.dumps(broken))
    np.testing.assert_array_equal(straight.coef_, broken.coef_)


def test_groups_may_be_absent_or_tiny_in_a_batch(census):
    race = census.attributes["race"].copy()
    model = ConstrainedClassifier(eq.equalized_odds(0.1))
    order = np.argsort(race != "white", kind="stable")  # the first batches hold one group only
    rows = np.r_[order[:100], order[-300:], np.flatnonzero(race == "asian")[:1]]
    model.partial_fit(census.X[rows], census.y[rows], [0, 1], race[rows])
    compared = {name.split(": ")[1] for name in model.stream_.multipliers}
    assert "white - black" in compared
    rows = order[:50]
    with pytest.raises(ValueError, match=r"needs at least two groups.*mini-batch.*larger"):
        model.partial_fit(census.X[rows], census.y[rows], [0, 1], race[rows])


def test_a_batch_may_hold_one_class(census):
    rows = np.flatnonzero(census.y == 0)[:50]
    model = ConstrainedClassifier().partial_fit(census.X[rows], census.y[rows], classes=[0, 1])
    assert model.decision_function(census.X[rows]).mean() < -0.2


def test_weights_and_names(census, frame):
    X = frame.drop(columns="race")
    model = ConstrainedClassifier(eq.demographic_parity(0.1), class_weight={1: 3.0})
    model.partial_fit(X, census.y, [0, 1], "sex", np.ones(census.n))
    assert model.predict(X.drop(columns="sex")).shape == (census.n,)
    heavier = ConstrainedClassifier(eq.demographic_parity(0.1), class_weight={1: 3.0})
    heavier.partial_fit(X, census.y, [0, 1], "sex", np.where(census.y == 1, 9.0, 1.0))
    assert heavier.intercept_[0] != model.intercept_[0]
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        model.partial_fit(X, census.y, sensitive_features="sex", sample_weight=np.zeros(census.n))


def test_wrong_input(census):
    X, y = census.X, census.y
    with pytest.raises(ValueError, match="`classes` must be passed on the first call"):
        ConstrainedClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"`classes` must be two, got \[0, 1, 2\]"):
        ConstrainedClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"`y` must hold the `classes` \[0, 1\], got 2"):
        ConstrainedClassifier().partial_fit(X, y + 1, classes=[0, 1])
    model = ConstrainedClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"those of the first call, \[0, 1\], got \[1, 2\]"):
        model.partial_fit(X, y, classes=[1, 2])
    with pytest.raises(ValueError, match="for partial_fit give a dict"):
        ConstrainedClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="loss budget: the best loss is needed"):
        ConstrainedClassifier(eq.loss_budget(0.1)).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="groups are needed"):
        ConstrainedClassifier(eq.demographic_parity(0.1)).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"ConstrainedClassifier: .*as many rows"):
        model.partial_fit(X, y, sensitive_features=np.array(["a", "b"] * 3))
