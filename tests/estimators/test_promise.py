"""The parts of the search for counted bounds: how sharp, how close, how far to shift."""

import numpy as np
import pytest
from scipy import sparse

from equipoise import ConstrainedClassifier
from equipoise.constraints import bind, demographic_parity, equalized_odds
from equipoise.datasets import make_census
from equipoise.estimators._continuation import ahead
from equipoise.estimators._counted.candidate import (
    Unconstrained,
    counted_minus_smooth,
    largest_steps,
    measure,
)
from equipoise.estimators._counted.search import Search
from equipoise.estimators._counted.secant import Secant
from equipoise.estimators._counted.shifting import SPREAD_IN_WIDTHS, sharpness_for
from equipoise.estimators._counted.threshold import move_threshold
from equipoise.models import LinearModel, linear_scores
from equipoise.problems import LearningProblem
from equipoise.rows import MemoryTable, column_scales
from equipoise.terms import Combination, FunctionOfScores, Terms


@pytest.fixture(scope="module")
def problem():
    data = make_census(800, seed=1)
    terms = bind(equalized_odds(0.05), data.y, data.groups).terms
    return LearningProblem.of(LinearModel(data.X / data.X.std(axis=0)), terms, l2=1e-3)


def test_sharpness_follows_the_spread_of_the_scores(problem):
    def sharpness(spread):
        result = type("Result", (), {"x": np.zeros(problem.dim)})
        plain = Unconstrained(result, 0.5, spread, None, False)
        return sharpness_for(Search(problem, result.x, None, np.zeros(4), plain))

    for spread in (1.0, 2.0):
        assert sharpness(spread) == pytest.approx(SPREAD_IN_WIDTHS / spread)
    assert sharpness(100.0) == 1.0  # never blunter than plain
    assert sharpness(0.0) == 10.0  # nor endlessly sharp


def test_sharper_sigmoids_count_better(problem):
    x = np.random.default_rng(0).normal(size=problem.dim)
    x *= 2.0 / problem.rows.model.scores(x).std()
    sizes = []
    for k in (1.0, 3.0, 10.0, 100.0):
        sharp = problem.sharpened(k)
        gap = counted_minus_smooth(sharp, x)
        np.testing.assert_array_equal(
            gap, counted_minus_smooth(sharp, x, gap + sharp.at(x).constraints)
        )
        sizes.append(np.abs(gap).max())
    assert sizes[-1] < 0.2 * sizes[0]


def test_the_largest_step_is_the_most_that_one_prediction_changes(problem):
    x = np.random.default_rng(2).normal(size=problem.dim)
    scores, terms = problem.rows.model.predicted(x), Terms(problem.rows.sums, problem.combination)
    counted, most = terms.thresholded(scores)[1:], np.zeros(problem.n_constraints)
    for row in range(scores.size):
        turned = scores.copy()
        turned[row] = -1.0 if scores[row] > 0 else 1.0
        most = np.maximum(most, np.abs(terms.thresholded(turned)[1:] - counted))
    np.testing.assert_allclose(largest_steps(problem), most, rtol=1e-9)


def test_the_largest_step_is_unknown_for_callables():
    data = make_census(100, seed=1)
    mean = FunctionOfScores(lambda s, y, groups: (float(s.mean()), np.full(100, 0.01)), data.y)
    terms = Terms(mean, Combination([[0.0], [1.0]]))
    assert (largest_steps(LearningProblem.of(LinearModel(data.X), terms)) == 0).all()


def test_the_secant_rule_finds_the_shift_of_an_affine_gap():
    """Gap = c + S shift: Broyden's method solves gap(s) = s in a few more steps than dimensions."""
    rng = np.random.default_rng(0)
    c, S = rng.normal(size=3), 0.4 * rng.normal(size=(3, 3))
    search = Secant(c)
    for _ in range(12):
        search.see(c + S @ search.shift)
    np.testing.assert_allclose(c + S @ search.shift, search.shift, atol=1e-6)


@pytest.mark.parametrize("bound", [0.02, 0.05])
def test_fits_of_different_units_are_the_same(bound):
    """Scores decide how sharp sigmoids are, so the units of the features do not matter."""
    data = make_census(1500, seed=3)
    units = np.geomspace(1e-3, 1e3, data.X.shape[1])
    plain = ConstrainedClassifier(demographic_parity(bound)).fit(data.X, data.y, data.groups)
    other = ConstrainedClassifier(demographic_parity(bound)).fit(
        data.X * units, data.y, data.groups
    )
    np.testing.assert_allclose(other.coef_ * units, plain.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32])
