"""partial_fit: rows of a stream, one or many, in any order."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

import equipoise as eq
from equipoise import AUCClassifier, ConstrainedClassifier
from equipoise.datasets import make_census
from equipoise.metrics import auc_gap

DATA = make_census(2400, seed=1)
TRAIN, TEST = np.arange(0, 1600), np.arange(1600, 2400)
PARITY, RANKING = eq.demographic_parity(0.05), eq.auc_parity("inter", 0.05)


def stream(model, order, batch=40, X=DATA.X, y=DATA.y, groups=DATA.groups, **options):
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        part = None if groups is None else groups[rows]
        model.partial_fit(X[rows], y[rows], classes=[0, 1], sensitive_features=part, **options)
    return model


def in_order_of(*columns):
    """The training rows in random order, but sorted by these columns."""
    order = np.random.default_rng(0).permutation(TRAIN)
    for column in reversed(columns):
        order = order[np.argsort(column[order], kind="stable")]
    return order


ORDERS = {
    "random": in_order_of(),
    "group by group": in_order_of(DATA.groups),
    "class by class": in_order_of(DATA.y),
    "class by class, group by group": in_order_of(DATA.y, DATA.groups),
}


@pytest.fixture(scope="module")
def batch_fits():
    return [
        model.fit(DATA.X[TRAIN], DATA.y[TRAIN], DATA.groups[TRAIN])
        for model in (ConstrainedClassifier(PARITY), AUCClassifier(RANKING))
    ]


@pytest.mark.parametrize("batch", [1, 7])
def test_rows_without_weight_change_nothing_however_they_come(batch):
    order = ORDERS["random"][:200]
    weight = np.where(np.arange(DATA.n) % 3 == 0, 0.0, 1.0)
    models = [ConstrainedClassifier(PARITY), ConstrainedClassifier(PARITY)]
    first = DATA.X[:1], DATA.y[:1], [0, 1], DATA.groups[:1], [0.0]
    models[0].partial_fit(*first)
    with pytest.raises(NotFittedError):
        models[0].predict(DATA.X)
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        for model, which in zip(models, (rows, rows[weight[rows] > 0])):
            if which.size:
                part = DATA.X[which], DATA.y[which], [0, 1], DATA.groups[which], weight[which]
                model.partial_fit(*part)
    tables = [model.stream_.sampled(8192).table("test") for model in models]
    kept = [np.column_stack((table.X, table.positive, table.weights())) for table in tables]
    assert np.array_equal(*(np.unique(rows, axis=0) for rows in kept))
    assert len(kept[0]) == len(kept[1])


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_any_order_ends_near_the_fit_of_all_rows(batch_fits, gaps, order):
    X, y, groups = DATA.X[TEST], DATA.y[TEST], DATA.groups[TEST]
    model = stream(ConstrainedClassifier(PARITY, memory=800), order)
    gap = [gaps(y, m.predict(X), groups)["positive"] for m in (model, batch_fits[0])]
    assert gap[0] <= gap[1] + 0.04  # 800 rows: a standard error of 0.03
    assert model.score(X, y) >= batch_fits[0].score(X, y) - 0.01
    assert all(rule.holds for rule in model.stream_.rules)
    ranking = stream(AUCClassifier(RANKING, memory=800), order)
    scores = [m.decision_function(X) for m in (ranking, batch_fits[1])]
    assert roc_auc_score(y, scores[0]) >= roc_auc_score(y, scores[1]) - 0.01
    gap = [auc_gap(y, s, sensitive_features=groups) for s in scores]
    assert gap[0] <= gap[1] + 0.04
    assert all(rule.holds for rule in ranking.stream_.rules)


@pytest.mark.parametrize("kind", [ConstrainedClassifier, AUCClassifier])
@pytest.mark.parametrize("make", [np.asarray, np.float32, sparse.csr_array])
def test_rows_that_are_all_remembered_give_the_model_of_a_fit(kind, make):
    rule = PARITY if kind is ConstrainedClassifier else RANKING
    X, y, groups = make(DATA.X[:600]), DATA.y[:600], DATA.groups[:600]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 600)
    options = {"scoring": None} if kind is ConstrainedClassifier else {}  # streams have no search
    fitted = kind(rule, C=2.0, **options).fit(X, y, groups, weight)
    model = kind(rule, C=2.0).partial_fit(X, y, [0, 1], groups, weight)
    scores = [m.decision_function(X) for m in (model, fitted)]
    np.testing.assert_allclose(*scores, atol=0.02 if make is np.float32 else 2e-4)
    np.testing.assert_allclose(model.predict_proba(X), fitted.predict_proba(X), atol=5e-3)
    assert model.dtype_ == fitted.dtype_
    counted = [rule.counted for rule in model.stream_.rules]
    assert counted == pytest.approx([line.true for line in fitted.report_.constraints], abs=5e-3)


@pytest.mark.parametrize("kind", [ConstrainedClassifier, AUCClassifier])
def test_one_row_at_a_time_is_a_stream_like_any_other(kind):
    rule = PARITY if kind is ConstrainedClassifier else RANKING
    order = ORDERS["group by group"][::8]
    single = stream(kind(rule, memory=120), order, batch=1)
    many = stream(kind(rule, memory=120), order, batch=len(order))
    assert single.stream_.rows == many.stream_.rows == len(order)
    np.testing.assert_array_equal(single.stream_.cells.rows.sum(), len(order))
    assert single.predict(DATA.X[TEST]).shape == TEST.shape
    assert single.stream_.known >= 0.9 * len(order)
    # drawn by the rows' numbers: up to those that still wait, the same rows are remembered
    both = np.intersect1d(single.stream_.memory.priority, many.stream_.memory.priority)
    assert both.size >= 100


def test_a_model_is_there_after_every_row():
    model = AUCClassifier(RANKING)
    for i in ORDERS["class by class, group by group"][::40]:
        model.partial_fit(DATA.X[[i]], DATA.y[[i]], [0, 1], DATA.groups[[i]])
        assert np.isfinite(model.predict_proba(DATA.X[:5])).all()
    constant = ConstrainedClassifier().partial_fit(DATA.X[:1], [1], [0, 1])
    assert (constant.predict(DATA.X) == 1).all()
    assert constant.stream_.waiting[0][1] == "all rows so far are of the class 1."
    np.testing.assert_allclose(constant.predict_proba(DATA.X[:2])[:, 1], 2 / 3)
    ranking = AUCClassifier().partial_fit(DATA.X[:1], [1], [0, 1])
    np.testing.assert_allclose(ranking.predict_proba(DATA.X[:2])[:, 1], 2 / 3)
    assert ConstrainedClassifier(fit_intercept=False).partial_fit(
        DATA.X[:1], [1], [0, 1]
    ).intercept_ == [0.0]


def test_a_group_first_seen_late_is_judged_as_soon_as_it_has_rows(gaps):
    groups, order = DATA.groups, ORDERS["group by group"]
    first = groups[order[0]]
    split = np.count_nonzero(groups[order] == first)
    model = stream(ConstrainedClassifier(PARITY, memory=600), order[:split])
    assert model.stream_.rules == ()
    assert "needs at least two groups" in model.stream_.waiting[0][1]
    stream(model, order[split : split + 5], batch=1)
    assert "5 rows; a rule needs at least 10" in model.stream_.waiting[0][1]
    stream(model, order[split + 5 : split + 60], batch=5)
    assert model.stream_.waiting == ()
    assert [rule.name for rule in model.stream_.rules] == [
        "demographic parity: female - male",
        "demographic parity: male - female",
    ]
    assert model.stream_.rules[0].error > 0.04  # few rows
    stream(model, order[split + 60 :])
    assert model.stream_.rules[0].error < 0.04


def test_rules_of_a_third_group_wait_alone():
    race = DATA.attributes["race"].astype(object)
    rows = np.flatnonzero(np.isin(race, ["white", "black"]))[:400]
    late = np.flatnonzero(race == "asian")[:3]
    model = ConstrainedClassifier([eq.equalized_odds(0.2), eq.recall(0.2, group="asian")])
    model.partial_fit(DATA.X[rows], DATA.y[rows], [0, 1], race[rows])
    assert {rule.name.split(": ")[1] for rule in model.stream_.rules} == {
        "black - white",
        "white - black",
    }
    assert [name for name, _ in model.stream_.waiting] == ["recall"]  # no such group so far
    model.partial_fit(DATA.X[late], DATA.y[late], sensitive_features=race[late])
    waiting = dict(model.stream_.waiting)
    assert "equalized odds, true positive: asian - white" in waiting
    assert len(model.stream_.rules) == 4


def test_the_sample_is_fair_and_stands_for_all_rows():
    y, groups = DATA.y, DATA.groups
    weight = np.random.default_rng(0).exponential(size=DATA.n)
    means = []
    for seed in range(40):
        model = ConstrainedClassifier(memory=300, random_state=seed, max_steps=1)
        with pytest.MonkeyPatch.context() as patched:  # no fits: only the rows are of interest
            patched.setattr("equipoise.estimators._stream.learn._fitted", lambda e, *_: unfitted(e))
            order = np.random.default_rng(seed).permutation(TRAIN)
            for rows in np.array_split(order[np.argsort(y[order], kind="stable")], 9):
                model.partial_fit(DATA.X[rows], y[rows], [0, 1], groups[rows], weight[rows])
        table = model.stream_.sampled(300).table("test")
        assert table.n_rows <= 300
        kept = model.stream_.cells.kept
        assert kept.max() - kept.min() <= 60  # every class of every group has its share
        for label in (0, 1):
            total = weight[TRAIN][y[TRAIN] == label].sum()
            assert table.class_totals()[label] == pytest.approx(total)
        means.append(np.average(table.X, axis=0, weights=table.weights()))
    truth = np.average(DATA.X[TRAIN], axis=0, weights=weight[TRAIN])
    error = np.std(means, axis=0) / np.sqrt(len(means))
    assert np.abs((np.mean(means, axis=0) - truth) / np.maximum(error, 1e-12)).max() < 4.0


def unfitted(estimator):
    from equipoise._check import MissingRowsError

    raise MissingRowsError("test", "nothing is fitted.")


def test_counts_and_ages():
    groups = np.where(np.arange(6) < 4, "a", "b")
    model = ConstrainedClassifier().partial_fit(
        DATA.X[:4], [0, 1, 1, 1], [0, 1], pd.Series(groups[:4], name="team")
    )
    model.partial_fit(DATA.X[4:6], [0, 0], sensitive_features=pd.Series(groups[4:], name="team"))
    cells = model.stream_.cells
    assert dict(cells.place) == {(0, ("a",)): 0, (1, ("a",)): 1, (0, ("b",)): 2}
    assert cells.rows.tolist() == cells.weight.tolist() == [1, 3, 2]
    assert cells.last.tolist() == [1, 4, 6]
    text = str(model.stream_)
    assert text.startswith(
        "6 rows seen, 6 of them remembered; the model is that of the first 6 rows"
    )
    assert "class 1, a            3           3                    2" in text


def test_what_is_printed_of_rules():
    model = stream(ConstrainedClassifier([PARITY, eq.bounded_group_loss(9.0)]), TRAIN[:200], 200)
    text = str(model.stream_)
    assert "demographic parity: female - male  <=   0.05" in text
    assert "unknown    yes" in text  # a loss has no standard error
    rule = model.stream_.rules[0]
    n = [np.count_nonzero(DATA.groups[:200] == name) for name in ("female", "male")]
    p = [model.predict(DATA.X[:200])[DATA.groups[:200] == g].mean() for g in ("female", "male")]
    assert rule.counted == pytest.approx(p[0] - p[1])
    assert rule.error == pytest.approx(np.sqrt(sum(q * (1 - q) / k for q, k in zip(p, n))))


@pytest.mark.parametrize("kind", [ConstrainedClassifier, AUCClassifier])
def test_a_stream_goes_on_after_pickling(kind):
    rule = eq.equalized_odds(0.1) if kind is ConstrainedClassifier else RANKING
    straight, broken = kind(rule, memory=200), kind(rule, memory=200)
    for rows in np.array_split(ORDERS["group by group"][:500], 25):
        for model in (straight, broken):
            model.partial_fit(DATA.X[rows], DATA.y[rows], [0, 1], DATA.groups[rows])
        broken = pickle.loads(pickle.dumps(broken))
    np.testing.assert_array_equal(straight.coef_, broken.coef_)
    np.testing.assert_array_equal(straight.intercept_, broken.intercept_)
    assert straight.stream_.rules == broken.stream_.rules


@pytest.mark.parametrize("kind", [ConstrainedClassifier, AUCClassifier])
def test_what_describes_another_model_is_dropped(kind):
    X, y = DATA.X[:300], DATA.y[:300]
    model = kind().fit(X, y)
    before = model.decision_function(X)
    with pytest.warns(UserWarning, match=f"{kind.__name__}: the model of `fit` is given up"):
        model.partial_fit(X[:100], y[:100], classes=[0, 1])
    for name in ("report_", "result_", "certificate_", "status_", "trace_"):
        assert not hasattr(model, name)
    assert model.n_iter_ == model.stream_.refreshes == 1
    assert np.abs(model.decision_function(X) - before).max() > 0
    model.fit(X, y)
    assert not hasattr(model, "stream_")
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_class_weights_names_and_kinds(census, frame):
    X = frame.drop(columns="race")
    models = [
        ConstrainedClassifier(eq.demographic_parity(0.1), class_weight=weight).partial_fit(
            X, census.y, [0, 1], "sex", np.ones(census.n)
        )
        for weight in ({1: 3.0}, None)
    ]
    assert models[0].predict(X.drop(columns="sex")).mean() > models[1].predict(X).mean() + 0.05
    dense = ConstrainedClassifier().partial_fit(census.X[:100], census.y[:100], [0, 1])
    mixed = ConstrainedClassifier().partial_fit(census.X[:50], census.y[:50], [0, 1])
    mixed.partial_fit(sparse.csr_array(census.X[50:100]), census.y[50:100])
    np.testing.assert_allclose(mixed.coef_, dense.coef_, rtol=1e-3)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        dense.partial_fit(census.X, census.y, sample_weight=-np.ones(census.n))


def test_a_loss_budget_is_relative_to_the_sample(census):
    model = ConstrainedClassifier(eq.loss_budget(0.05), objective=eq.rate("positive"))
    model.partial_fit(census.X, census.y, [0, 1])
    assert model.stream_.rules[0].holds


def test_objectives_wait_for_their_groups(census):
    model = ConstrainedClassifier(objective=eq.unfairness("demographic_parity"))
    one = np.flatnonzero(census.groups == "male")[:50]
    model.partial_fit(census.X[one], census.y[one], [0, 1], census.groups[one])
    assert not model.coef_.any()
    assert "needs at least two groups" in model.stream_.waiting[0][1]
    model.partial_fit(census.X, census.y, [0, 1], census.groups)
    assert model.coef_.any()


def test_wrong_input(census):
    X, y = census.X[:50], census.y[:50]
    with pytest.raises(ValueError, match="`classes` must be passed on the first call"):
        ConstrainedClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"`classes` must be two, got \[0, 1, 2\]"):
        ConstrainedClassifier().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"`y` must hold the `classes` \[0, 1\], got 2"):
        ConstrainedClassifier().partial_fit(X, y + 1, classes=[0, 1])
    model = AUCClassifier().partial_fit(X, y, classes=[0, 1])
    before = model.stream_
    with pytest.raises(ValueError, match=r"those of the first call, \[0, 1\], got \[1, 2\]"):
        model.partial_fit(X, y, classes=[1, 2])
    with pytest.raises(ValueError, match="must hold the `classes`"):
        model.partial_fit(X, y.astype(str))
    with pytest.raises(ValueError, match="X has 3 features, but AUCClassifier is expecting"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"AUCClassifier: .*Found array with 0 sample"):
        model.partial_fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"must have the columns of the first call, \[\], got"):
        model.partial_fit(X, y, sensitive_features=pd.Series(census.groups[:50], name="sex"))
    with pytest.raises(ValueError, match=r"AUCClassifier: .*as many rows"):
        model.partial_fit(X, y, sensitive_features=np.array(["a", "b"] * 3))
    assert model.stream_ is before
    grouped = ConstrainedClassifier(PARITY).partial_fit(X, y, [0, 1], {"sex": census.groups[:50]})
    with pytest.raises(ValueError, match=r"first call, \['sex'\], got \['group'\]"):
        grouped.partial_fit(X, y, sensitive_features=census.groups[:50])
    with pytest.raises(ValueError, match="groups are needed"):
        grouped.partial_fit(X, y)


def test_what_a_stream_cannot_know_is_refused(census):
    X, y = census.X[:1], census.y[:1]
    with pytest.raises(ValueError, match="for partial_fit give a dict"):
        ConstrainedClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="groups are needed"):
        AUCClassifier(RANKING).partial_fit(X, y, classes=[0, 1])
    for settings in ({"confidence": 0.9}, {"margin": "auto"}):
        with pytest.raises(ValueError, match="must be None in partial_fit"):
            ConstrainedClassifier(**settings).partial_fit(X, y, classes=[0, 1])
    for rule in (eq.churn(0.1, [0, 1]), eq.custom(lambda s, *_: (s.mean(), 1 / s.size), "mean")):
        with pytest.raises(ValueError, match="must not be functions of all rows"):
            ConstrainedClassifier(rule).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="memory"):
        ConstrainedClassifier(memory=3).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"must be rules such as"):
        ConstrainedClassifier("parity").partial_fit(X, y, classes=[0, 1])
