"""A plain problem of the race: the same functions, and nothing that would make them easier."""

import numpy as np
import pytest

from benchmarks.peers.plain import PlainProblem
from equipoise import Facts, demographic_parity
from equipoise.constraints import bind
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    terms = bind(demographic_parity(0.02), y, groups).terms
    return LearningProblem.of(LinearModel(X), terms, l2=0.1)


@pytest.mark.parametrize("products", [True, False])
def test_a_plain_problem_has_the_functions_of_its_origin_alone(problem, products):
    plain = PlainProblem(problem, products)
    x, weights, v = np.linspace(-1, 1, 4), np.array([1.0, 0.5, 0.2]), np.ones(4)
    point, origin = plain.at(x), problem.at(x)
    assert np.array_equal(point.values, origin.values)
    assert np.array_equal(point.vjp(weights), origin.vjp(weights))
    assert (point.hvp is not None) == products
    assert not products or np.array_equal(point.hvp(weights, v), origin.hvp(weights, v))
    assert not any((point.curvature, point.jacobian, point.push, point.matrix))
    assert plain.facts == Facts()
    assert origin.curvature is not None
    assert origin.push is not None
