"""What a step of `SQP` is refined to: how far, and what is left where a program has no answer."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from equipoise import FunctionProblem
from equipoise.sets import LinearRows
from equipoise.solvers._sqp import refinement
from equipoise.solvers._sqp.arrival import first_state, program_at, restarted
from equipoise.solvers._sqp.curvature import first_matrix, probed, updated
from equipoise.solvers._sqp.quadratic_program import Answer, QuadraticProgram
from equipoise.solvers._sqp.refinement import FORCING, refined, with_better_step

A = np.array([[5.0, 1.0], [1.0, 3.0]])


def started(**changes):
    problem = FunctionProblem(
        lambda x: (0.5 * x @ A @ x - x[0], A @ x - [1.0, 0.0]),
        [lambda x: (x[0] + x[1] ** 2 - 3, np.array([1.0, 2 * x[1]]))],
        dim=2,
    )
    state = first_state(problem, problem.at(np.ones(2)), np.zeros(1), np.eye(2))
    return problem, replace(state, **changes)


@pytest.mark.parametrize(
    ("least", "enough"), [(4.0, FORCING * 4.0), (0.01, FORCING * 0.01), (1e-4, 1e-6), (1e-6, 1e-9)]
)
def test_the_better_an_iterate_the_better_its_step(least, enough, monkeypatch):
    """A tenth of the residual is left, or its square root times it, which makes steps superlinear."""
    seen = []
    monkeypatch.setattr(
        refinement, "refined", lambda *given: seen.append(given) or (given[0].H, None)
    )
    problem, state = started(least=least, fresh=False)
    assert with_better_step(problem, state, lambda *_: lambda v: A @ v) is state
    assert seen[0][3] == pytest.approx(enough, rel=1e-12)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("among_few", [True, False])
def test_only_a_first_matrix_among_many_variables_is_probed(fresh, among_few, monkeypatch):
    """Else its size is told by the first product, where it is a first one."""
    seen = []
    monkeypatch.setattr(refinement, "PROBED_FROM", 3 if among_few else 2)
    monkeypatch.setattr(
        refinement, "refined", lambda *given: seen.append(given) or (given[0].H, given[1])
    )
    problem, state = started(fresh=fresh)
    after = with_better_step(problem, state, lambda *_: lambda v: A @ v)
    probing = fresh and not among_few
    assert seen[0][4] == (fresh and among_few)
    np.testing.assert_array_equal(
        seen[0][0].H, probed(lambda v: A @ v, state.unit) if probing else state.B
    )
    assert after.exact == probing
    if not probing:
        assert after is state


def test_products_are_weighted_by_the_multipliers():
    problem, state = started(lam=np.array([7.0]), fresh=False, least=1e9)
    asked = []

    def hessian(point, weights, gradient):
        asked.append((point.x, weights, gradient))
        return lambda v: A @ v

    with_better_step(problem, state, hessian)
    assert asked[0][0].tolist() == [1.0, 1.0]
    assert asked[0][1].tolist() == [1.0, 7.0]
    np.testing.assert_allclose(asked[0][2], [5 + 7.0, 4 + 14.0])


@dataclass(frozen=True)
class Unsolved(QuadraticProgram):
    """A program for which no solver finds an answer."""

    def solve(self):
        return None


def test_the_last_step_stays_where_a_better_program_has_no_answer():
    program = Unsolved(
        np.eye(2), np.array([1.0, -2.0]), np.empty(0), np.empty((0, 2)), LinearRows.of(2)
    )
    first = Answer(np.array([-1.0, 2.0]), np.zeros(0))
    H, answer = refined(program, first, lambda v: A @ v, 1e-12, False)
    assert answer is first
    np.testing.assert_allclose(H, updated(np.eye(2), first.s, A @ first.s), rtol=1e-12)


def test_a_probed_program_without_an_answer_keeps_the_step(monkeypatch):
    monkeypatch.setattr(refinement, "PROBED_FROM", 2)
    problem, state = started(fresh=True, least=1e9)
    known = program_at(problem, state)
    monkeypatch.setattr(
        refinement,
        "program_at",
        lambda *_: Unsolved(known.H, known.g, known.f, known.J, known.rows),
    )
    after = with_better_step(problem, state, lambda *_: lambda v: A @ v)
    np.testing.assert_array_equal(after.s, state.s)
    assert after.exact


def test_a_restart_has_the_matrix_of_a_start_from_there():
    """It is made of the slope of the objective, 50, and not of that of a constraint."""
    slope = np.array([30.0, 40.0])
    problem = FunctionProblem(
        lambda x: (slope @ x, slope), [lambda x: (x[0] - 9, np.eye(2)[0])], dim=2
    )
    state = first_state(problem, problem.at(np.zeros(2)), np.zeros(1), 7.0 * np.eye(2))
    again = restarted(problem, replace(state, fresh=False, unit=np.ones(2)))
    np.testing.assert_allclose(again.B, 50.0 * np.eye(2))
    np.testing.assert_allclose(again.B, first_matrix(state.x, slope, np.ones(2)))
    assert again.fresh
