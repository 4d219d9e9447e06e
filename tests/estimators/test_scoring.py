"""`scoring`: models that predict better at the same bounds, chosen by rows that their fits have not seen."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score, make_scorer

import equipoise as eq
from equipoise import ConstrainedClassifier, Status, demographic_parity, load_model
from equipoise.datasets import make_census
from equipoise.estimators._inputs import read_table
from equipoise.estimators._runner import Runner
from equipoise.estimators._scoring import contest
from equipoise.estimators._scoring.contest import COMPARED_BLOCKS, FIRST_OBJECTIVE, Contest
from equipoise.estimators._scoring.measure import Scoring
from equipoise.estimators._scoring.parts import blocks_by_score, blocks_of, parts_by_content
from equipoise.estimators._training import Training
from equipoise.run import Budget
from equipoise.terms import TruncatedLogistic

RIVAL = "truncated logistic loss"


@pytest.fixture(scope="module")
def rows():
    """Rows with a few far outliers among the labels, which the logistic loss minds most."""
    data = make_census(6000, seed=3)
    flipped = np.random.default_rng(0).random(data.n) < 0.03
    return data.X, np.where(flipped, 1 - data.y, data.y), data.groups


def fitted(rows, rule=None, **options):
    X, y, groups = rows
    model = ConstrainedClassifier(rule or demographic_parity(0.03), **options)
    return model.fit(X, y, sensitive_features=groups)


def keeps(model):
    return all(line.holds for line in model.report_.constraints)


def of_table(X, y, groups):
    model = ConstrainedClassifier(demographic_parity(0.1))
    table, _ = read_table(model, X, y, groups, None)
    return Training(model._task(), table, Runner(Budget()))


@pytest.mark.parametrize("rule", [eq.demographic_parity(0.03), eq.equalized_odds(0.05)])
def test_more_accurate_at_the_same_bounds_and_certified(rows, rule):
    plain, model = fitted(rows, rule, scoring=None), fitted(rows, rule)
    assert keeps(plain)
    assert keeps(model)
    assert model.status_ is Status.CONVERGED
    assert model.certificate_.residual <= 1e-6
    assert plain.report_.choice is None
    choice = model.report_.choice
    assert choice.first == pytest.approx(plain.report_.accuracy, abs=1e-12)
    assert choice.training == pytest.approx(model.report_.accuracy, abs=1e-12)
    assert choice.training > choice.first
    assert set(choice.scores) == {FIRST_OBJECTIVE, RIVAL}
    assert choice.rows == pytest.approx(4000, abs=200)
    assert str(choice) in str(model.report_)
    assert model.report_.plain_accuracy == pytest.approx(plain.report_.plain_accuracy, abs=1e-3)


def test_the_model_chosen_is_the_one_its_loss_alone_gives(rows):
    model = fitted(rows)
    assert model.report_.choice.chosen == RIVAL
    alone = fitted(rows, loss=TruncatedLogistic(1.0), scoring=None)
    X, y, _ = rows
    assert abs(model.score(X, y) - alone.score(X, y)) < 0.004
    assert model.calibration_ != fitted(rows, scoring=None).calibration_


def test_a_rival_whose_shifts_keep_no_bounds_goes_through_the_stages_of_a_first_fit(
    rows, monkeypatch
):
    plain = fitted(rows, scoring=None)
    monkeypatch.setattr(contest, "neighbours_of_far", lambda *arguments: [])
    model = fitted(rows)
    assert model.report_.choice.chosen == RIVAL
    assert keeps(model)
    assert model.status_ is Status.CONVERGED
    assert model.report_.accuracy > plain.report_.accuracy


@pytest.mark.parametrize(
    "chosen",
    [
        {"objective": eq.rate("error")},
        {"loss": "squared"},
        {"class_weight": "balanced"},
        {"true_metric": False},
        {"constraints": ()},
    ],
)
def test_what_the_user_has_chosen_is_left_as_it_is(chosen):
    data = make_census(2500, seed=0)
    rule = chosen.pop("constraints", demographic_parity(0.1))
    found = []
    for scoring in ("accuracy", None):
        model = ConstrainedClassifier(rule, scoring=scoring, on_infeasible="ignore", **chosen)
        found.append(model.fit(data.X, data.y, sensitive_features=data.groups))
        assert model.report_.choice is None
    assert np.array_equal(found[0].coef_, found[1].coef_)


def test_with_few_rows_nothing_is_compared_but_bounds_are_used_up(census):
    data = make_census(1500, seed=1)
    plain = fitted((data.X, data.y, data.groups), scoring=None)
    model = fitted((data.X, data.y, data.groups))
    choice = model.report_.choice
    assert choice.scores == {}
    assert choice.rows == 0
    assert choice.chosen == FIRST_OBJECTIVE
    assert keeps(model)
    assert model.report_.accuracy >= plain.report_.accuracy


def test_parts_depend_on_the_content_of_rows_alone():
    data = make_census(5000, seed=0)
    X = np.vstack((data.X[:2500], data.X[:2500]))  # every row twice
    order = np.random.default_rng(1).permutation(5000)
    own, other = parts_by_content(of_table(X, data.y, data.groups), 0)
    training = of_table(X[order], data.y[order], data.groups[order])
    again, others = parts_by_content(training, 0)
    assert len(own) + len(other) == 5000
    assert not set(own) & set(other)
    assert len(own) == pytest.approx(5000 / 3, abs=150)
    assert {row.tobytes() for row in X[own]}.isdisjoint({row.tobytes() for row in X[other]})
    assert set(order[again]) == set(own)
    np.testing.assert_array_equal(X[other], X[order[others]])  # so that blocks of them are the same
    assert set(parts_by_content(training, 1)[0]) != set(again)


def test_no_parts_of_few_rows_or_of_rows_that_are_all_alike():
    data = make_census(3000, seed=0)
    few = of_table(data.X[:1999], data.y[:1999], data.groups[:1999])
    alike = of_table((data.X[:, :1] > 40.0).astype(float), data.y, data.groups)
    assert parts_by_content(few, 0) is None
    assert parts_by_content(alike, 0) is None


def test_blocks_hold_their_share_of_both_classes():
    positive = np.arange(1000) % 10 == 0
    blocks = blocks_of(positive, 10)
    assert sorted(np.concatenate(blocks)) == list(range(1000))
    assert [positive[rows].sum() for rows in blocks] == [10] * 10


def test_blocks_by_score_depend_on_the_content_of_rows_alone(rows):
    X, y, groups = rows
    order = np.random.default_rng(2).permutation(len(y))
    x = np.random.default_rng(3).standard_normal(X.shape[1] + 1)
    first = blocks_by_score(placed_as_given(X, y, groups), x, 10)
    again = blocks_by_score(placed_as_given(X[order], y[order], groups[order]), x, 10)
    assert sorted(np.concatenate(first)) == list(range(len(y)))
    assert np.ptp([y[block].sum() for block in first]) <= 1
    for block, other in zip(first, again, strict=True):
        assert set(order[other]) == set(block)


def placed_as_given(X, y, groups):
    """A training whose rows are not brought into an order, as those of large tables are not."""
    training = of_table(X, y, groups)
    model = ConstrainedClassifier(demographic_parity(0.1))
    training.table, _ = read_table(model, X, y, groups, None)
    return training


@pytest.mark.parametrize(
    ("ahead", "winner"),
    [
        ([0.01] * COMPARED_BLOCKS, RIVAL),
        (
            [0.0] * COMPARED_BLOCKS,
            RIVAL,
        ),  # no worse, and more accurate on the training rows, or not taken
        (
            [-0.01, 0.005] * (COMPARED_BLOCKS // 2),
            FIRST_OBJECTIVE,
        ),  # behind by 1 standard error and a half
        ([-0.01, 0.009] * (COMPARED_BLOCKS // 2), RIVAL),
        ([-0.01] * COMPARED_BLOCKS, FIRST_OBJECTIVE),
    ],
)
def test_a_rival_must_not_be_behind_by_more_than_a_standard_error(ahead, winner):
    contest = object.__new__(Contest)
    contest.scores = {FIRST_OBJECTIVE: np.full(COMPARED_BLOCKS, 0.8), RIVAL: 0.8 + np.array(ahead)}
    assert contest._winner() == winner
    contest.scores = {}
    assert contest._winner() == FIRST_OBJECTIVE


def test_a_model_is_ahead_by_more_than_a_standard_error(rows):
    X, y, groups = rows
    training = of_table(X, y, groups)
    found = fitted(rows, scoring=None)
    x = training.units.parameters(found.coef_, found.intercept_)
    contest = object.__new__(Contest)
    contest.measure = Scoring(found, "accuracy")
    begun = SimpleNamespace(training=training, problem=SimpleNamespace(rows=None))
    best, same, worse = (SimpleNamespace(x=x * factor) for factor in (1.0, 2.0, -1.0))
    assert contest._is_ahead(begun, best, worse)
    assert not contest._is_ahead(begun, worse, best)
    assert not contest._is_ahead(begun, best, same)  # the same predictions


def test_other_scorers_weigh_classes_too(rows):
    X, y, _ = rows
    rare = (X, y * (np.random.default_rng(5).random(len(y)) < 0.4), rows[2])
    plain = fitted(rare, scoring=None)
    for scoring in ("balanced_accuracy", make_scorer(balanced_accuracy_score)):
        model = fitted(rare, scoring=scoring)
        assert keeps(model)
        assert len(model.report_.choice.scores) == 3
        before, after = (balanced_accuracy_score(rare[1], m.predict(X)) for m in (plain, model))
        assert after > before + 0.02
        assert model.report_.choice.training == pytest.approx(after, abs=1e-12)


def test_a_function_may_be_the_score(rows):
    X, _y, _ = rows

    def share_predicted(model, X, y):
        return float(model.predict(X).mean())

    model = fitted(rows, scoring=share_predicted)
    assert keeps(model)
    assert model.report_.choice.scoring == "share_predicted"
    assert model.predict(X).mean() >= fitted(rows, scoring=None).predict(X).mean()


@pytest.mark.parametrize("kind", ["weights", "sparse", "float32", "labels", "pos_label"])
def test_bounds_are_kept_for_every_kind_of_data(rows, kind):
    X, y, groups = rows
    options, extra = {}, {}
    if kind == "weights":
        extra["sample_weight"] = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    X = sparse.csr_array(X) if kind == "sparse" else X
    X = X.astype(np.float32) if kind == "float32" else X
    y = np.where(y == 1, "a yes", "no") if kind in ("labels", "pos_label") else y
    if kind == "pos_label":
        options["pos_label"] = "a yes"
    model = ConstrainedClassifier(demographic_parity(0.03), **options)
    model.fit(X, y, sensitive_features=groups, **extra)
    assert keeps(model)
    assert model.report_.choice.scores
    right = model.score(X, y, **extra)
    assert right == pytest.approx(model.report_.choice.training, abs=1e-12)


def stopping_in(stage, error):
    """A callback that ends the fit in a stage of the search."""
    seen = []

    def callback(iteration):
        seen.append(iteration.stage)
        if iteration.stage == stage:
            raise error

    return callback


@pytest.mark.parametrize("stage", ["comparing objectives", "using up the bounds"])
def test_where_the_budget_ends_the_best_model_so_far_is_kept(rows, stage):
    model = fitted(rows, callback=stopping_in(stage, StopIteration()))
    assert model.status_ is Status.STOPPED
    assert keeps(model)
    assert model.report_.accuracy >= fitted(rows, scoring=None).report_.accuracy - 1e-12


def test_interrupted_while_it_compares(rows, monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Contest, "_compare", interrupt)
    with pytest.warns(match="interrupted"):
        model = fitted(rows)
    assert model.status_ is Status.INTERRUPTED
    assert keeps(model)
    assert model.report_.accuracy == fitted(rows, scoring=None).report_.accuracy


def test_a_promise_is_made_for_the_objective_chosen(rows):
    model = fitted(rows, demographic_parity(0.1), confidence=0.9)
    choice = model.report_.choice
    assert model.report_.promise.kept
    assert choice.chosen == RIVAL
    assert np.isnan(choice.training)
    assert choice.rows == pytest.approx(2000, abs=150)  # of the half that is trained on
    assert "nan" not in str(model.report_).split("\n\n")[0]


def test_the_search_is_part_of_the_run(rows, monkeypatch):
    results, solve = [], Runner.solve

    def record(*arguments, **options):
        results.append(solve(*arguments, **options))
        return results[-1]

    monkeypatch.setattr(Runner, "solve", record)
    model = fitted(rows)
    assert model.n_iter_ == sum(result.nit for result in results)
    assert model.result_.nhev == sum(result.nhev for result in results)
    assert model.report_.problems_solved == len(results) - 1  # without the one without constraints
    assert {"comparing objectives", "using up the bounds"} <= set(model.trace_.stage)


def test_with_many_bounds_there_is_no_search():
    data = make_census(2500, seed=0)
    groups = np.random.default_rng(0).integers(0, 6, data.n)
    model = fitted((data.X, data.y, groups), demographic_parity(0.2))
    assert len(model.report_.constraints) == 30
    assert model.report_.choice is None


def test_saved_with_the_model(rows, tmp_path):
    model = fitted(rows)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.report_.choice == model.report_.choice
    assert again.scoring == "accuracy"
    assert model.report_.to_dict()["choice"]["chosen"] == RIVAL


@pytest.mark.parametrize("scoring", ["accurate", 3, ["accuracy"]])
def test_other_values_are_refused(scoring):
    data = make_census(300, seed=0)
    with pytest.raises(ValueError, match="scoring"):
        ConstrainedClassifier(scoring=scoring).fit(data.X, data.y)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_scores_that_cannot_be_compared_are_refused(rows, number):
    with pytest.raises(ValueError, match="`scoring` cannot be used: it returned"):
        fitted(rows, scoring=lambda model, X, y: number)


def test_blocks_without_a_score_leave_the_first_objective(rows, recwarn):
    n = len(rows[1])

    def endless_on_blocks(model, X, y):
        return 0.5 if len(y) == n else float("inf")

    model = fitted(rows, scoring=endless_on_blocks)
    assert model.report_.choice.chosen == FIRST_OBJECTIVE
    assert not [w for w in recwarn if w.category is RuntimeWarning]
