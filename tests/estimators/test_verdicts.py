"""No fit fails, or is worse, where a simple model keeps its bounds; and "infeasible" is said with a proof."""

import itertools
import warnings

import numpy as np
import pytest

import equipoise as eq
from equipoise import ConstrainedClassifier, NeymanPearsonClassifier, Status
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleError, InfeasibleWarning
from equipoise.estimators._counted import fixed, shifting
from equipoise.estimators._counted.proof import Cells, proved_by_counts, proved_by_shares
from equipoise.estimators._counted.sweep import swept
from equipoise.estimators._task import Task
from equipoise.estimators._training import Training

EXACT = 1e-12


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def problem_of(rules, X, y, group=None, weight=None):
    """The training problem of some rules, and what is allowed above their bounds."""
    from equipoise.estimators._counted import allowances
    from equipoise.estimators._runner import Runner
    from equipoise.rows import MemoryTable
    from equipoise.run import Budget

    table = MemoryTable(y, X, group, weight=weight)
    training = Training(Task("a test", rules), table, Runner(Budget()))
    binding = training.bind()
    problem = training.problem(binding)
    return problem, allowances(binding, problem.facts.rounding, 1e-6)


# Counting at all thresholds


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_counts_what_each_threshold_predicts(rng, weighted):
    X = rng.normal(size=(60, 3)).round(1)  # some scores are tied
    y, group = (rng.random(60) < 0.4).astype(int), rng.choice(["a", "b"], 60)
    weight = rng.uniform(0.5, 2.0, 60) if weighted else None
    rules = [eq.demographic_parity(0.1), eq.recall(0.5), eq.churn(0.4, 1 - y), eq.precision(0.3)]
    problem, allowed = problem_of(rules, X, y, group, weight)
    x = rng.normal(size=4)
    sweep = swept(problem, x, allowed, np.array([1.0, 2.0]))
    assert sweep.complete
    assert len(sweep.edges) == len(np.unique(problem.rows.sorted_scores(x).round(9))) + 1
    for place, edge in enumerate(sweep.edges):
        moved = x - edge * np.eye(4)[-1]
        assert sweep.keeps[place] == (problem.thresholded(moved)[1:] <= allowed).all()
        counts = problem.rows.confusion(moved)
        wrong = counts.positive[0, 0] + 2 * (counts.weight[0, 1] - counts.positive[0, 1])
        assert sweep.errors[place] == pytest.approx(wrong / (counts.weight[0] @ [1, 2]))
    assert 0 < sweep.keeps.sum() < len(sweep.edges)


# Simple models


@pytest.mark.parametrize(
    ("rule", "loss"), [(eq.demographic_parity, "hinge"), (eq.equalized_odds, "logistic")]
)
def test_a_bound_of_0_is_met_by_a_constant_where_predictions_cannot_be_fixed(
    rule, loss, monkeypatch
):
    """As where rows are many."""
    monkeypatch.setattr(fixed, "MAX_DENSE_ENTRIES", 0)
    monkeypatch.setattr(fixed, "MAX_DENSE_ENTRIES_IF_WIDE", 0)
    data = make_census(300, seed=2)
    model = ConstrainedClassifier(rule(0.0), loss=loss, on_infeasible="ignore", max_steps=200)
    model.fit(data.X, data.y, sensitive_features=data.groups)
    assert all(line.holds for line in model.report_.constraints)
    assert model.score(data.X, data.y) >= 1 - data.y.mean() - 0.01


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_model_that_costs_much_accuracy_is_not_kept(loss, monkeypatch):
    """Whatever the stages do: here the model they return predicts nearly everyone positive."""
    import equipoise.estimators._counted as counted

    monkeypatch.setattr(shifting, "is_settled", lambda *_: False)
    monkeypatch.setattr(counted, "STAGES", (counted.FirstShift(), _Return(4.0)))
    data = make_census(400, seed=1)
    rules = [eq.equal_opportunity(0.3), eq.coverage(at_least=0.31)]
    model = ConstrainedClassifier(rules, loss=loss, on_infeasible="raise")
    model.fit(data.X, data.y, sensitive_features=data.groups)
    assert all(line.holds for line in model.report_.constraints)
    assert model.score(data.X, data.y) > 0.75


def test_the_best_of_the_models_that_predict_the_same_of_all_rows_is_not_kept(monkeypatch):
    """Where predictions are held, a certificate does not say that others cost more: some are .1 better."""
    import equipoise.estimators._counted as counted

    monkeypatch.setattr(shifting, "is_settled", lambda *_: False)
    monkeypatch.setattr(counted, "STAGES", (counted.FirstShift(), _AllNegative()))
    data = make_census(300, seed=1)
    model = ConstrainedClassifier(eq.equal_opportunity(0.3), scoring=None, on_infeasible="raise")
    model.fit(data.X, data.y, sensitive_features=data.groups)
    assert all(line.holds for line in model.report_.constraints)
    assert model.status_ is Status.CONVERGED
    assert model.score(data.X, data.y) > 1 - data.y.mean() + 0.03


