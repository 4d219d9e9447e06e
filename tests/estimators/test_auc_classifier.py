"""AUCClassifier: true AUCs within their bounds, ranks, probabilities."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit

from equipoise import AUCClassifier, auc, auc_parity, demographic_parity, rate
from equipoise.constraints import AUC_PARITIES, Each
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleWarning, frontier
from equipoise.terms import QuadraticPair

DATA = make_census(3000, seed=0)
GROUPS = np.asarray(DATA.groups)
POSITIVE = DATA.y == np.unique(DATA.y)[1]


def measured(scores, above, below):
    """Return the AUC of two subsets by scikit-learn."""
    labels = np.concatenate((np.ones(above.sum()), np.zeros(below.sum())))
    return roc_auc_score(labels, np.concatenate((scores[above], scores[below])))


def gap(kind, scores):
    """Return the largest difference that a parity bounds, counted by scikit-learn."""
    a, b = (name == GROUPS for name in np.unique(GROUPS))
    P, N = POSITIVE, ~POSITIVE
    pair = {
        "group": lambda: measured(scores, a, b) - 0.5,
        "inter": lambda: measured(scores, a & P, b & N) - measured(scores, b & P, a & N),
        "intra": lambda: measured(scores, a & P, a & N) - measured(scores, b & P, b & N),
    }
    if kind in pair:
        return abs(pair[kind]())
    single = {
        "positive": lambda g: measured(scores, g & P, P) - 0.5,
        "negative": lambda g: measured(scores, g & N, N) - 0.5,
        "background": lambda g: measured(scores, P, g & N) - measured(scores, g & P, N),
    }
    return max(abs(single[kind](g)) for g in (a, b))


@pytest.mark.parametrize("kind", AUC_PARITIES)
def test_the_true_gap_is_within_its_bound(kind):
    plain = AUCClassifier().fit(DATA.X, DATA.y)
    free = gap(kind, plain.decision_function(DATA.X))
    bound = round(0.5 * free, 3)
    model = AUCClassifier(auc_parity(kind, bound)).fit(
        DATA.X, DATA.y, sensitive_features=DATA.groups
    )
    scores = model.decision_function(DATA.X)
    assert gap(kind, scores) <= bound + 1e-12
    assert model.status_.name == "CONVERGED"
    best = measured(plain.decision_function(DATA.X), POSITIVE, ~POSITIVE)
    own = measured(scores, POSITIVE, ~POSITIVE)
    assert own >= best - 0.05
    name, shown, compared = model.report_.ranking
    assert name == str(auc())
    assert shown == pytest.approx(own, abs=1e-9)
    assert compared == pytest.approx(best, abs=2e-3)
    assert all(line.holds for line in model.report_.constraints)


def test_without_constraints_it_ranks_as_well_as_logistic_regression():
    scaled = (DATA.X - DATA.X.mean(0)) / DATA.X.std(0)
    other = LogisticRegression(max_iter=2000).fit(scaled, DATA.y).decision_function(scaled)
    model = AUCClassifier().fit(DATA.X, DATA.y)
    own = measured(model.decision_function(DATA.X), POSITIVE, ~POSITIVE)
    assert own >= measured(other, POSITIVE, ~POSITIVE) - 1e-3


@pytest.mark.parametrize(
    "loss", ["logistic", "squared_hinge", "quadratic", "sigmoid", QuadraticPair(1.0, 0.5)]
)
def test_losses(loss):
    model = AUCClassifier(auc_parity("group", 0.05), loss=loss)
    model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
    assert gap("group", model.decision_function(DATA.X)) <= 0.05 + 1e-12
    assert model.report_.ranking[1] > 0.75


@pytest.mark.parametrize("loss", ["logistic", "quadratic", "sigmoid"])
def test_four_groups_have_more_active_bounds_than_are_treated_one_by_one(loss):
    four = (np.arange(len(GROUPS)) % 4).astype(str)
    model = AUCClassifier([auc_parity("positive", 0.002), auc() >= 0.6], loss=loss)
    model.fit(DATA.X, DATA.y, sensitive_features=four)
    scores = model.decision_function(DATA.X)
    gaps = [measured(scores, (four == g) & POSITIVE, POSITIVE) - 0.5 for g in np.unique(four)]
    assert np.abs(gaps).max() <= 0.002 + 1e-12
    assert measured(scores, POSITIVE, ~POSITIVE) >= 0.6


def test_scores_that_are_all_alike_keep_a_parity_that_no_ranking_was_found_for():
    four, rows = (np.arange(400) % 4).astype(str), slice(0, 400)
    with pytest.warns(InfeasibleWarning, match="gives every row the same score"):
        model = AUCClassifier(auc_parity("inter", 0.0)).fit(
            DATA.X[rows], DATA.y[rows], sensitive_features=four
        )
    assert np.ptp(model.decision_function(DATA.X)) == 0
    assert all(line.holds and line.true == 0 for line in model.report_.constraints)


def test_a_lower_bound_on_every_group():
    rule = auc(Each(), Each()) >= 0.8
    model = AUCClassifier(rule, loss="quadratic").fit(
        DATA.X, DATA.y, sensitive_features=DATA.groups
    )
    scores = model.decision_function(DATA.X)
    for name in np.unique(GROUPS):
        own = name == GROUPS
        assert measured(scores, own & POSITIVE, own & ~POSITIVE) >= 0.8


def test_probabilities_are_calibrated_and_agree_with_predictions():
    model = AUCClassifier(auc_parity("inter", 0.05)).fit(
        DATA.X, DATA.y, sensitive_features=DATA.groups
    )
    p = model.predict_proba(DATA.X)[:, 1]
    assert p.mean() == pytest.approx(POSITIVE.mean(), abs=1e-3)
    for low in (0.0, 0.2, 0.4):
        own = (p >= low) & (p < low + 0.2)
        assert p[own].mean() == pytest.approx(POSITIVE[own].mean(), abs=0.05)
    predicted = model.predict(DATA.X) == model.classes_[1]
    np.testing.assert_array_equal(predicted, p > 0.5)


def test_order_of_rows_weights_and_sparse_features():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, len(DATA.y)).astype(float)
    rows = np.repeat(np.arange(len(DATA.y)), weight.astype(int))
    rng.shuffle(rows)
    model = AUCClassifier(auc_parity("inter", 0.05), tol=1e-8)
    one = model.fit(DATA.X, DATA.y, DATA.groups, weight).coef_
    two = model.fit(DATA.X[rows], DATA.y[rows], GROUPS[rows]).coef_
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)
    model.fit(sparse.csr_array(DATA.X), DATA.y, DATA.groups)
    assert model.status_.name == "CONVERGED"


@pytest.mark.parametrize(
    ("rules", "status", "said"),
    [
        (auc() >= 0.999, "NOT_FOUND", "AUC"),
        ([auc() <= 0.6, auc() >= 0.7], "INFEASIBLE", "contradict each other"),
        (auc() >= 1.2, "INFEASIBLE", "or the range of an AUC"),
        (auc() <= -0.2, "INFEASIBLE", "or the range of an AUC"),
        ([auc() >= 0.9, auc_parity("group", 0.0)], "NOT_FOUND", "drop one of them"),
    ],
)
def test_bounds_that_cannot_be_met_are_said(rules, status, said):
    model = AUCClassifier(rules)
    with pytest.warns(InfeasibleWarning, match=said):
        model.fit(DATA.X[:1000], DATA.y[:1000], GROUPS[:1000])
    assert model.status_.name == status
    assert not all(line.holds for line in model.report_.constraints)
    assert model.report_.problems_solved <= 3


def test_two_bounds_on_one_auc_that_leave_room_are_met():
    model = AUCClassifier([auc() >= 0.7, auc() <= 0.95]).fit(DATA.X, DATA.y)
    assert model.status_.name == "CONVERGED"
    assert 0.7 <= model.report_.ranking[1] <= 0.95


@pytest.mark.parametrize("rows", [500, 3000])
@pytest.mark.parametrize(
    ("rules", "least", "most"),
    [
        ([auc() >= 0.7, auc() <= 0.75], 0.745, 0.75),
        ([auc() >= 0.699, auc() <= 0.7], 0.699, 0.7),
        (auc() <= 0.75, 0.745, 0.75),
        (auc() <= 0.6, 0.595, 0.6),
        (auc() <= 0.4, 0.395, 0.4),  # where scores of one value are too good
    ],
)
def test_caps_are_used_up_and_not_met_by_small_scores_alone(rules, least, most, rows):
    model = AUCClassifier(rules).fit(DATA.X[:rows], DATA.y[:rows])
    scores, positive = model.decision_function(DATA.X[:rows]), POSITIVE[:rows]
    assert least <= measured(scores, positive, ~positive) <= most
    assert model.status_.name == "CONVERGED"
    assert model.report_.problems_solved <= 10
    assert "limits the objective itself" in model.result_.message


def test_no_model_under_a_cap_on_the_objective_is_better():
    """Such a model is not made exact, which takes hundreds of steps and moves it away from the cap."""
    model = AUCClassifier(2.0 * auc() <= 1.5).fit(DATA.X, DATA.y)
    assert 0.75 - 1e-3 <= model.report_.ranking[1] <= 0.75
    assert "no model that keeps them is better by more" in model.result_.message
    assert model.n_iter_ < 150


def test_caps_of_single_groups_do_not_limit_the_objective():
    model = AUCClassifier(auc("female", "female") <= 0.7).fit(DATA.X, DATA.y, GROUPS)
    assert all(line.holds for line in model.report_.constraints)
    assert "limits the objective" not in model.result_.message


def test_a_cap_beside_a_bound_on_a_gap():
    model = AUCClassifier([auc() <= 0.7, auc_parity("inter", 0.03)]).fit(DATA.X, DATA.y, GROUPS)
    scores = model.decision_function(DATA.X)
    assert 0.695 <= measured(scores, POSITIVE, ~POSITIVE) <= 0.7
    assert gap("inter", scores) <= 0.03
    assert model.status_.name == "CONVERGED"


@pytest.mark.parametrize(
    ("rule", "rows"), [(auc(), GROUPS != ""), (auc("female", "female"), GROUPS == "female")]
)
def test_what_is_in_reach_is_reached(rule, rows):
    """Nearly the AUC that a model of these rows alone has is met as a bound; .02 more is out of reach."""
    best = AUCClassifier(C=100.0).fit(DATA.X[rows], DATA.y[rows])
    reached = best.report_.ranking[1] - 0.001
    model = AUCClassifier(rule >= reached).fit(DATA.X, DATA.y, GROUPS)
    assert all(line.holds for line in model.report_.constraints)
    assert model.status_.name == "CONVERGED"
    with pytest.warns(InfeasibleWarning, match="which training for nothing else did not reach"):
        model = AUCClassifier(rule >= reached + 0.02).fit(DATA.X, DATA.y, GROUPS)
    assert model.status_.name == "NOT_FOUND"
    assert model.report_.problems_solved == 1
    assert model.report_.constraints[0].true == pytest.approx(reached, abs=0.005)


@pytest.mark.parametrize("rule", [auc() >= 0.99, auc() <= 0.75])
def test_a_fit_that_is_stopped_at_any_step_leaves_a_model(rule):
    """Also before there is a model under bounds, and where models with shrunk scores are set aside."""
    X, y, calls = DATA.X[:500], DATA.y[:500], []

    def stop(iteration):
        calls.append(iteration.stage)
        if len(calls) == last:
            raise StopIteration

    last = 0
    model = AUCClassifier(rule, callback=stop, on_infeasible="ignore").fit(X, y)
    whole = len(calls)
    for share in (0.1, 0.5, 0.7, 0.9):
        calls.clear()
        last = max(1, int(share * whole))
        model.fit(X, y)
        assert model.status_.name == "STOPPED"
        assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("kind", ["inter", "intra", "group"])
def test_the_auc_itself_is_maximised_and_the_bound_used_up(kind):
    plain = AUCClassifier().fit(DATA.X, DATA.y)
    free = gap(kind, plain.decision_function(DATA.X))
    rule, own = auc_parity(kind, 0.5 * free), {}
    for loss in ("sigmoid", "logistic"):
        model = AUCClassifier(rule, loss=loss).fit(DATA.X, DATA.y, sensitive_features=DATA.groups)
        own[loss] = model.report_.ranking[1]
        true = max(abs(line.true) for line in model.report_.constraints)
        assert 0.5 * free - 2e-3 <= true <= 0.5 * free
    assert own["sigmoid"] >= own["logistic"] - 1e-4
    assert plain.report_.ranking[1] >= own["sigmoid"] - 1e-4


def test_a_frontier_shows_auc_on_training_and_held_out_rows():
    model = AUCClassifier(auc_parity("group", 0.1))
    curve = frontier(
        model, DATA.X, DATA.y, [0.02, 0.05, 0.1], sensitive_features=DATA.groups, splits=2
    )
    assert curve.measure == "auc"
    assert all(point.holds and point.value <= point.bound for point in curve.points)
    train, test = next(iter(ShuffleSplit(2, test_size=0.25, random_state=0).split(DATA.X)))
    for point in curve.points[:3]:
        scores = DATA.X @ point.coef
        for rows, shown in ((train, point.auc), (test, point.test_auc)):
            assert shown == pytest.approx(roc_auc_score(POSITIVE[rows], scores[rows]), abs=1e-9)
        assert np.isnan(point.accuracy)
        assert np.isnan(point.test_accuracy)
    table = curve.summary()
    assert (np.diff(table["auc"]) > 0).all()
    assert "AUC" in str(curve)
    assert "accuracy" not in str(curve) + str(curve.points[0])
    assert {"auc", "test_auc"} <= set(frame := curve.to_frame().columns)
    assert "accuracy" not in frame
    assert curve.plot().get_ylabel() == "AUC"


def test_a_frontier_of_parity_moves_both_sides_of_the_bound():
    """The bound and minus the bound; the same models as those fitted one by one, but for rounding."""
    model = AUCClassifier(auc_parity("inter", 0.1))
    curve = frontier(model, DATA.X, DATA.y, [0.1, 0.03], sensitive_features=DATA.groups)
    for point in curve.points:
        assert gap("inter", DATA.X @ point.coef) <= point.bound + 1e-12
        alone = AUCClassifier(auc_parity("inter", point.bound)).fit(DATA.X, DATA.y, DATA.groups)
        assert point.auc == pytest.approx(alone.report_.ranking[1], abs=1e-3)


def test_warm_start_takes_fewer_steps():
    model = AUCClassifier(auc_parity("inter", 0.05), warm_start=True)
    first = model.fit(DATA.X, DATA.y, DATA.groups).n_iter_
    assert model.fit(DATA.X, DATA.y, DATA.groups).n_iter_ < first


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter of AUCClassifier must be"),
        ({"constraints": 0.05}, "`constraints` must be rules"),
        ({"constraints": auc("A", "B") >= 0.5}, "'A'"),
        (
            {"constraints": demographic_parity(0.1)},
            "must be rules on AUCs, but 'demographic parity",
        ),
        ({"constraints": [auc() >= 0.6, rate("loss") <= 1.0]}, "is on predictions or losses"),
    ],
)
def test_wrong_input(settings, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**settings).fit(DATA.X, DATA.y, DATA.groups)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (POSITIVE, "one class"),
        (POSITIVE | (GROUPS != "female"), "group 'female' has no rows with the label"),
        (GROUPS == "female", "needs at least two groups to compare"),
    ],
)
def test_rows_without_a_class_or_a_group(rows, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifier(auc_parity("intra", 0.05)).fit(DATA.X[rows], DATA.y[rows], GROUPS[rows])


def test_scores_of_one_value_are_a_constant_model():
    """Parity 0 is met by equal scores, or by something better; never silently by nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifier(auc_parity("group", 0.0), max_seconds=2)
        model.fit(DATA.X, DATA.y, DATA.groups)
    if all(line.holds for line in model.report_.constraints):
        assert gap("group", model.decision_function(DATA.X)) <= 1e-12
