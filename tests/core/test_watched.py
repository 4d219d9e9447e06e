"""The problem that a solver sees: evaluations counted, and not repeated."""

import gc
import weakref

import numpy as np
import pytest

from equipoise import Point, Problem, solve
from equipoise.problems import REFERENCES
from equipoise.run._pulled import MOST, Pulled
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.sets import WholeSpace


def test_the_same_point_twice_in_a_row_is_evaluated_once():
    counter = Counter()
    problem = WatchedProblem(REFERENCES["convex"]().problem, counter)
    x = np.array([0.5, 0.5])
    first = problem.at(x)
    assert problem.at(x) is first
    assert problem.free(x).values is first.values
    assert counter.values == 1
    problem.at(x.copy())
    assert counter.values == 2


def test_a_point_changed_in_place_is_evaluated_again():
    counter = Counter()
    problem = WatchedProblem(REFERENCES["convex"]().problem, counter)
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


class Pulling(Watched):
    """Another problem, whose backward passes are counted."""

    def __init__(self, base):
        super().__init__(base)
        self.pulls = 0

    def at(self, x):
        point = self.base.at(x)

        def vjp(weights):
            self.pulls += 1
            return point.vjp(weights)

        return Point(point.x, point.values, vjp, point.hvp)


def test_the_latest_gradient_is_not_computed_again_for_the_examiner():
    """The same weights at the same point; other weights, or another point, are pulled back anew."""
    base, x = Pulling(REFERENCES["convex"]().problem), np.array([0.5, 0.5])
    problem = WatchedProblem(base, Counter())
    weights = np.array([1.0, 2.0])
    gradient = problem.at(x).vjp(weights)
    weights[1] = 3.0  # the weights were copied
    seen = problem.free(x).vjp(np.array([1.0, 2.0]))
    assert base.pulls == 1
    np.testing.assert_array_equal(seen, gradient)
    seen[0] = 7.0  # so was the gradient
    np.testing.assert_array_equal(problem.free(x).vjp(np.array([1.0, 2.0])), gradient)
    problem.free(x).vjp(weights)
    assert base.pulls == 2
    problem.at(x.copy())
    problem.free(x).vjp(np.array([1.0, 2.0]))
    assert base.pulls == 3


def test_a_weighted_sum_of_gradients_at_hand_is_not_computed_again_for_the_examiner():
    base, x = Pulling(REFERENCES["convex"]().problem), np.ones(2)
    problem = WatchedProblem(base, Counter())
    point = problem.at(x)
    rows = point.gradients([0, 1])
    assert base.pulls == 2
    sum_ = problem.free(x).vjp(np.array([1.0, 2.5]))
    assert base.pulls == 2
    np.testing.assert_allclose(sum_, rows[0] + 2.5 * rows[1], rtol=1e-15)
    assert problem.counter.gradients == 2  # examinations are not counted


def test_of_many_gradients_at_a_point_the_latest_are_kept():
    pulled, d = Pulled(), 3
    for k in range(2 * MOST):
        pulled.note(np.eye(2 * MOST)[k], np.full(d, float(k)))
    assert len(pulled.weights) == MOST
    assert pulled.gradient(np.eye(2 * MOST)[0]) is None
    last = np.zeros(2 * MOST)
    last[-2:] = 1.0, 3.0
    np.testing.assert_array_equal(pulled.gradient(last), np.full(d, 30.0 + 3 * 31.0))
    last[0] = 1.0
    assert pulled.gradient(last) is None
    assert pulled.gradient(np.zeros(2 * MOST)) is None


def test_an_examination_is_the_same_to_the_last_bit_after_a_run_is_resumed():
    """A sum of gradients rounds otherwise than a gradient that is computed at once."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 40))

    class Mixed(Problem):
        dim, n_constraints, names, domain = 4, 2, ("a", "b"), WholeSpace()
        A = rng.normal(size=(40, 4))

        def at(self, x):
            scores = np.tanh(self.A @ x)
            slopes = 1 - scores**2
            return Point(x, rows @ scores, lambda w: self.A.T @ ((w @ rows) * slopes))

    x, weights = rng.normal(size=4), np.array([1.0, 0.3, 0.7])
    first, again = (WatchedProblem(Mixed(), Counter()) for _ in range(2))
    first.at(x).gradients(range(3))
    again.resume(first.latest, [], first.pulled)
    seen = first.free(x).vjp(weights)
    assert not np.array_equal(seen, Mixed().at(x).vjp(weights))
    np.testing.assert_array_equal(again.free(x).vjp(weights), seen)
    assert again.counter.gradients == 0
