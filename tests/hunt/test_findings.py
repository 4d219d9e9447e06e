"""What hunts have found stays mended: each of these was once a wrong claim or an error."""

import numpy as np
import pytest

from benchmarks.hunt.runs import draw, hunt_one, library_problem
from equipoise import certify, solve

FOUND = [
    # |x| of 1e19: the gradient as computed was 0.4 away from the true one, and looked stationary
    ("scaled_variables", 30256, "auto", 0.01),
    # a smoothness that overflowed made a step of length 0, and an error about it
    ("huge", 30305, "imela", 1e-4),
    # a length whose square vanished
    ("flat", 369, "auto", 0.1),
    # a Hessian that vanished beside rows of 1e161
    ("huge", 253, "constrained_bundle", 0.01),
    # near the boundary of the domain: the judge forgot the normals of points next to x
    ("convex_kinks", 30308, "iqrc", 0.1),
    ("convex_kinks", 30436, "strong_switching", 0.01),
]


@pytest.mark.parametrize(("kind", "seed", "method", "tol"), FOUND)
def test_nothing_is_wrong_any_more(kind, seed, method, tol):
    assert hunt_one(kind, seed, method, tol).wrong == ()


def test_a_gradient_of_rounding_errors_is_not_stationary_by_accident():
    """After 36 steps |x| is 5e18, and at one neighbour of eight the gradient is the same."""
    case = draw("scaled_variables", 30256)
    problem = library_problem(case)
    result = solve(problem, "auto", case.start, tol=0.01, max_steps=36)
    x, multipliers = np.asarray(result.x), result.multipliers
    if np.abs(x).max() > 1e15:
        assert certify(problem, x, multipliers).residual > 0.01  # of this point, whoever asks
    assert not (result.success and np.abs(x).max() > 1e15)
