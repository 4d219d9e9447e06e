"""The problem that a solver sees: evaluations counted, and not repeated."""

import numpy as np

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
