"""One method after another: the numbers of their steps, and when the second takes over."""

from dataclasses import dataclass

import numpy as np
import pytest

from equipoise import Status
from equipoise.solvers import Sequence
from equipoise.solvers._solver import Guarantee, Solver

from .lines import line


@dataclass(frozen=True)
class Counting(Solver):
    """Notes the numbers of its steps, and is stuck after so many."""

    stuck_after: int
    first: float = 0.0

    name = "counting"
    guarantee = Guarantee(problems="", quantity="", rate="", reference="")

    def init(self, problem, x0):
        return (*x0, ())

    def step(self, problem, state, t, rng):
        return (*state[:-1], (*state[-1], t))

    def output(self, state):
        return np.array([self.first]), np.full(1, float(len(state[-1])))

    def verdict(self, state):
        return Status.STALLED if len(state[-1]) >= self.stuck_after else None


@pytest.mark.parametrize(
    ("stuck_after", "steps", "first"), [(3, 200, 3), (9, 4, 4), (4, 4, 4), (1, 1, 1)]
)
def test_the_second_method_counts_its_own_steps(stuck_after, steps, first):
    method = Sequence(Counting(stuck_after, first=7.0), Counting(2), steps=steps)
    problem = line([1.0])
    state = method.init(problem, np.zeros(1))
    assert (state.second, state.k, state.inner) == (False, 0, (0.0, ()))
    for t in range(first):
        assert not state.second
        assert method.verdict(state) is None
        state = method.step(problem, state, 100 + t, None)
    assert (state.second, state.k, state.inner) == (True, 0, (7.0, ()))
    for k in (1, 2):
        assert method.verdict(state) is None
        state = method.step(problem, state, 100, None)
        assert (state.second, state.k, state.inner) == (True, k, (7.0, tuple(range(k))))
    assert method.verdict(state) is Status.STALLED
    assert method.output(state)[1].tolist() == [2.0]
