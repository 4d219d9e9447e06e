"""Every constraint function in a fit; the promise is checked by counting, and prices by refitting."""

import math

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference
from scipy.optimize import minimize

import equipoise as eq
from equipoise import ConstrainedClassifier
from equipoise.constraints import CONSTRAINTS, Each
from equipoise.estimators import InfeasibleError, InfeasibleWarning
from equipoise.estimators._infeasible import BrokenBound
from equipoise.metrics import subset_auc
from equipoise.rows import MemoryTable, column_scales

EXACT = 1e-12


def counts(census, model):
    """Rates of a model's predictions, by plain counting."""
    predicted, y = model.predict(census.X) == 1, census.y == 1
    found = {
        "accuracy": (predicted == y).mean(),
        "coverage": predicted.mean(),
        "recall": predicted[y].mean(),
        "fpr": predicted[~y].mean(),
        "precision": y[predicted].mean(),
        "f_score": 2 * (predicted & y).sum() / (predicted.sum() + y.sum()),
    }
    for group in ("female", "male"):
        rows = census.groups == group
        found[group] = predicted[rows].mean()
        found["tpr", group] = predicted[rows & y].mean()
        found["fpr", group] = predicted[rows & ~y].mean()
        found["accuracy", group] = (predicted == y)[rows].mean()
    scores, women = model.decision_function(census.X), census.groups == "female"
    found["women above men"] = subset_auc(scores, women, ~women)
    found["share of women"] = (census.groups == "female")[predicted].mean()
    return found


def loss(census, model, rows=slice(None)):
    margin = np.where(census.y == 1, 1, -1) * model.decision_function(census.X)
    return np.logaddexp(0, -margin)[rows].mean()


def gap(found, kind):
    return abs(found[kind, "female"] - found[kind, "male"])


def fit(census, constraints, **options):
    model = ConstrainedClassifier(constraints, **options)
    return model.fit(census.X, census.y, sensitive_features=census.groups)


def soft_cap(scores, y, groups):
    """The mean score is at most -2, a rule that no rate expresses."""
    return scores.mean() + 2.0, np.full(scores.shape, 1.0 / scores.size)


# name: (constraint, the promise as a function of counted rates; 0 or less where it is kept)
PROMISES = {
    "demographic_parity": (
        lambda d: eq.demographic_parity(0.02),
        lambda c: abs(c["female"] - c["male"]) - 0.02,
    ),
    "equal_opportunity": (lambda d: eq.equal_opportunity(0.02), lambda c: gap(c, "tpr") - 0.02),
    "f_score": (lambda d: eq.f_score(at_least=0.66), lambda c: 0.66 - c["f_score"]),
    "equalized_odds": (
        lambda d: eq.equalized_odds(0.02),
        lambda c: max(gap(c, "tpr"), gap(c, "fpr")) - 0.02,
    ),
    "false_positive_parity": (
        lambda d: eq.false_positive_parity(0.01),
        lambda c: gap(c, "fpr") - 0.01,
    ),
    "false_negative_parity": (
        lambda d: eq.false_negative_parity(0.03),
        lambda c: gap(c, "tpr") - 0.03,
    ),
    "auc_parity": (
        lambda d: eq.auc_parity("group", 0.05),
        lambda c: abs(c["women above men"] - 0.5) - 0.05,
    ),
    "coverage": (lambda d: eq.coverage(at_least=0.4), lambda c: 0.4 - c["coverage"]),
    "recall": (lambda d: eq.recall(0.9), lambda c: 0.9 - c["recall"]),
    "precision": (lambda d: eq.precision(0.85), lambda c: 0.85 - c["precision"]),
    "false_positive_rate": (lambda d: eq.false_positive_rate(0.02), lambda c: c["fpr"] - 0.02),
    "false_negative_rate": (lambda d: eq.false_negative_rate(0.2), lambda c: 0.8 - c["recall"]),
    "error_rate": (
        lambda d: eq.error_rate(0.12, group="female"),
        lambda c: 0.88 - c["accuracy", "female"],
    ),
    "minority_coverage": (
        lambda d: eq.minority_coverage(0.45, "female"),
        lambda c: 0.45 - c["share of women"],
    ),
    "parity_pair": (
        lambda d: eq.parity_pair(1.02),
        lambda c: abs(c["female"] - c["male"]) - 0.02,
    ),
}
BELOW = {
    "churn",
    "bounded_group_loss",
    "group_loss",
    "loss_budget",
    "custom",
}  # in tests of their own


