"""The edges of the level-set method and of the augmented Newton method, each from both sides."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Status, sets
from equipoise.problems import QuadraticProblem
from equipoise.solvers import (
    AugmentedNewton,
    LevelSet,
)
from equipoise.solvers._methods import augmented_newton as newton_module
from equipoise.solvers._methods.augmented_newton import _landed
from equipoise.solvers._methods.level_set import Outer as Level
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.state import State as NewtonState

from .lines import line

# ------------------------------------------------------------------ the level-set method


class Bracketed:
    """Stands for an inner method that has found a bracket."""

    def __init__(self, upper, lower, weights, reached=True):
        self.found = SimpleNamespace(
            x=np.array([0.5]), upper=upper, lower=lower, weights=np.array(weights)
        )
        self.is_reached = reached

    def bracket(self, _):
        return self.found

    def reached(self, _):
        return self.is_reached


def leveled(level, inner, retries=0, **options):
    problem = line([2.0], [[1.0]], [-1.0])
    solver = LevelSet(theta=2.0, eps_opt=0.125, **options)
    state = Level(np.zeros(1), level, math.inf, math.inf, None, retries)
    return solver, solver.absorb(problem, state, inner, None, None)


def test_the_level_falls_by_a_share_of_the_upper_bound():
    solver, after = leveled(3.0, Bracketed(-0.5, -0.75, [0.25, 0.75]))
    assert after.level == 3.0 - 0.5 / 4.0
    assert after.upper == -0.5
    assert after.gap == -0.5 + 0.75 / 0.25
    assert after.multipliers.tolist() == [3.0]
    assert (after.retries, after.ended) == (0, False)
    assert solver.finished(after) is None
    assert replace(solver, gap=2.5).finished(after) is Status.STALLED


@pytest.mark.parametrize(
    ("upper", "reached", "retries", "ended"),
    [
        (-0.125, True, 0, True),
        (-0.125, False, 2, False),
        (-0.125, False, 3, True),
        (0.0, True, 1, True),
    ],
)
def test_a_level_near_its_root_ends_the_search(upper, reached, retries, ended):
    solver, after = leveled(3.0, Bracketed(upper, -0.25, [0.5, 0.5], reached), retries)
    assert after.level == 3.0
    assert (after.retries, after.ended) == (retries + 1, ended)
    assert solver.finished(after) is (Status.STALLED if ended else None)


def test_levels_without_a_point_or_with_one():
    _, after = leveled(math.inf, Bracketed(0.0, -1.0, [0.0, 1.0]))
    assert (after.level, after.gap, after.multipliers) == (1.0, math.inf, None)
    _, after = leveled(3.0, Bracketed(1e-9, -1.0, [0.5, 0.5]))
    assert after.level == math.inf
    assert after.multipliers is None
    solver, after = leveled(math.inf, Bracketed(1e-9, -1.0, [0.0, 1.0]))
    assert (after.level, after.gap, after.ended) == (math.inf, math.inf, True)
    assert solver.finished(after) is Status.LOCALLY_INFEASIBLE
    assert solver.finished(replace(after, ended=False)) is None


def test_the_first_level_is_the_objective_of_a_feasible_start():
    problem = line([2.0], [[1.0]], [-1.0])
    assert LevelSet().begin(problem, np.ones(1)).level == 2.0
    assert LevelSet().begin(problem, np.array([1.001])).level == math.inf
    assert LevelSet(level=7.0).begin(problem, np.ones(1)).level == 7.0


# ------------------------------------------------------------------ the augmented Newton method


def newton_state(**changes):
    problem = QuadraticProblem([np.eye(1)], [np.zeros(1)], [0.0], sets.WholeSpace())
    pair = pair_at(problem, problem.at(np.ones(1)), np.zeros(0))
    return problem, NewtonState(pair, np.zeros(0), 2.0, accuracy=0.5, **changes)


@pytest.mark.parametrize(("residual", "slow"), [(2.0, False), (2.01, True)])
def test_a_jump_is_slow_that_does_not_halve_the_least_residual(residual, slow):
    _, state = newton_state(jump_residual=4.0, slow=3, stuck=2, stalled=5, k=6)
    state = replace(state, pair=replace(state.pair, residual=9.0), estimate_suffices=True)
    pair = replace(state.pair, residual=residual, lam=np.ones(1))
    after = _landed(state, pair)
    assert after.pair is pair
    assert after.lam is pair.lam
    assert after.accuracy == min(0.5, 0.1 * residual)
    assert after.jump_residual == residual
    assert (after.k, after.stalled) == (0, 0)
    assert (after.stuck, after.slow) == ((2, 4) if slow else (0, 0))
    assert after.estimate_suffices
    exactly = replace(state, pair=replace(state.pair, residual=2 * residual))
    assert _landed(exactly, pair).estimate_suffices
    less = replace(state, pair=replace(state.pair, residual=1.99 * residual))
    assert not _landed(less, pair).estimate_suffices
    assert not _landed(replace(state, estimate_suffices=False), pair).estimate_suffices
    assert _landed(state, replace(pair, residual=40.0)).jump_residual == 4.0


def test_the_ends_of_the_augmented_newton_method():
    _, state = newton_state()
    solver = AugmentedNewton(tol=0.25)
    at = replace(state.pair, residual=0.25)
    assert solver.verdict(replace(state, pair=at)) is Status.CONVERGED
    assert solver.verdict(replace(state, pair=replace(at, residual=0.26))) is None
    for name, most in (
        ("stalled", newton_module.MAX_STALLED_STEPS),
        ("stuck", newton_module.MAX_STUCK_UPDATES),
    ):
        assert solver.verdict(replace(state, **{name: most - 1})) is None
        assert solver.verdict(replace(state, **{name: most})) is Status.STALLED


@pytest.mark.parametrize(
    ("slow", "jumps"),
    [
        (0, True),
        (newton_module.PATIENCE_WITH_JUMPS - 1, True),
        (newton_module.PATIENCE_WITH_JUMPS, False),
        (2 * newton_module.PATIENCE_WITH_JUMPS - 1, False),
        (2 * newton_module.PATIENCE_WITH_JUMPS, True),
    ],
)
@pytest.mark.parametrize(
    ("suffices", "good", "anew"), [(True, True, 1), (False, False, 1), (False, True, 0)]
)
def test_jumps_are_tried_for_a_while_and_left_for_as_long(
    slow, jumps, suffices, good, anew, monkeypatch
):
    asked, seen, made = [], [], []

    def refused(problem, at, b, known, forcing, rows, tol):
        asked.append((forcing, rows))
        return None, known

    def descended(problem, state, growth, tol):
        seen.append((state, growth, tol))
        return state

    of = Preconditioner.of
    monkeypatch.setattr(newton_module, "jump", refused)
    monkeypatch.setattr(newton_module, "descend", descended)
    monkeypatch.setattr(Preconditioner, "of", lambda *given: made.append(1) or of(*given))
    problem, state = newton_state(slow=slow, estimate_suffices=suffices)
    curved = SimpleNamespace(
        at=lambda x: replace(problem.at(x), curvature=lambda w: w[0] * np.eye(1)), dim=1
    )
    known = replace(of(np.eye(1)), good=good)
    solver = AugmentedNewton(tol=1e-3, growth=7.0)
    solver.step(curved, replace(state, preconditioner=known), 0, None)
    assert len(made) == anew
    assert len(asked) == jumps * (1 if suffices else 2)  # with CG, then with the estimate itself
    ((after, growth, tol),) = seen
    assert (growth, tol) == (7.0, 1e-3)
    assert after.preconditioner is not None
    failed = 2 * newton_module.PATIENCE_WITH_JUMPS - newton_module.STEPS_AFTER_FAILURE
    assert after.slow == 1 + (failed if jumps and not suffices else slow)
    assert after.estimate_suffices is (suffices and not jumps)
    if jumps:
        forcing = 1.0 if suffices else min(newton_module.FORCING, state.pair.residual**0.5)
        rows = 1.0 if suffices else newton_module.ROW_FORCING_MATRIX
        assert asked == [(pytest.approx(forcing), rows), (1.0, 1.0)][: len(asked)]


@pytest.mark.parametrize(
    ("memory", "has_products", "asked"), [(1, False, 1), (0, False, 0), (1, True, 0)]
)
def test_jumps_from_remembered_steps_are_for_problems_without_products(
    memory, has_products, asked, monkeypatch
):
    jumps, descents = [], []
    monkeypatch.setattr(
        newton_module, "quasi_jump", lambda p, state, m: jumps.append(m) or (None, state)
    )
    monkeypatch.setattr(newton_module, "descend", lambda *given: descents.append(given) or given[1])
    problem, state = newton_state(slow=3)
    hvp = (lambda w, v: v) if has_products else None
    plain = SimpleNamespace(at=lambda x: replace(problem.at(x), curvature=None, hvp=hvp), dim=1)
    solver = AugmentedNewton(memory=memory)
    solver.step(plain, state, 0, None)
    assert len(jumps) == asked
    assert descents[0][1].slow == 4
    assert descents[0][1].preconditioner is None
    if asked:
        landed = replace(state.pair, residual=0.0)
        monkeypatch.setattr(newton_module, "quasi_jump", lambda p, s, m: (landed, s))
        assert solver.step(plain, state, 0, None).pair is landed
