"""Edges of switching and of virtual queues, each rule from both sides."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, Status, sets
from equipoise.solvers import (
    StrongSwitching,
    SwitchingSubgradient,
    YuNeelyWei,
)
from equipoise.solvers._parts.steps import Constant

from .lines import Fixed, line

# ------------------------------------------------------------------ switching


@pytest.mark.parametrize(("excess", "switched"), [(0.25, False), (0.26, True)])
@pytest.mark.parametrize(("number", "drawn"), [(0.24, True), (0.25, False)])
def test_a_step_of_switching(excess, switched, number, drawn):
    problem = line([2.0], [[-3.0], [1.0]], [excess, -9.0])
    solver = SwitchingSubgradient(step_size=Constant(0.5), slack=Constant(0.25))
    state = replace(
        solver.init(problem, np.zeros(1)), weight=1.5, drawn=np.ones(1), feasible=np.ones(1)
    )
    after = solver.step(problem, state, 0, Fixed(number))
    if switched:
        assert after.x[0] == 1.5
        assert (after.weight, after.drawn[0], after.feasible[0]) == (1.5, 1.0, 1.0)
    else:
        assert after.x[0] == -1.0
        assert (after.weight, after.feasible[0]) == (2.0, 0.0)
        assert after.drawn[0] == (0.0 if drawn else 1.0)
        first = solver.step(problem, replace(state, drawn=None), 0, Fixed(0.99))
        assert first.drawn[0] == 0.0
    assert solver.output(after)[0][0] == (1.0 if switched else 0.0)
    assert solver.output(replace(after, feasible=None))[0][0] == after.x[0]


@pytest.mark.parametrize(("excess", "switched"), [(0.25, False), (0.26, True)])
def test_a_step_of_strong_switching(excess, switched):
    problem = line([2.0], [[-3.0], [1.0]], [excess, -9.0])
    solver = StrongSwitching(mu=0.5, slack=0.25, steps=7)
    state = replace(
        solver.init(problem, np.zeros(1)), k=3, weight=6.0, mean=np.full(1, 5.0), excess=0.3
    )
    after = solver.step(problem, state, 3, np.random.default_rng(0))
    gamma = 2 / (0.5 * 5)
    assert after.z[0] == pytest.approx(gamma * 3.0 if switched else -gamma * 2.0)
    if switched:
        assert (after.weight, after.mean[0]) == (6.0, 5.0)
    else:
        assert after.weight == 10.0
        assert after.mean[0] == pytest.approx(5.0 - 0.4 * 5.0)
    assert (after.excess, after.best[0], after.k) == (excess, 0.0, 4)
    same = replace(state, excess=excess, best=np.ones(1))
    assert solver.step(problem, same, 3, np.random.default_rng(0)).best[0] == 1.0
    assert solver.verdict(replace(after, k=6)) is None
    assert solver.verdict(replace(after, k=7)) is Status.MAX_STEPS
    short = StrongSwitching(mu=0.5, slack=0.3)
    assert short.verdict(replace(after, k=3)) is None
    assert short.verdict(replace(after, k=4)) is Status.MAX_STEPS
    assert replace(after, weight=0.0).failed


# ------------------------------------------------------------------ queues


@pytest.mark.parametrize("lipschitz", [None, 3.0])
def test_a_step_of_virtual_queues(lipschitz):
    problem = line(
        [2.0, -1.0],
        [[1.0, 0.5], [-2.0, 1.0], [0.0, 1.0]],
        [0.4, -0.3, -50.0],
        domain=sets.Box(-1, 1, dim=2),
        facts=Facts(lipschitz=lipschitz),
    )
    solver = YuNeelyWei(steps=16, objective_weight=3.0, damping=5.0)
    z, Q = np.array([0.3, -0.2]), np.array([0.7, 0.1, 2.0])
    state = replace(solver.init(problem, z), Q=Q, mean=np.ones(2), k=4)
    after = solver.step(problem, state, 4, np.random.default_rng(0))
    J = np.array([[1.0, 0.5], [-2.0, 1.0], [0.0, 1.0]])
    f = J @ z + [0.4, -0.3, -50.0]
    moved = np.clip(z - (3.0 * np.array([2.0, -1.0]) + Q @ J) / 10.0, -1, 1)
    np.testing.assert_allclose(after.z, moved, rtol=1e-12)
    np.testing.assert_allclose(after.Q, np.maximum(Q + f + J @ (moved - z), 0), rtol=1e-12)
    np.testing.assert_allclose(after.mean, 1 + (z - 1) / 5, rtol=1e-12)
    assert after.k == 5
    np.testing.assert_allclose(solver.output(after)[1], after.Q / 3.0)
    assert solver.verdict(replace(after, k=15)) is None
    assert solver.verdict(replace(after, k=16)) is Status.MAX_STEPS
    usual = YuNeelyWei(steps=16, multipliers=(1.0, 2.0, 3.0))
    assert usual.init(problem, z).Q.tolist() == [4.0, 8.0, 12.0]
    after = usual.step(problem, usual.init(problem, z), 0, np.random.default_rng(0))
    d = 4.0 * np.array([2.0, -1.0]) + np.array([4.0, 8.0, 12.0]) @ J
    np.testing.assert_allclose(after.z, np.clip(z - d / 32.0, -1, 1), rtol=1e-12)