def test_every_constraint_function_is_tested():
    missing = set(CONSTRAINTS) - set(PROMISES) - BELOW
    assert not missing, f"add an example to `PROMISES` here for {missing}"


@pytest.mark.parametrize("name", PROMISES)
def test_a_counted_promise_is_kept(census, name):
    constraint, promise = PROMISES[name]
    model = fit(census, constraint(census))
    assert promise(counts(census, model)) <= EXACT
    plain = ConstrainedClassifier().fit(census.X, census.y)
    assert promise(counts(census, plain)) > 0.005  # else it is kept for nothing
    assert model.result_.success
    assert all(line.holds for line in model.report_.constraints)
    assert model.report_.accuracy > 0.6


def test_churn_counts_the_changes(census):
    old = ConstrainedClassifier(eq.demographic_parity(0.05))
    old.fit(census.X, census.y, sensitive_features=census.groups)
    reference = old.predict(census.X)
    free = fit(census, eq.recall(0.85))
    assert (free.predict(census.X) != reference).mean() > 0.06
    model = fit(census, [eq.churn(0.06, reference), eq.demographic_parity(0.08)])
    assert (model.predict(census.X) != reference).mean() <= 0.06 + EXACT


def test_bounded_group_loss_and_group_loss(census):
    plain = ConstrainedClassifier().fit(census.X, census.y)
    male = census.groups == "male"
    assert loss(census, plain, male) > 0.488
    bounded = fit(census, eq.bounded_group_loss(0.485))
    assert loss(census, bounded, male) <= 0.485 + 1e-6
    assert loss(census, bounded, ~male) <= 0.485 + 1e-6
    excess = fit(census, eq.group_loss(0.05))
    for rows in (male, ~male):
        assert loss(census, excess, rows) - loss(census, excess) <= 0.05 + 1e-6
    assert loss(census, plain, male) - loss(census, plain) > 0.06
    assert all(line.holds for line in excess.report_.constraints)


def test_loss_budget_with_unfairness_as_objective(census):
    plain = ConstrainedClassifier().fit(census.X, census.y)
    model = fit(census, eq.loss_budget(0.05), objective=eq.unfairness())
    assert loss(census, model) <= 1.05 * loss(census, plain) + 1e-6
    assert loss(census, model) > 1.04 * loss(census, plain)  # it uses its budget

    def soft_gap(m):
        p = m.predict_proba(census.X)[:, 1]
        return abs(p[census.groups == "male"].mean() - p[census.groups == "female"].mean())

    assert soft_gap(model) < 0.5 * soft_gap(plain)
    assert model.report_.constraints[0].bound == pytest.approx(1.05 * loss(census, plain), abs=1e-9)


def test_custom_alone_and_beside_a_counted_rule(census):
    alone = fit(census, eq.custom(soft_cap))
    assert alone.decision_function(census.X).mean() <= -2.0 + 1e-6
    plain = ConstrainedClassifier().fit(census.X, census.y)
    assert plain.decision_function(census.X).mean() > -1.9
    both = fit(census, [eq.demographic_parity(0.02), eq.custom(soft_cap)])
    found = counts(census, both)
    assert abs(found["female"] - found["male"]) <= 0.02 + EXACT
    assert both.decision_function(census.X).mean() <= -2.0 + 1e-6


def test_the_algebra_of_rates(census):
    rule = eq.rate("positive", group="female") >= 0.8 * eq.rate("positive", group="male")
    found = counts(census, fit(census, rule))
    assert found["female"] >= 0.8 * found["male"] - EXACT
    assert found["male"] > 0.1
    each = fit(census, eq.rate("error", group=Each()) <= 0.22)
    found = counts(census, each)
    assert min(found["accuracy", "female"], found["accuracy", "male"]) >= 0.78 - EXACT


