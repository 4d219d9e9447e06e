"""Weak convexity by secants, against the same pairs of points taken one by one."""

import numpy as np
import pytest

from equipoise import FunctionProblem, sets
from equipoise.problems import QuadraticProblem
from equipoise.solvers._iqrc.secants import (
    DIRECTIONS,
    LENGTHS,
    MOST_FUNCTIONS,
    measured_weak_convexity,
)


def naive(P, domain, x, functions):
    """The most that a gradient ``P_i x + q`` falls along a secant, relative to the secant's square."""
    rng, least = np.random.default_rng(0), 0.0
    base = domain.project(x)
    for length in LENGTHS:
        for _ in range(DIRECTIONS):
            v = rng.normal(size=x.size)
            v *= length * max(1.0, np.linalg.norm(x)) / np.linalg.norm(v)
            apart = domain.project(base + v) - base
            if apart.any():
                least = min(least, *(apart @ P[i] @ apart / (apart @ apart) for i in functions))
    return -least


@pytest.mark.parametrize("domain", [sets.WholeSpace(), sets.Box(-0.5, 4.0, dim=3)])
@pytest.mark.parametrize("size", [0.1, 6.0])
@pytest.mark.parametrize("m", [0, 3, 60])
def test_pairs_of_points_near_and_far(m, size, domain):
    rng = np.random.default_rng(1)
    P = rng.normal(size=(m + 1, 3, 3))
    P = P + P.transpose(0, 2, 1) - 3 * np.eye(3)
    problem = QuadraticProblem(P, rng.normal(size=(m + 1, 3)), np.zeros(m + 1), domain)
    x = size * np.array([0.6, 0.0, -0.8])
    every = np.unique(np.linspace(0, m, MOST_FUNCTIONS).round().astype(int))
    assert every.size == min(m + 1, MOST_FUNCTIONS)
    found = measured_weak_convexity(problem, x)
    assert found == pytest.approx(naive(P, domain, x, every), rel=1e-6)
    assert found > 0
    assert found <= -np.linalg.eigvalsh(P).min()


@pytest.mark.parametrize(("steep", "found"), [(1e3, 1.0), (1e8, 0.0)])
def test_differences_that_are_rounding_errors_tell_nothing(steep, found):
    """Of ``steep x_0 - |x|^2 / 2``, whose gradients are as large as that."""
    slope = np.array([steep, 0.0])
    problem = FunctionProblem(lambda x: (steep * x[0] - 0.5 * x @ x, slope - x), dim=2)
    assert measured_weak_convexity(problem, np.zeros(2)) == pytest.approx(found, rel=1e-6)


def test_small_functions_are_measured_too():
    problem = FunctionProblem(lambda x: (-5e-6 * x @ x, -1e-5 * x), dim=2)
    assert measured_weak_convexity(problem, np.ones(2)) == pytest.approx(1e-5)


def test_a_domain_of_one_point_tells_nothing():
    problem = FunctionProblem(lambda x: (-x @ x, -2 * x), domain=sets.Box(1.0, 1.0, dim=2))
    assert measured_weak_convexity(problem, np.zeros(2)) == 0.0
