"""The correlation of scores and groups, and the ranking that is penalised by it."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from equipoise import solve
from equipoise.baselines import CorrelationPenalty
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.sets import L2Ball
from equipoise.terms import Combination, Correlation, Terms

RNG = np.random.default_rng(0)
COLUMN = np.where(RNG.random(50) < 0.4, 1.0, -1.0)
SCORES = RNG.normal(size=50) + 0.5 * COLUMN
DATA = make_census(600, seed=1)


def correlation(scores, column=COLUMN):
    return float(Correlation.terms(column).at(scores).values[0])


def test_t6_10_values():
    assert correlation(np.full(50, 3.0)) == pytest.approx(0.0, abs=1e-10)
    assert correlation(COLUMN) == pytest.approx(1.0, abs=1e-7)
    assert correlation(-COLUMN) == pytest.approx(-1.0, abs=1e-7)
    assert correlation(SCORES) == pytest.approx(np.corrcoef(SCORES, COLUMN)[0, 1], abs=1e-7)


@pytest.mark.parametrize(("slope", "shift"), [(2.0, 0.0), (0.3, 5.0), (7.0, -1.0)])
def test_t6_10_scales_and_shifts_of_the_scores_do_not_matter(slope, shift):
    assert correlation(slope * SCORES + shift) == pytest.approx(correlation(SCORES), abs=1e-6)


def test_t6_10_gradient():
    point = Correlation.terms(COLUMN).at(SCORES)
    numeric = approx_fprime(SCORES, correlation, 1e-7)
    np.testing.assert_allclose(point.slope(np.ones(1)), numeric, atol=1e-6)


def test_a_multiple_keeps_its_place():
    twice = Correlation(0.5).placed(2).times(2.0)
    assert (twice.first, twice.factor, twice.least) == (2, 2.0, -2.0)
    np.testing.assert_array_equal(twice.uses, [2, 3, 4])


@pytest.mark.parametrize("solver", ["auto", "sqp", "exact_penalty", "switching"])
def test_it_is_a_constraint_for_every_solver(solver):
    """The largest mean score of some rows, with scores that hardly correlate with the column."""
    X = np.column_stack((SCORES, RNG.normal(size=50)))
    sums, variance = Correlation.sums(COLUMN)
    inside = Correlation(variance)
    minus_mean = [[0.0, -1.0, 0.0], *np.zeros((2, 3))]
    bent = [(1, inside), (2, inside.times(-1.0))]
    terms = Terms(sums, Combination(minus_mean, [0.0, -0.1, -0.1], bent=bent))
    problem = LearningProblem.of(LinearModel(X, False), terms, domain=L2Ball(1.0))
    result = solve(problem, solver, np.array([0.1, 0.5]), tol=1e-4, max_steps=3000)
    assert result.maxcv <= 1e-2
    assert abs(correlation(X @ result.x)) <= 0.11


def naive_objective(penalty, X, y, member):
    """The mean loss over all pairs, plus the penalties."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    positive, column = y == 1, member.astype(float)

    def value(w):
        s = scaled @ w
        t = s[positive][:, None] - s[~positive][None, :]
        moment = np.mean((s - s.mean()) * (column - column.mean()))
        size = np.sqrt((s.var() + 1e-8) * (column.var() + 1e-8))
        return 0.5 * np.mean((t - 1) ** 2) + penalty * abs(moment / size) + w @ w / (2 * len(y))

    return value


@pytest.mark.parametrize("penalty", [0.0, 0.02, 10.0])
def test_the_model_minimises_loss_and_penalty(penalty):
    X = RNG.normal(size=(150, 3))
    member = X[:, 0] + RNG.normal(size=150) > 0
    y = (X @ [1.0, -0.5, 0.3] + RNG.normal(size=150) > 0).astype(int)
    model = CorrelationPenalty(penalty, tol=1e-9).fit(X, y, sensitive_features=member)
    objective = naive_objective(penalty, X, y, member)
    w = model.coef_[0] * X.std(axis=0)
    best = min(
        minimize(objective, start, method="Nelder-Mead", options={"maxiter": 4000}).fun
        for start in (w, RNG.normal(size=3))
    )
    assert objective(w) <= best + 1e-6
    scores = model.decision_function(X)
    assert correlation(scores, member.astype(float)) == pytest.approx(model.correlation_, abs=1e-6)
    assert (abs(model.correlation_) < 1e-5) == (penalty == 10.0)


def test_all_large_penalties_have_the_same_solution():
    models = [CorrelationPenalty(p).fit(DATA.X, DATA.y, DATA.groups) for p in (10.0, 1e6)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-6, atol=1e-9)


def test_wrong_input():
    with pytest.raises(ValueError, match="CorrelationPenalty: groups are needed"):
        CorrelationPenalty().fit(DATA.X, DATA.y)
    with pytest.raises(ValueError, match="`sensitive_features` must hold two groups"):
        CorrelationPenalty().fit(DATA.X, DATA.y, np.arange(DATA.n) % 3)
    with pytest.raises(ValueError, match="`y` must have two classes, got 3"):
        CorrelationPenalty().fit(DATA.X, np.arange(DATA.n) % 3, DATA.groups)