def test_several_rules_at_once(census):
    rules = [eq.equalized_odds(0.05), eq.recall(0.8), eq.coverage(at_most=0.4)]
    found = counts(census, fit(census, rules))
    assert max(gap(found, "tpr"), gap(found, "fpr")) <= 0.05 + EXACT
    assert found["recall"] >= 0.8 - EXACT
    assert found["coverage"] <= 0.4 + EXACT


@pytest.mark.parametrize("bound", [0.02, 0.1])
def test_fairlearn_counts_the_same(census, bound):
    race = census.attributes["race"]
    model = ConstrainedClassifier(eq.demographic_parity(bound))
    predicted = model.fit(census.X, census.y, sensitive_features=race).predict(census.X)
    found = demographic_parity_difference(census.y, predicted, sensitive_features=race)
    assert found <= bound + EXACT
    line = max(model.report_.constraints, key=lambda line: line.true)
    assert line.true == pytest.approx(found, abs=1e-12)
    model = ConstrainedClassifier(eq.equalized_odds(bound))
    predicted = model.fit(census.X, census.y, sensitive_features=census.groups).predict(census.X)
    odds = equalized_odds_difference(census.y, predicted, sensitive_features=census.groups)
    assert odds <= bound + EXACT
    plain = ConstrainedClassifier().fit(census.X, census.y).predict(census.X)
    assert demographic_parity_difference(census.y, plain, sensitive_features=race) > 0.1


def test_several_columns_and_their_intersections(census, gaps):
    sex, race = census.attributes["sex"], census.attributes["race"]
    columns = {"sex": sex, "race": race}
    model = ConstrainedClassifier(eq.demographic_parity(0.05))
    model.fit(census.X, census.y, sensitive_features=columns)
    predicted = model.predict(census.X)
    assert gaps(census.y, predicted, sex)["positive"] <= 0.05 + EXACT
    assert gaps(census.y, predicted, race)["positive"] <= 0.05 + EXACT
    assert len(model.report_.groups) == 6
    cells = np.char.add(sex, race)
    crossed = ConstrainedClassifier(eq.demographic_parity(0.1, intersections=True))
    crossed.fit(census.X, census.y, sensitive_features=columns)
    assert gaps(census.y, crossed.predict(census.X), cells)["positive"] <= 0.1 + EXACT


def test_small_intersections_are_named(census):
    columns = {"sex": census.attributes["sex"], "race": census.attributes["race"]}
    rule = eq.demographic_parity(0.1, intersections=True)
    strict = ConstrainedClassifier(rule, min_cell=50)
    with pytest.raises(
        ValueError, match=r"fewer than 50 rows: sex=female & race=other .*small_cells"
    ):
        strict.fit(census.X, census.y, sensitive_features=columns)
    loose = ConstrainedClassifier(rule, min_cell=50, small_cells="skip")
    loose.fit(census.X, census.y, sensitive_features=columns)
    assert "sex=female & race=other" in loose.report_.skipped
    assert "too small to constrain: sex=female & race=other" in str(loose.report_)
    assert not any("race=other" in line.name for line in loose.report_.constraints)


def test_smooth_rates_only_on_request(census):
    model = fit(census, eq.demographic_parity(0.02), true_metric=False)
    p = model.predict_proba(census.X)[:, 1]
    soft = abs(p[census.groups == "female"].mean() - p[census.groups == "male"].mean())
    assert soft == pytest.approx(0.02, abs=1e-5)
    assert model.report_.problems_solved == 1
    line = max(model.report_.constraints, key=lambda line: line.surrogate)
    assert line.surrogate == pytest.approx(soft, abs=1e-9)


def test_a_multiplier_is_the_slope_of_the_objective(census):
    options = {"true_metric": False, "tol": 1e-9}
    tight = fit(census, eq.demographic_parity(0.05), **options)
    loose = fit(census, eq.demographic_parity(0.06), **options)
    bought = (tight.result_.fun - loose.result_.fun) / 0.01
    high = sum(line.multiplier for line in tight.report_.constraints)
    low = sum(line.multiplier for line in loose.report_.constraints)
    assert low < bought < high  # the objective is convex in the bound here
    line = max(tight.report_.constraints, key=lambda line: line.multiplier)
    assert line.price == f"0.01 looser buys about {0.01 * line.multiplier:.2g} of objective"
    others = [other for other in tight.report_.constraints if other is not line]
    assert [other.price for other in others] == ["free"]


