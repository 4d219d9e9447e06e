"""Fixed predictions as linear constraints, and what a prediction turned over changes."""

import numpy as np
import pytest

from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import (
    Combination,
    Identity,
    Logistic,
    Rates,
    Scores,
    Terms,
    fixed_predictions,
)

from .examples import N, rate_terms


def test_the_constraints_hold_exactly_where_the_predictions_are_the_same(rng):
    positive = rng.random(N) < 0.5
    terms = fixed_predictions(rate_terms(), positive, margin=0.1)
    s = rng.normal(size=N)
    values = terms.at(s).values
    np.testing.assert_allclose(values[1:], 0.1 - np.where(positive, s, -s))
    assert values[0] == rate_terms().at(s).values[0]
    inside = np.where(positive, 1, -1) * (0.1 + rng.random(N))
    assert terms.at(inside).values[1:].max() <= 0
    assert terms.names == tuple(f"row {i}" for i in range(N))


def test_constraints_beside_come_first_with_their_shift(rng):
    base = rate_terms(squares=True).shifted([1.0, 2.0, 3.0])
    terms = fixed_predictions(base, np.ones(N, dtype=bool), 0.0, beside=[2, 0])
    s = rng.normal(size=N)
    expected = base.at(s).values
    np.testing.assert_allclose(terms.at(s).values[:3], expected[[0, 3, 1]], rtol=1e-14)
    assert terms.names[:3] == ("f_3", "f_1", "row 0")


def test_a_convex_objective_gives_a_convex_problem(rng):
    A, sign = rng.normal(size=(N, 3)), np.where(rng.random(N) < 0.5, 1, -1)
    loss = Terms(Rates(Logistic(), np.full((N, 1), 1 / N), sign), Combination([[1.0]]))
    problem = LearningProblem.of(LinearModel(A), fixed_predictions(loss, sign > 0, 1e-3), l2=0.1)
    assert problem.facts.convex
    assert problem.facts.smooth
    lengths = problem.rows.model.lengths
    bound = fixed_predictions(loss, sign > 0, 1e-3).bounds(lengths)
    np.testing.assert_allclose(bound.lipschitz[1:], lengths)
    assert bound.lower == 0.0


@pytest.mark.parametrize("row", [0, 7, 39])
def test_turned_predictions_change_what_counting_says(rng, row):
    terms, s = rate_terms(), rng.normal(size=N)
    turned = s.copy()
    turned[row] = -turned[row]
    effects = terms.sums.turned(s > 0).toarray()
    counted = terms.sums.thresholded(Scores(turned)) - terms.sums.thresholded(Scores(s))
    counted[:2] = (
        0.0  # the losses of the example stand for themselves, and do not follow predictions
    )
    np.testing.assert_allclose(effects[:, row], counted, atol=1e-14)


def test_identity_is_the_score():
    z = Scores(np.array([-2.0, 0.5]))
    np.testing.assert_array_equal(Identity().value(z), z.s)
    np.testing.assert_array_equal(Identity().slope(z), [1.0, 1.0])
    np.testing.assert_array_equal(Identity().curvature(z), [0.0, 0.0])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"fixed_predictions: `positive` must hold 40 booleans"):
        fixed_predictions(rate_terms(), np.ones(N - 1, dtype=bool), 0.1)
    with pytest.raises(ValueError, match=r"fixed_predictions: `margin` must"):
        fixed_predictions(rate_terms(), np.ones(N, dtype=bool), -0.1)