class _AllNegative:
    """A stage that returns the best model that predicts 0 of all rows."""

    name = "giving up"

    def run(self, search):
        problem = search.problem
        alike = np.zeros(problem.rows.n_rows, dtype=bool)
        return fixed.best_with(problem, alike, search.tried[-1], search.runner)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_search_that_finds_nothing_takes_another_threshold(loss, monkeypatch):
    """Whatever the stages do: where none of them finds a model, simple models are tried."""
    import equipoise.estimators._counted as counted

    monkeypatch.setattr(shifting, "is_settled", lambda *_: False)
    monkeypatch.setattr(counted, "STAGES", (counted.FirstShift(), _Return(-2.0)))
    data = make_census(600, seed=1)
    rules = [eq.recall(0.9), eq.coverage(at_most=0.6), eq.demographic_parity(0.3)]
    model = ConstrainedClassifier(rules, loss=loss, on_infeasible="raise")
    model.fit(data.X, data.y, sensitive_features=data.groups)
    assert all(line.holds for line in model.report_.constraints)
    assert model.score(data.X, data.y) > 0.6


class _Return:
    """A stage that returns the model without constraints, with all scores raised by a number."""

    name = "giving up"

    def __init__(self, raised):
        self.raised = raised

    def run(self, search):
        from dataclasses import replace

        from equipoise.estimators._counted import measure

        x = search.unconstrained.x.copy()
        x[-1] += self.raised
        return measure(search.problem, replace(search.tried[-1].result, x=x), search.allowed)


def test_a_budget_that_ends_at_once_still_returns_a_simple_model():
    data = make_census(600, seed=1)
    model = ConstrainedClassifier(eq.demographic_parity(0.0), on_infeasible="ignore", max_steps=1)
    calls = itertools.count()

    def stop(iteration):
        if next(calls) > 3:
            raise StopIteration

    model.set_params(callback=stop).fit(data.X, data.y, sensitive_features=data.groups)
    assert model.status_ is eq.Status.STOPPED
    assert all(line.holds for line in model.report_.constraints)


def test_neyman_pearson_is_judged_by_the_class_it_minimises():
    data = make_census(500, seed=3)
    model = NeymanPearsonClassifier(bounds=0.05).fit(data.X, data.y)
    scores = data.X @ model.coef_[0] + model.intercept_[0]
    threshold = np.sort(scores[data.y == 0])[-int(0.05 * (data.y == 0).sum()) - 1]
    assert model.class_errors_[0] <= 0.05 + EXACT
    assert model.class_errors_[1] <= np.mean(scores[data.y == 1] <= threshold) + 0.01


# Proofs

