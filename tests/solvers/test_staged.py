"""The two loops of staged methods: which step the inner method is told it takes, and when a stage ends."""

from dataclasses import dataclass

import numpy as np
import pytest

from equipoise import Status
from equipoise.solvers._solver import Guarantee
from equipoise.solvers._staged import Staged

from .lines import line


@dataclass(frozen=True)
class Counting:
    """Takes as many steps as it is told, and notes their numbers."""

    steps: int

    def init(self, problem, x0):
        return x0, ()

    def step(self, problem, state, t, rng):
        return state[0], (*state[1], t)

    def verdict(self, state):
        return Status.MAX_STEPS if len(state[1]) >= self.steps else None


@dataclass(frozen=True)
class Outer:
    """The stages so far: where each began, and the steps it took."""

    x: np.ndarray
    stages: tuple = ()


class Stages(Staged):
    """Takes one, two, three, ... steps, each stage from one further than the last."""

    name = "stages"
    guarantee = Guarantee(problems="", quantity="", rate="", reference="")

    def begin(self, problem, x0):
        return Outer(x0)

    def subproblem(self, problem, outer):
        return problem

    def inner(self, problem, outer):
        return Counting(len(outer.stages) + 1)

    def absorb(self, problem, outer, solver, inner, rng):
        return Outer(outer.x + 1, (*outer.stages, inner))

    def answer(self, outer):
        return outer.x, None

    def finished(self, outer):
        return Status.CONVERGED if outer.stages else None


@pytest.mark.parametrize(
    ("steps", "k", "stage", "x"),
    [
        (0, 0, 0, 0.0),
        (1, 0, 1, 1.0),
        (2, 1, 1, 1.0),
        (3, 0, 2, 2.0),
        (5, 2, 2, 2.0),
        (6, 0, 3, 3.0),
    ],
)
def test_stages_follow_one_another(steps, k, stage, x):
    method, problem = Stages(), line([1.0])
    state = method.init(problem, np.zeros(1))
    for t in range(steps):
        state = method.step(problem, state, 1000 + t, None)
    assert (state.k, state.stage) == (k, stage)
    assert method.output(state)[0].tolist() == [x]
    assert [(begun.tolist(), taken) for begun, taken in state.outer.stages] == [
        ([float(i)], tuple(range(i + 1))) for i in range(stage)
    ]
    assert method.verdict(state) is (Status.CONVERGED if k == 0 and stage > 0 else None)