def test_the_multiplier_of_at_least_and_of_unnormalised_rules(census):
    options = {"true_metric": False, "tol": 1e-9}
    tight, loose = (fit(census, eq.recall(r), **options) for r in (0.8, 0.79))
    bought = (tight.result_.fun - loose.result_.fun) / 0.01
    prices = [m.report_.constraints[0].multiplier for m in (loose, tight)]
    assert prices[0] < bought < prices[1]
    rules = [eq.minority_coverage(0.45, "female", normalise=n) for n in (True, False)]
    one, two = (fit(census, rule, **options).report_.constraints[0].multiplier for rule in rules)
    assert one == pytest.approx(two, rel=1e-3)


def test_the_report_says_what_numpy_says(census):
    model = fit(census, eq.equalized_odds(0.03))
    report, found = model.report_, counts(census, model)
    plain = counts(census, ConstrainedClassifier().fit(census.X, census.y))
    assert report.accuracy == pytest.approx(found["accuracy"])
    assert report.plain_accuracy == pytest.approx(plain["accuracy"])
    assert report.residual == model.certificate_.residual
    by_name = {line.name: line for line in report.constraints}
    line = by_name["equalized odds, true positive: female - male"]
    assert line.true == pytest.approx(found["tpr", "female"] - found["tpr", "male"])
    assert line.unconstrained == pytest.approx(plain["tpr", "female"] - plain["tpr", "male"])
    assert (line.sense, line.bound, line.holds) == ("<=", 0.03, True)
    for group in report.groups:
        rows = census.groups == group.group
        assert group.rows == rows.sum()
        assert group.base_rate == pytest.approx(census.y[rows].mean())
        assert group.positive_rate == pytest.approx(found[group.group])
        assert group.true_positive_rate == pytest.approx(found["tpr", group.group])
        assert group.false_positive_rate == pytest.approx(found["fpr", group.group])
        assert group.plain_positive_rate == pytest.approx(plain[group.group])
        # Wilson: the two p with (rate - p)^2 = z^2 p (1 - p) / n
        n, z = group.rows, 1.959964
        for p in group.interval:
            assert (group.positive_rate - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / n, rel=1e-9)
        assert group.interval[0] < group.positive_rate < group.interval[1]


def test_the_report_in_print_and_as_a_frame(census):
    report = fit(census, eq.demographic_parity(0.03)).report_
    text = str(report)
    assert "demographic parity: male - female" in text
    assert f"accuracy {report.accuracy:.4f} (unconstrained {report.plain_accuracy:.4f})" in text
    assert all(len(line) < 140 for line in text.splitlines()[1:])
    frame = report.to_frame()
    assert list(frame["true"]) == [line.true for line in report.constraints]
    assert list(report.to_frame("groups")["group"]) == ["female", "male"]
    with pytest.raises(ValueError, match=r"`part` must be one of .*, got 'rows'"):
        report.to_frame("rows")


def test_weights_count_in_the_report(census):
    weight = np.where(census.groups == "female", 2.0, 0.5)
    model = ConstrainedClassifier(eq.coverage(at_most=0.2))
    model.fit(census.X, census.y, sensitive_features=census.groups, sample_weight=weight)
    predicted = model.predict(census.X)
    assert np.average(predicted, weights=weight) <= 0.2 + EXACT
    assert model.report_.constraints[0].true == pytest.approx(np.average(predicted, weights=weight))


IMPOSSIBLE = [eq.recall(0.99), eq.coverage(at_most=0.1)]


def test_infeasible_bounds_warn_with_what_was_reached(census):
    with pytest.warns(InfeasibleWarning, match="could not all be met") as caught:
        model = fit(census, IMPOSSIBLE, max_steps=100)
    message = str(caught[0].message)
    assert message.startswith("ConstrainedClassifier: ")
    broken = [line for line in model.report_.constraints if not line.holds]
    assert broken
    for line in broken:
        assert (
            f"{line.name!r} asked {line.sense} {line.bound:g}, reached {line.true:.4f}" in message
        )
    assert "Loosen" in message
    assert "Some bounds do NOT hold" in str(model.report_)
    assert "NO  not met" in str(model.report_)
    assert caught[0].filename == __file__.replace(".pyc", ".py")


