"""The problem that a solver sees: evaluations counted, and not repeated."""

import gc
import weakref

import numpy as np
import pytest

from equipoise import Point, Problem, solve
from equipoise.problems import REFERENCES
from equipoise.run.counted import Counted, Counter


def test_the_same_point_twice_in_a_row_is_evaluated_once():
    counter = Counter()
    problem = Counted(REFERENCES["convex"]().problem, counter)
    x = np.array([0.5, 0.5])
    first = problem.at(x)
    assert problem.at(x) is first
    assert problem.free(x).values is first.values
    assert counter.values == 1
    problem.at(x.copy())
    assert counter.values == 2


def test_a_point_changed_in_place_is_evaluated_again():
    counter = Counter()
    problem = Counted(REFERENCES["convex"]().problem, counter)
    x = np.array([0.5, 0.5])
    before = problem.at(x).values.copy()
    x[0] = -1.0
    after = problem.at(x).values
    assert counter.values == 2
    assert not np.array_equal(before, after)


class Heavy:
    """Stands for the large arrays that an evaluation holds."""


class Watched(Problem):
    """A problem whose evaluations can be seen to go away."""

    def __init__(self, base):
        self.base, self.alive = base, weakref.WeakSet()
        self.dim, self.n_constraints = base.dim, base.n_constraints
        self.domain, self.names, self.facts = base.domain, base.names, base.facts

    def at(self, x):
        point, heavy = self.base.at(x), Heavy()
        self.alive.add(heavy)

        def vjp(weights, heavy=heavy):
            return point.vjp(weights)

        return Point(point.x, point.values, vjp, point.hvp)


@pytest.mark.parametrize("method", ["switching", "augmented_newton"])
def test_nothing_evaluated_is_kept_when_a_run_has_ended(method):
    problem = Watched(REFERENCES["convex"]().problem)
    gc.disable()
    try:
        result = solve(problem, method, [0.0, 2.0], max_steps=20)
        assert len(problem.alive) == 0
    finally:
        gc.enable()
    assert result.nfev > 0
