"""Fixed predictions as linear constraints, and what a prediction turned over changes."""

import numpy as np
import pytest

from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import (
    Channel,
    Identity,
    Logistic,
    RateTerms,
    Scores,
    flip_effects,
    pattern_terms,
)

from .examples import N, rate_terms


def test_the_constraints_hold_exactly_where_the_predictions_are_the_same(rng):
    positive = rng.random(N) < 0.5
    terms = pattern_terms(rate_terms(), positive, margin=0.1)
    s = rng.normal(size=N)
    values = terms.at(s).values
    np.testing.assert_allclose(values[1:], 0.1 - np.where(positive, s, -s))
    assert values[0] == rate_terms().at(s).values[0]
    inside = np.where(positive, 1, -1) * (0.1 + rng.random(N))
    assert terms.at(inside).values[1:].max() <= 0
    assert terms.names == tuple(f"row {i}" for i in range(N))


def test_constraints_beside_come_first_with_their_shift(rng):
    base = rate_terms(squares=True).with_(shift=[1.0, 2.0, 3.0])
    terms = pattern_terms(base, np.ones(N, dtype=bool), 0.0, beside=[2, 0])
    s = rng.normal(size=N)
    expected = base.at(s).values
    np.testing.assert_allclose(terms.at(s).values[:3], expected[[0, 3, 1]], rtol=1e-14)
    assert terms.names[:3] == ("f_3", "f_1", "row 0")


def test_a_convex_objective_gives_a_convex_problem(rng):
    A, sign = rng.normal(size=(N, 3)), np.where(rng.random(N) < 0.5, 1, -1)
    loss = RateTerms([Channel(Logistic(), np.full((N, 1), 1 / N), sign)], [[1.0]])
    problem = LearningProblem(LinearModel(A), pattern_terms(loss, sign > 0, 1e-3), l2=0.1)
    assert problem.facts.convex
    assert problem.facts.smooth
    bound = pattern_terms(loss, sign > 0, 1e-3).bounds(problem.model.norms)
    np.testing.assert_allclose(bound.lipschitz[1:], problem.model.norms)
    assert bound.lower == 0.0


@pytest.mark.parametrize("row", [0, 7, 39])
def test_flip_effects_are_what_counting_says(rng, row):
    terms, s = rate_terms(), rng.normal(size=N)
    turned = s.copy()
    turned[row] = -turned[row]
    effects = flip_effects(terms, s > 0).toarray()
    # the losses of the example are their own truth, and do not follow predictions
    losses = terms.coefficients[:, :2] @ (terms.rates(turned)[:2] - terms.rates(s)[:2])
    counted = terms.hard(turned) - terms.hard(s) - losses
    np.testing.assert_allclose(effects[:, row], counted[1:], atol=1e-14)


def test_identity_is_the_score():
    z = Scores(np.array([-2.0, 0.5]))
    np.testing.assert_array_equal(Identity().value(z), z.s)
    np.testing.assert_array_equal(Identity().slope(z), [1.0, 1.0])
    np.testing.assert_array_equal(Identity().curvature(z), [0.0, 0.0])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"pattern_terms: `positive` must hold 40 booleans"):
        pattern_terms(rate_terms(), np.ones(N - 1, dtype=bool), 0.1)
    with pytest.raises(ValueError, match=r"pattern_terms: `margin` must"):
        pattern_terms(rate_terms(), np.ones(N, dtype=bool), -0.1)