def test_predictions_are_those_that_were_counted(kind):
    """To the last bit: a score of nearly 0 may not change sides."""
    data = make_census(1200, seed=5)
    X = kind(data.X)
    model = ConstrainedClassifier(demographic_parity(0.05)).fit(X, data.y, data.groups)
    scales = column_scales("test", MemoryTable(data.y, X))
    linear = LinearModel(X, True, *scales)
    x = linear.parameters(model.coef_[0], float(model.intercept_[0]))
    coef, intercept = linear.coefficients(x)
    np.testing.assert_array_equal(
        linear_scores(X, coef[None], np.array([intercept])), linear.predicted(x)
    )
    assert model.decision_function(X).shape == (1200,)


def test_refits_of_the_same_data_come_to_rest():
    """A model that keeps its bounds stays: nothing is given away again and again."""
    data = make_census(2000, seed=0)
    model = ConstrainedClassifier(demographic_parity(0.02), warm_start=True, scoring=None)
    first = model.fit(data.X, data.y, data.groups).result_.fun
    second = model.fit(data.X, data.y, data.groups).result_.fun
    assert second <= 1.005 * first
    coef = model.coef_
    for _ in range(3):
        model.fit(data.X, data.y, data.groups)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5)
    assert model.result_.fun == pytest.approx(second, rel=1e-6)


def test_a_moved_point_takes_no_proof_along():
    """What was proved of one point says nothing of another."""
    data = make_census(600, seed=0)
    model = ConstrainedClassifier(demographic_parity(0.05), loss="hinge")
    model.fit(data.X, data.y, data.groups)
    near = model.result_.near
    assert near is not None
    assert "on kinks" in str(model.report_)
    binding = bind(demographic_parity(0.05), data.y, data.groups, loss="hinge")
    scales = column_scales("test", MemoryTable(data.y, data.X))
    problem = LearningProblem.of(LinearModel(data.X, True, *scales), binding.terms, l2=1 / 600)
    fit = measure(problem, model.result_, np.full(problem.n_constraints, 1e-12))
    moved = move_threshold(problem, fit)
    assert moved is not None
    assert moved.result.near is None
    later = ahead([(0.1, fit), (0.05, fit)], 0.02)
    assert later is fit or later.result.near is None


def test_wide_data_get_the_best_model_with_turned_predictions(gaps):
    """As many parameters as rows: predictions can be chosen at will, and smooth rates never settle."""
    rng, n = np.random.default_rng(0), 300
    X, groups = rng.normal(size=(n, n)), np.where(rng.random(n) < 0.4, "a", "b")
    y = (X @ rng.normal(size=n) / n**0.5 + 0.8 * (groups == "a") + rng.normal(size=n) > 0).astype(
        int
    )
    plain = ConstrainedClassifier().fit(X, y)
    gap = gaps(y, plain.predict(X), groups)["positive"]
    model = ConstrainedClassifier(demographic_parity(0.02)).fit(X, y, sensitive_features=groups)
    assert model.status_.name == "CONVERGED"
    assert "same predictions" in model.result_.message
    assert gap > 0.1
    assert gaps(y, model.predict(X), groups)["positive"] <= 0.02 + 1e-12
    # one group's rate is moved by the gap at the most, and no row more than that takes
    turned = np.flatnonzero(model.predict(X) != plain.predict(X))
    assert len(turned) <= np.ceil((gap - 0.02) * (groups == "a").sum()) + 1
    assert np.abs(model.decision_function(X)).min() >= 9e-4


def test_equal_rows_are_turned_over_together(gaps):
    """Wide data with every row twice: no model tells the two apart."""
    rng, n = np.random.default_rng(1), 120
    X = np.repeat(rng.normal(size=(n, 2 * n)), 2, axis=0)
    groups = np.where(rng.random(2 * n) < 0.4, "a", "b")
    y = np.repeat((X[::2] @ rng.normal(size=2 * n) > 0).astype(int), 2)
    y[(groups == "a") & (rng.random(2 * n) < 0.5)] = 1
    model = ConstrainedClassifier(demographic_parity(0.02)).fit(X, y, sensitive_features=groups)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted[::2], predicted[1::2])
    assert model.status_.name == "CONVERGED"
    assert gaps(y, predicted, groups)["positive"] <= 0.02 + 1e-12


@pytest.mark.parametrize("wide", [False, True])
def test_rows_of_weight_0_are_as_good_as_absent(wide, gaps):
    rng, n, d = np.random.default_rng(2), 400, 300 if wide else 5
    X, groups = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.4, "a", "b")
    y = (X[:, 0] + (groups == "a") + rng.normal(size=n) > 0.5).astype(int)
    weight = (rng.random(n) < 0.6).astype(float)
    X[weight == 0] *= 100.0
    used = weight > 0
    rule = demographic_parity(0.03)
    given = ConstrainedClassifier(rule).fit(X, y, sensitive_features=groups, sample_weight=weight)
    absent = ConstrainedClassifier(rule).fit(X[used], y[used], sensitive_features=groups[used])
    assert given.status_ == absent.status_
    np.testing.assert_allclose(given.coef_, absent.coef_, atol=1e-4)
    assert gaps(y[used], given.predict(X[used]), groups[used])["positive"] <= 0.03 + 1e-12