def test_infeasible_bounds_raise_or_pass_on_request(census):
    with pytest.raises(InfeasibleError, match=r"'recall' asked >= 0.99, reached 0"):
        fit(census, IMPOSSIBLE, on_infeasible="raise", max_steps=100)
    model = fit(census, IMPOSSIBLE, on_infeasible="ignore", max_steps=100)
    assert not all(line.holds for line in model.report_.constraints)
    with pytest.warns(InfeasibleWarning, match="recall"):
        fit(census, IMPOSSIBLE, true_metric=False, max_steps=100)


def test_loosened_to_what_was_reached_the_bounds_can_be_met(census):
    rules = [eq.demographic_parity(0.0), eq.coverage(at_least=0.1), eq.coverage(at_most=0.5)]
    model = fit(census, rules, on_infeasible="ignore")
    assert model.status_ is eq.Status.INFEASIBLE  # 653 women and 847 men: no common divisor
    assert "no whole numbers of them" in model.result_.message
    assert not model.result_.success
    reached = max(line.true for line in model.report_.constraints[:2])
    assert 0 < reached < 0.01
    bound = math.ceil(reached * 1e4) / 1e4 + 0.001
    found = counts(census, fit(census, eq.demographic_parity(bound), on_infeasible="raise"))
    assert abs(found["female"] - found["male"]) <= bound


def test_where_only_a_constant_keeps_the_bounds_it_is_returned_with_a_warning(census):
    message = r"the best model found that keeps the bounds predicts 0 for every row\. Loosen"
    with pytest.warns(InfeasibleWarning, match=message):
        model = fit(census, eq.demographic_parity(0.0))
    assert model.status_ is eq.Status.CONVERGED
    assert not model.predict(census.X).any()
    assert all(line.holds for line in model.report_.constraints)
    fit(census, eq.demographic_parity(0.0), on_infeasible="ignore")  # says nothing


