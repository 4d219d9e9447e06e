"""Sequential quadratic programming: what it does not compute, and that nothing is lost by that."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, Point, Problem, sets, solve
from equipoise.solvers import SQP
from equipoise.solvers._methods.sqp import _products
from equipoise.solvers._sqp.curvature import faded, shrunk
from equipoise.solvers._sqp.opposites import Opposites
from equipoise.solvers._sqp.refinement import FORCING, with_better_step

RNG = np.random.default_rng(0)
A = RNG.normal(size=(300, 8)) * 1.5 ** -np.arange(8)
Y = np.where(A @ RNG.normal(size=8) + RNG.normal(size=300) > 0, 1.0, -1.0)
GROUP = np.where(A[:, 0] > 0, 1 / (A[:, 0] > 0).sum(), -1 / (A[:, 0] <= 0).sum())


class Parity(Problem):
    """Logistic loss under ``|gap| <= 0.02``; notes where gradients and products are asked for."""

    dim, n_constraints, names = 8, 2, ("gap", "-gap")
    domain, facts = sets.WholeSpace(), Facts(smooth=True)

    def __init__(self, products=False, bump=0.0):
        self.products, self.bump = products, bump
        self.gradients_at, self.products_at = [], []

    def at(self, x):
        score = A @ x
        p = 1 / (1 + np.exp(-score))
        gap, slope = GROUP @ p, p * (1 - p)
        far = self.bump * max(-x[1] - 0.7, 0.0)
        loss = np.logaddexp(0, -Y * score).mean() + 0.005 * x @ x
        values = np.array([loss, gap - 0.02, -gap - 0.02 + far**2])

        def vjp(w):
            self.gradients_at.append(x)
            by_score = w[0] * (p - (Y > 0)) / Y.size + (w[1] - w[2]) * GROUP * slope
            bumped = np.eye(8)[1] * (-2 * w[2] * self.bump * far)
            return A.T @ by_score + 0.01 * w[0] * x + bumped

        def hvp(w, v):
            self.products_at.append(x)
            bend = w[0] * slope / Y.size + (w[1] - w[2]) * GROUP * slope * (1 - 2 * p)
            return A.T @ (bend * (A @ v)) + 0.01 * w[0] * v

        return Point(x, values, vjp, hvp if self.products else None)


def path(problem, solver, steps):
    state = solver.init(problem, np.zeros(problem.dim))
    for t in range(steps):
        yield state
        state = solver.step(problem, state, t, None)
    yield state


def test_of_an_opposite_pair_one_gradient_is_computed():
    problem, twin, solver = Parity(), Parity(), SQP(tol=1e-14)
    for t, state in enumerate(path(problem, solver, 8)):
        np.testing.assert_array_equal(state.J, twin.at(state.x).gradients(range(3)))
        assert len(problem.gradients_at) == 3 + 2 * t


def test_of_an_opposite_pair_the_gradient_of_the_larger_function_is_computed():
    pulled, J = [], np.array([[3.0, 4.0], [1.0, 2.0], [-1.0, -2.0]])
    pairs = Opposites.among(np.array([0.0, -1.0, -1.0]), J)
    for values, larger in (([0.0, -0.5, -1.5], 1), ([0.0, -1.5, -0.5], 2)):
        pulled.clear()
        point = Point(np.zeros(2), np.array(values), lambda w: pulled.append(w) or w @ J)
        np.testing.assert_array_equal(pairs.gradients(point), J)
        assert [int(w.argmax()) for w in pulled] == [0, larger]


def test_an_examination_on_the_way_takes_no_gradient_of_its_own():
    problem, computed = Parity(), []
    result = solve(
        problem,
        SQP(tol=1e-14),
        max_steps=6,
        second_order=False,
        callback=lambda _: computed.append(len(problem.gradients_at)),
    )
    assert [row.step for row in result.trace.rows][:2] == [0, 3]
    assert computed == [3 + 2 * t for t in range(1, 7)]


def test_all_gradients_are_computed_where_the_method_stops():
    problem = Parity()
    result = solve(problem, SQP(tol=1e-8), tol=1e-8, second_order=False)
    assert result.success
    assert result.state.opposites.first.size == 0
    assert result.njev == 3 + 2 * result.nit + 3


def test_a_pair_whose_sum_changes_is_forgotten():
    problem, twin, forgotten = Parity(bump=0.5), Parity(bump=0.5), False
    for state in path(problem, SQP(tol=1e-14), 8):
        np.testing.assert_array_equal(state.J, twin.at(state.x).gradients(range(3)))
        paired = state.opposites.first.size == 1
        assert paired == (not forgotten and state.x[1] >= -0.7)
        forgotten = not paired
    assert forgotten


def test_pairs_are_told_apart():
    J = np.array([[5.0, 5.0], [1.0, 0.0], [0.0, 1.0], [-1.0, -0.0], [0.0, 2.0], [-0.0, -1.0]])
    pairs = Opposites.among(np.arange(6.0), J)
    assert list(zip(pairs.first, pairs.second)) == [(1, 3), (2, 5)]
    assert list(pairs.sums) == [4.0, 7.0]
    changed = pairs.still(np.array([0.0, 2.0, 3.0, 2.0, 0.0, 4.0 + 1e-12]))
    assert list(changed.first) == [1]
    assert list(changed.still(np.array([0.0, 1e9, 0.0, 4 - 1e9, 0.0, 0.0])).first) == [1]


class Saddle(Problem):
    """``x0 + x1 x2 >= 1/2`` and ``x0 <= 1``: opposite at the start, and the sum stays where x2 is 0."""

    dim, n_constraints, names = 3, 2, ("least", "most")
    domain, facts = sets.WholeSpace(), Facts(smooth=True)

    def at(self, x):
        away = x - np.array([0.0, 1.0, 0.0])
        values = np.array([away @ away, 0.5 - x[0] - x[1] * x[2], x[0] - 1.0])
        J = np.array([2 * away, [-1.0, -x[2], -x[1]], [1.0, 0.0, 0.0]])
        return Point(x, values, lambda w: w @ J)


def test_a_sum_that_stays_by_chance_leads_to_no_false_end():
    """With minus the other gradient the iterates end at (0.5, 1, 0), which is no KKT point."""
    result = solve(Saddle(), SQP(tol=1e-8), np.zeros(3), tol=1e-7, second_order=False)
    assert result.success
    assert result.x[2] > 0.1


def test_products_are_spent_on_the_next_step_only():
    problem = Parity(products=True)
    solver = SQP(tol=1e-8)
    solver.init(problem, np.zeros(8))
    assert problem.products_at == []
    result = solve(problem, solver, tol=1e-8, second_order=False)
    assert result.success
    assert result.nhev > 0
    assert not any(np.array_equal(x, result.x) for x in problem.products_at)


def test_a_point_is_not_evaluated_again_for_its_products():
    result = solve(Parity(products=True), SQP(tol=1e-8), tol=1e-8, second_order=False)
    assert result.nfev == result.nit + 1


@pytest.mark.parametrize(
    ("seen", "factor"), [(0.8, 0.4), (0.01, 0.2), (1.5, 0.75), (3.0, 1.0), (0.0, 1.0), (-1.0, 1.0)]
)
def test_a_first_matrix_is_made_smaller_by_what_the_first_step_shows(seen, factor):
    B, s = np.diag([1.0, 4.0]), np.array([1.0, 0.5])
    y = seen * (B @ s)
    np.testing.assert_allclose(shrunk(B, s, y), factor * B)


def test_flat_functions_take_few_steps():
    """The start knows nothing of curvatures from 0.1 to 0.4; learnt one by one they take 30 steps."""

    class Flat(Problem):
        dim, n_constraints, names = 12, 0, ()
        domain, facts = sets.WholeSpace(), Facts(smooth=True)
        bend = np.linspace(0.1, 0.4, 12)

        def at(self, x):
            to = x - 1.0
            value = np.array([0.5 * self.bend @ to**2])
            return Point(x, value, lambda w: w[0] * self.bend * to)

    result = solve(Flat(), SQP(tol=1e-7), tol=1e-6, second_order=False)
    assert result.success
    assert result.nit <= 15


def test_the_state_is_refined_only_where_rows_agree():
    """Rows that exclude each other leave a step that no exact program has: it is taken as it is."""
    problem, solver = Parity(products=True), SQP()
    state = solver.init(problem, np.zeros(8))
    solver.step(problem, replace(state, elastic=True), 0, None)
    assert problem.products_at == []


def test_a_matrix_fades_as_the_curvature_along_a_step_does():
    B, s = np.diag([4.0, 1.0, 2.0]), np.array([1.0, 2.0, 0.0])
    for left, share in ((0.7, 0.7), (0.1, 0.5), (1.5, 1.0), (-1.0, 1.0)):
        np.testing.assert_allclose(faded(B, s, left * (B @ s)), share * B, rtol=1e-15)


def test_products_correct_the_model_along_the_step():
    """Before the update at the next iterate, which then knows by how much the curvature has fallen."""
    problem = Parity(products=True)
    solver = SQP(tol=1e-14)
    state = solver.init(problem, np.zeros(8))
    assert not state.exact
    better = with_better_step(problem, state, _products(problem, state.x))
    assert better.exact
    weights = np.concatenate(([1.0], state.lam))
    s, exact = better.s, problem.at(state.x).hvp(weights, better.s)
    assert abs(s @ (better.B @ s - exact)) <= FORCING * abs(s @ (state.B @ s - exact))
    assert not solver.step(problem, state, 0, None).exact
