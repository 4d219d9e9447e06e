"""Signs, early ends and limits inside the steps of the methods, each against a value by hand."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, Problem, sets
from equipoise.problems import QuadraticProblem
from equipoise.sets import LinearRows
from equipoise.solvers import SQP, AugmentedNewton
from equipoise.solvers import AcceleratedProjectedGradient as APG
from equipoise.solvers._methods import augmented_newton
from equipoise.solvers._minmax.dual_start import check_dual
from equipoise.solvers._newton.chord import Chord
from equipoise.solvers._newton.descent import _newton
from equipoise.solvers._newton.jump import jump
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.remembered import Notes
from equipoise.solvers._newton.state import State
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._solver import check_needs
from equipoise.solvers._sqp.arrival import confirmed, first_state
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram
from equipoise.solvers._sqp.refinement import with_better_step
from equipoise.solvers._sqp.restoration import LEAST_DAMPING, lower_violation
from equipoise.solvers._sqp.search import _corrected
from equipoise.solvers._wrappers.averaged import Mean

from .test_sqp_work import Parity


def affine(slope, rows, offsets, domain=None):
    slope, rows = np.array(slope, float), [np.array(row, float) for row in rows]
    functions = [lambda x, row=row, b=b: (row @ x + b, row) for row, b in zip(rows, offsets)]
    return FunctionProblem(lambda x: (slope @ x, slope), functions, domain=domain, dim=slope.size)


def test_new_multipliers_leave_an_active_bound_alone():
    problem = affine([1.0, 1.0], [[0.0, 1.0]], [1.0], sets.Box(0, 1, dim=2))
    point = problem.at(np.array([0.0, 0.5]))
    state = State(pair_at(problem, point, np.zeros(1)), np.zeros(1), 2.0, accuracy=1e9)
    updated, way = _newton(problem, state, 5.0, 1e-9)
    np.testing.assert_allclose(updated.lam, [3.0])
    assert way.g[1] > 1.0
    np.testing.assert_allclose(way.downhill, [0.0, -way.g[1]])


@pytest.mark.parametrize("matrix", [True, False])
def test_chord_steps_need_an_estimate_that_is_a_matrix(matrix, monkeypatch):
    followed = []
    monkeypatch.setattr(Chord, "follow", lambda *given: followed.append(given) or given[2])
    H = np.diag([1.0, 3.0])
    problem = QuadraticProblem([H], [np.ones(2)], [0.0], sets.WholeSpace())
    at = pair_at(problem, problem.at(np.ones(2)), np.zeros(0))
    estimate = Preconditioner.of(H if matrix else np.diag(H))
    landed, _ = jump(problem, at, 1.0, estimate, 1e-9)
    np.testing.assert_allclose(landed.x, [-1.0, -1 / 3], rtol=1e-6)
    assert len(followed) == matrix


def test_one_remembered_direction_corrects_the_preconditioner():
    H, p = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    notes = Notes(2)
    notes(p, H @ p, p @ H @ p)
    known = Preconditioner.of(np.ones(2)).after(notes, 6)
    assert len(known.remembered) == 1
    np.testing.assert_allclose(known.solve(H @ p), p, rtol=1e-5)


def test_nothing_is_joined_to_an_average_of_nothing():
    nothing, some = Mean(np.array([1e20]), None, 0), Mean(np.ones(1), np.ones(2), 3)
    assert nothing.joined(some) is some
    assert some.joined(nothing) is some


@pytest.mark.parametrize(("x", "move", "idle"), [(1e3, 1.2e-13, 1), (1e-3, 1e-17, 0)])
def test_a_step_is_idle_relative_to_the_point(x, move, idle):
    problem, solver = affine([move], [], []), APG(step_size=1.0, tol=0.0)
    state = solver.step(problem, solver.init(problem, np.array([x])), 0, None)
    assert state.x[0] != x
    assert state.idle == idle


def test_what_is_wrong_is_named_where_it_is_given():
    with pytest.raises(ValueError, match="must be a pair"):
        check_dual([np.ones(1), np.ones(1), np.ones(1)])
    with pytest.raises(TypeError, match="problem"):
        check_needs(APG(), None, np.zeros(1))
    with pytest.raises(TypeError, match="solver"):
        check_needs(None, affine([1.0], [], []), np.zeros(1))


class Bowl(Problem):
    """``|x|^2 / 2 + x_0 + x_1``, which knows how it bends."""

    dim, n_constraints, names = 2, 0, ()
    domain, facts = sets.WholeSpace(), Facts(smooth=True)

    def at(self, x):
        value = np.array([0.5 * x @ x + x.sum()])
        return Point(x, value, lambda w: w[0] * (x + 1), curvature=lambda w: w[0] * np.eye(2))


@pytest.mark.parametrize("residual", [1e-6, 4.0])
def test_jumps_are_as_exact_as_the_root_of_the_residual(residual, monkeypatch):
    asked = []

    def refused(problem, at, b, known, forcing, rows, tol):
        asked.append(forcing)
        return None, known

    monkeypatch.setattr(augmented_newton, "jump", refused)
    problem, solver = Bowl(), AugmentedNewton()
    state = solver.init(problem, np.zeros(2))
    pair = replace(state.pair, residual=residual)
    solver.step(problem, replace(state, pair=pair, estimate_suffices=False), 0, None)
    assert asked == [pytest.approx(min(augmented_newton.FORCING, residual**0.5)), 1.0]


@pytest.mark.parametrize(("ahead", "to"), [(0.5, 0.5), (0.9, 0.1), (1.5, None)])
def test_a_correction_longer_than_its_step_is_none(ahead, to):
    problem = affine([-1.0], [[1.0]], [-1.0])
    state = first_state(problem, problem.at(np.zeros(1)), np.zeros(1), np.array([[0.1]]))
    np.testing.assert_allclose(state.s, [1.0])
    found = _corrected(problem, state, replace(problem.at(np.ones(1)), values=np.array([0, ahead])))
    assert (found is None) if to is None else found.x[0] == pytest.approx(to)


@pytest.mark.parametrize(("damping", "after"), [(1.0, 0.1), (LEAST_DAMPING, LEAST_DAMPING)])
def test_restoration_is_damped_in_units_of_violated_constraints(damping, after):
    """``1 + x_0 + x_1`` is violated; ``10 x_1``, which is 0, does not make x_1 harder to move."""
    problem = affine([0.0, 0.0], [[1.0, 1.0], [0.0, 10.0]], [1.0, 0.0])
    state = first_state(problem, problem.at(np.zeros(2)), np.zeros(2), np.eye(2))
    found, later = lower_violation(problem, replace(state, damping=damping))
    np.testing.assert_allclose(found.x, np.full(2, -1 / (2 + damping)), rtol=1e-6)
    assert later == pytest.approx(after)


def test_products_that_are_of_no_use_leave_the_state():
    problem = Parity(products=True)
    state = SQP().init(problem, np.zeros(8))
    assert with_better_step(problem, state, lambda *_: lambda v: -v) is state


def test_a_state_with_another_gradient_is_not_stuck():
    problem = Parity()
    state = replace(SQP().init(problem, np.zeros(8)), stuck=True)
    assert state.opposites.first.size == 1
    assert confirmed(problem, state).stuck
    assert not confirmed(problem, replace(state, J=2 * state.J)).stuck


def test_multipliers_of_squared_slacks_are_the_slacks():
    rows = linear_rows(sets.WholeSpace(), np.zeros(2))
    assert isinstance(rows, LinearRows)
    program = QuadraticProgram(np.eye(2), np.zeros(2), np.array([1.0, -5.0]), 2 * np.eye(2), rows)
    answer = program.least_squares()
    np.testing.assert_allclose(answer.s, [-0.4, 0.0], atol=1e-9)
    np.testing.assert_allclose(answer.lam, [0.2, 0.0], atol=1e-9)