@pytest.mark.parametrize("rule", [eq.equal_opportunity, eq.equalized_odds, eq.demographic_parity])
@pytest.mark.parametrize("seed", range(3))
def test_no_model_is_worse_than_the_best_constant(rule, seed):
    """One in eleven is positive: with a bound of 0, repaired predictions can be far off."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(400, 5)), rng.choice(["a", "b"], 400)
    noise = 0.5 * rng.logistic(size=400)
    y = (X[:, 0] + 0.7 * (group == "b") + noise > 2.2).astype(int)
    model = ConstrainedClassifier(rule(0.0), on_infeasible="ignore")
    model.fit(X, y, sensitive_features=group)
    share = y.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert model.result_.fun <= entropy
    assert model.score(X, y) >= 1 - share - 0.01
    assert all(line.holds for line in model.report_.constraints)


@pytest.fixture
def small():
    """200 people in groups so small that hardly any smooth rate can be moved to what is counted."""
    from equipoise.datasets import make_census

    data = make_census(200, seed=5)
    return data.X, data.y, data.attributes["race"]


def test_of_models_with_repaired_predictions_the_best_is_certified(small):
    X, y, race = small
    model = ConstrainedClassifier(eq.equalized_odds(0.1)).fit(X, y, sensitive_features=race)
    predicted = model.predict(X)
    assert equalized_odds_difference(y, predicted, sensitive_features=race) <= 0.1 + EXACT
    assert 0 < predicted.mean() < 1
    assert model.status_ is eq.Status.CONVERGED
    assert model.certificate_.residual <= model.tol
    assert "same predictions" in str(model.report_)
    assert "the one returned has the least objective" in model.result_.message
    assert {line.price for line in model.report_.constraints} == {"unknown"}

    # the same convex problem by SciPy
    scale, center = column_scales("the test", MemoryTable(y, X))
    Z = np.column_stack(((X - center) / scale, np.ones(len(y))))
    sign, side = np.where(y == 1, 1.0, -1.0), np.where(predicted == 1, 1.0, -1.0)

    def objective(x):
        margin = sign * (Z @ x)
        slope = -sign / (1 + np.exp(margin)) / len(y)
        penalised = np.append(x[:-1], 0.0)
        value = np.logaddexp(0, -margin).mean() + penalised @ penalised / (2 * len(y))
        return value, slope @ Z + penalised / len(y)

    rows = {
        "type": "ineq",
        "fun": lambda x: side * (Z @ x) - 1e-3,
        "jac": lambda x: side[:, None] * Z,
    }
    start, options = np.zeros(Z.shape[1]), {"ftol": 1e-12, "maxiter": 1000}
    other = minimize(objective, start, jac=True, method="SLSQP", constraints=rows, options=options)
    assert other.success
    assert model.result_.fun == pytest.approx(other.fun, abs=1e-7)
    np.testing.assert_allclose(model.result_.x, other.x, atol=1e-3)


def test_repaired_predictions_with_weights(small):
    X, y, race = small
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = ConstrainedClassifier(eq.equalized_odds(0.1))
    model.fit(X, y, sensitive_features=race, sample_weight=weight)
    gap = equalized_odds_difference(
        y, model.predict(X), sensitive_features=race, sample_weight=weight
    )
    assert gap <= 0.1 + EXACT
    assert model.certificate_.residual <= model.tol


def test_a_frontier_through_repaired_predictions(small):
    X, y, race = small
    model = ConstrainedClassifier(eq.equalized_odds(0.1))
    curve = eq.frontier(model, X, y, [0.1, 0.05], sensitive_features=race)
    assert all(point.holds for point in curve.points)
    assert [point.status for point in curve.points] == ["CONVERGED"] * 2
    assert math.isnan(curve.points[0].multiplier)  # prices are not known; the next fit starts here


def test_a_moved_threshold_where_rows_are_too_many_to_fix(small, monkeypatch):
    from equipoise.estimators._counted import fixed

    monkeypatch.setattr(fixed, "MAX_DENSE_ENTRIES", 0)
    X, y, race = small
    model = ConstrainedClassifier(eq.equalized_odds(0.1)).fit(X, y, sensitive_features=race)
    predicted = model.predict(X)
    assert equalized_odds_difference(y, predicted, sensitive_features=race) <= 0.1 + EXACT
    assert 0 < predicted.mean() < 1
    assert model.status_ is eq.Status.FEASIBLE
    assert "threshold was moved" in str(model.report_)
    np.testing.assert_array_equal(model.certificate_.x, model.result_.x)


@pytest.mark.parametrize("loss_name", ["truncated_logistic", "squared", "hinge"])
def test_other_losses(census, loss_name):
    found = counts(census, fit(census, eq.demographic_parity(0.05), loss=loss_name))
    assert abs(found["female"] - found["male"]) <= 0.05 + EXACT
    assert found["accuracy"] > 0.75


def test_bounds_that_hold_are_not_called_infeasible():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.logistic(size=60) > 0).astype(int)
    rule = eq.coverage(at_most=0.0)
    model = ConstrainedClassifier(rule, loss="hinge", on_infeasible="ignore").fit(X, y)
    assert not model.predict(X).any()
    assert model.status_ is eq.Status.FEASIBLE
    assert str(model.report_).count("hold on the counted rates") == 1


def test_small_differences_are_shown(census):
    model = fit(census, eq.demographic_parity(0.0125), on_infeasible="ignore")
    assert "<= 0.0125" in str(model.report_)
    assert str(BrokenBound("a", "<=", 0.02, 0.0200063)) == "a asked <= 0.02, reached 0.0200063"
    assert str(BrokenBound("a", "<=", 0.02, 0.0312345)) == "a asked <= 0.02, reached 0.0312"


def test_unmet_bounds_have_no_price(census):
    model = fit(census, IMPOSSIBLE, on_infeasible="ignore", max_steps=100)
    assert not any("buys" in line.price for line in model.report_.constraints)


def test_a_tolerance_below_rounding_errors_is_not_claimed(census):
    model = fit(census, eq.demographic_parity(0.05), tol=1e-15)
    assert model.certificate_.residual > 1e-15
    assert "`tol` is taken as 1e-13" in model.result_.message