CONTRADICTIONS = {
    "coverage": [eq.coverage(at_least=0.6), eq.coverage(at_most=0.2)],
    "recall and coverage": [eq.recall(0.95), eq.coverage(at_most=0.1)],
    "rates and parity": [
        eq.recall(0.9, group="female"),
        eq.coverage(at_most=0.05, group="male"),
        eq.equal_opportunity(0.1),
    ],
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_bounds_that_no_predictions_keep_are_proved_infeasible_with_a_way_out(name):
    data = make_census(500, seed=0)
    rules = CONTRADICTIONS[name]
    with pytest.warns(InfeasibleWarning, match="could not all be met") as caught:
        model = ConstrainedClassifier(rules).fit(data.X, data.y, sensitive_features=data.groups)
    assert model.status_ is eq.Status.INFEASIBLE
    message = str(caught[0].message)
    assert "no predictions at all keep these bounds" in message
    assert "The least that loosens them enough" in message
    problem, allowed = problem_of(rules, data.X, data.y, data.groups)
    assert set(model.result_.blocking) <= set(problem.names)
    # the proof, by hand: the weighted violation of the best shares is positive
    cells = Cells.of(problem, allowed)
    weights = np.array([model.result_.blocking.get(n, 0.0) for n in cells.names])
    assert weights @ cells.base + np.minimum(weights @ cells.effects, 0).sum() > 1e-6


def test_the_way_out_is_enough():
    data = make_census(500, seed=0)
    rules = lambda more: [eq.coverage(at_least=0.6 - more), eq.coverage(at_most=0.2)]  # noqa: E731
    problem, allowed = problem_of(rules(0.0), data.X, data.y)
    assert "by 0.4" in proved_by_shares(Cells.of(problem, allowed)).message
    for loosened, proved in ((0.399, True), (0.4, False)):
        problem, allowed = problem_of(rules(loosened), data.X, data.y)
        assert (proved_by_shares(Cells.of(problem, allowed)) is not None) == proved


@pytest.mark.parametrize("weighted", [False, True])
def test_proofs_agree_with_all_predictions_of_few_rows(weighted):
    """Bounds on ten rows: a proof is given only where none of the 1024 predictions keeps them."""
    rng = np.random.default_rng(4)
    every = np.array(list(itertools.product((-1.0, 1.0), repeat=10)))
    proved = missed = 0
    for _ in range(60):
        y = np.r_[0, 0, 1, 1, 0, 0, 1, 1, rng.integers(2, size=2)]
        group = np.r_[["a"] * 4, ["b"] * 4, rng.choice(["a", "b"], 2)]
        weight = rng.uniform(0.5, 2.0, 10) if weighted else None
        bounds = rng.random(4).round(2)
        rules = [eq.demographic_parity(0.3 * bounds[0]), eq.coverage(at_least=0.8 * bounds[1])]
        rules += [eq.error_rate(bounds[2]), eq.false_positive_rate(bounds[3])]
        problem, allowed = problem_of(rules, rng.normal(size=(10, 2)), y, group, weight)
        sums = problem.rows.sums
        kept = any(
            (problem.values_of(sums.thresholded(_scores(row)))[1:] <= allowed).all()
            for row in every
        )
        cells = Cells.of(problem, allowed)
        found = proved_by_shares(cells) or proved_by_counts(cells, 10.0)
        assert not (found and kept)
        proved, missed = proved + (found is not None), missed + (not found and not kept)
    assert proved > 5
    assert weighted or missed == 0  # counts say everything where rows have the same weight


def _scores(row):
    from equipoise.terms import Scores

    return Scores(row)


def test_all_thresholds_of_one_feature_are_a_proof(rng):
    X = np.linspace(-1, 1, 80)[:, None]
    y = (np.abs(X[:, 0]) > 0.5).astype(int)  # no threshold tells the ends from the middle
    rules = [eq.recall(0.9), eq.false_positive_rate(0.5)]
    with pytest.warns(InfeasibleWarning, match="All thresholds of the only feature"):
        model = ConstrainedClassifier(rules).fit(X, y)
    assert model.status_ is eq.Status.INFEASIBLE
    both = ConstrainedClassifier(rules, on_infeasible="raise").fit(np.hstack((X, X**2)), y)
    assert all(line.holds for line in both.report_.constraints)


def test_where_nothing_is_proved_it_is_said_that_no_model_was_found(rng):
    X, y = rng.normal(size=(400, 2)), rng.integers(2, size=400)  # labels that say nothing
    rules = [eq.recall(0.8), eq.false_positive_rate(0.3)]
    with pytest.warns(InfeasibleWarning) as caught:
        model = ConstrainedClassifier(rules).fit(X, y)
    message = str(caught[0].message)
    assert "no model that meets all bounds was found" in message
    assert "could not" not in message
    assert "Tried: " in message
    assert model.status_ is eq.Status.NOT_FOUND
    with pytest.raises(InfeasibleError, match="no model that meets all bounds was found"):
        ConstrainedClassifier(rules, on_infeasible="raise").fit(X, y)


# A quick part of `benchmarks.hunt_fits`


@pytest.mark.parametrize("number", [134, 271])
def test_a_few_fits_of_the_hunt(number):
    hunt = pytest.importorskip("benchmarks.hunt_fits")
    try:
        known = hunt.sources()
    except Exception as error:
        pytest.skip(f"real data are absent: {error}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finding = hunt.one_fit(0, number, known)
    assert finding is None or finding.fault == "", finding


def test_without_an_intercept_the_constant_is_found_that_keeps_the_bounds(rng):
    X, y = rng.normal(size=(90, 3)), rng.integers(2, size=90)
    group = np.arange(90) % 3
    model = ConstrainedClassifier(eq.equalized_odds(0.0), fit_intercept=False)
    with pytest.warns(InfeasibleWarning, match="predicts 0 for every row"):
        model.fit(X, y, sensitive_features=group)
    assert model.predict(X).max() == 0
    assert all(line.holds for line in model.report_.constraints)


def test_no_model_is_said_to_break_bounds_that_it_keeps(recwarn):
    data = make_census(300, seed=0)
    model = ConstrainedClassifier(eq.group_loss(0.0), scoring=None)
    model.fit(data.X, data.y, sensitive_features=data.groups)
    kept = all(line.holds for line in model.report_.constraints)
    assert kept == (not any(w.category is InfeasibleWarning for w in recwarn))
    assert kept == (model.status_ is not Status.NOT_FOUND)
