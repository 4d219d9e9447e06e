"""What carries over from one bound to the next along a trade-off."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import ConstrainedClassifier, Status, coverage, demographic_parity, equalized_odds
from equipoise.constraints import bind
from equipoise.estimators._continuation import ahead, rebound
from equipoise.estimators._counted import measure
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.run import Verdict


def bound_problem(census, constraint):
    binding = bind(constraint, census.y, census.groups)
    return binding, LearningProblem.of(LinearModel(census.X), binding.terms, l2=0.1)


@pytest.mark.parametrize("rule", [demographic_parity, equalized_odds])
def test_another_bound_is_the_same_as_binding_again(census, rule):
    binding, problem = bound_problem(census, rule(0.1))
    moved = rebound(binding, rule(0.1), rule(0.04))
    shorter = problem.recombined(moved.combination)
    again, fresh = bound_problem(census, rule(0.04))
    x = np.linspace(-0.01, 0.01, problem.dim)
    np.testing.assert_allclose(shorter.at(x).values, fresh.at(x).values, atol=1e-14)
    np.testing.assert_allclose(shorter.thresholded(x), fresh.thresholded(x), atol=1e-14)
    assert [row.bound for row in moved.inequalities] == [row.bound for row in again.inequalities]
    measured = [row.measured(v) for row, v in zip(moved.inequalities, shorter.thresholded(x)[1:])]
    expected = [row.measured(v) for row, v in zip(again.inequalities, fresh.thresholded(x)[1:])]
    np.testing.assert_allclose(measured, expected, atol=1e-14)
    assert problem.at(x).values[1] != shorter.at(x).values[1]  # the first is as it was


def test_anything_else_is_bound_again(census):
    binding, _ = bound_problem(census, demographic_parity(0.1))
    assert rebound(binding, demographic_parity(0.1), equalized_odds(0.2)) is None
    assert rebound(binding, [demographic_parity(0.1)], [demographic_parity(0.2)]) is None
    assert rebound(binding, demographic_parity(0.3), demographic_parity(0.2)) is None
    limit = coverage(at_most=0.3)
    assert rebound(bound_problem(census, limit)[0], limit, coverage(at_most=0.2)) is None


def test_the_next_start_lies_on_the_line_through_the_last_two(census):
    fits = []
    for bound in (0.1, 0.08):
        model = ConstrainedClassifier(demographic_parity(bound), true_metric=False)
        model.fit(census.X, census.y, sensitive_features=census.groups)
        _, problem = bound_problem(census, demographic_parity(bound))
        fits.append((bound, measure(problem, model.result_, np.ones(problem.n_constraints))))
    assert ahead([], 0.06) is None
    assert ahead(fits[:1], 0.06) is fits[0][1]
    (_, old), (_, last) = fits
    predicted = ahead(fits, 0.06).result
    np.testing.assert_allclose(predicted.x, 2 * last.result.x - old.result.x)
    assert (predicted.multipliers >= 0).all()
    unlike = replace(old, result=old.result.judged(Verdict(Status.STALLED)))
    assert ahead([(0.1, unlike), fits[1]], 0.06) is last
