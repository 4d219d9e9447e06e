"""The jump of the Newton method: a step of sequential quadratic programming."""

import cvxpy as cp
import numpy as np
import pytest

from equipoise import sets, solve
from equipoise._problem import Point, Problem
from equipoise.constraints import bind, demographic_parity, equalized_odds
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem, QuadraticProblem
from equipoise.solvers import AugmentedNewton
from equipoise.solvers._newton.chord import Chord
from equipoise.solvers._newton.conjugate_gradients import conjugate_gradients
from equipoise.solvers._newton.dual_multipliers import dual_multipliers
from equipoise.solvers._newton.hessian import hessian, raised, raised_inverse
from equipoise.solvers._newton.jump import jump
from equipoise.solvers._newton.known_hessian import known_jump
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.remembered import Notes


def quadratic(rng, d=6, m=3):
    """Strongly convex objective, linear constraints: one exact jump solves it."""
    B = rng.normal(size=(d, d))
    P = np.concatenate(([B @ B.T + np.eye(d)], np.zeros((m, d, d))))
    q = rng.normal(size=(m + 1, d))
    return QuadraticProblem(P, q, np.concatenate(([0.0], rng.normal(size=m))), sets.WholeSpace())


@pytest.mark.parametrize("seed", range(10))
def test_one_jump_solves_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    problem = quadratic(rng)
    P, q, c = problem.P, problem.q, problem.c
    x = cp.Variable(6)
    bounds = [q[i] @ x + c[i] <= 0 for i in range(1, 4)]
    cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(P[0])) / 2 + q[0] @ x), bounds).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    start = rng.normal(size=6)
    at = pair_at(problem, problem.at(start), np.full(3, 1e-9))  # all are candidates
    landed, _ = jump(problem, at, 1e3, Preconditioner.of(P[0].copy()), 1e-12, 1e-12)
    np.testing.assert_allclose(landed.x, x.value, atol=1e-6)
    np.testing.assert_allclose(landed.lam, [float(b.dual_value) for b in bounds], atol=1e-5)
    assert landed.residual < 1e-8


def test_one_jump_solves_a_program_that_only_its_constraint_makes_convex():
    """Minimise (x^2 - y^2) / 2 for y <= 1: the solution (0, 1) has the multiplier 1."""
    problem = QuadraticProblem(
        [np.diag([1.0, -1.0]), np.zeros((2, 2))],
        [[0.0, 0.0], [0.0, 1.0]],
        [0.0, -1.0],
        sets.WholeSpace(),
    )
    at = pair_at(problem, problem.at(np.array([0.5, 0.7])), np.array([0.2]))
    landed, _ = jump(problem, at, 10.0, Preconditioner.of(np.ones(2)), 1e-12, 1e-12)
    np.testing.assert_allclose(landed.x, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(landed.lam, [1.0], atol=1e-9)
    weak, _ = jump(problem, at, 0.5, Preconditioner.of(np.ones(2)), 1e-12, 1e-12)
    assert weak is None  # the penalty does not make it convex


def test_inexact_preconditioners_still_meet_the_linearised_constraints():
    """CG stops early, so Z is rough; equality of the active constraints is exact all the same."""
    rng = np.random.default_rng(1)
    problem = quadratic(rng)
    at = pair_at(problem, problem.at(rng.normal(size=6)), np.zeros(3))
    landed, _ = jump(problem, at, 1e3, Preconditioner.of(np.full(6, 5.0)), 0.3, 0.3)
    active = landed.lam > 0
    assert active.any()
    np.testing.assert_allclose(problem.at(landed.x).constraints[active], 0.0, atol=1e-9)


def test_dual_of_dependent_constraints():
    """Two opposite constraints that exclude each other have no finite multipliers; the jump is refused."""
    S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert np.abs(dual_multipliers(S, np.eye(2), np.array([1.0, 1.0]))).max() > 1e3
    problem = QuadraticProblem(
        [np.eye(2), np.zeros((2, 2)), np.zeros((2, 2))],
        [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]],
        [0.0, 1.0, 1.0],
        sets.WholeSpace(),
    )
    at = pair_at(problem, problem.at(np.array([0.5, 0.5])), np.zeros(2))
    assert jump(problem, at, 10.0, Preconditioner.of(np.ones(2)), 1e-8)[0] is None


def test_negative_curvature_is_left_to_the_descent():
    problem = QuadraticProblem([-np.eye(2)], [[0.0, 0.0]], [0.0], sets.L2Ball(1.0))
    at = pair_at(problem, problem.at(np.array([0.1, 0.0])), np.zeros(0))
    assert jump(problem, at, 10.0, Preconditioner.of(np.ones(2)), 0.1)[0] is None


def test_preconditioners_are_inverses():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    F, rows, b = B @ B.T + np.eye(5), rng.normal(size=(2, 5)), 7.0
    v = rng.normal(size=5)
    full = F + b * sum(np.outer(row, row) for row in rows)
    raised_solve = raised_inverse(Preconditioner.of(F.copy()).solve, rows, b)
    np.testing.assert_allclose(full @ raised_solve(v), v, atol=1e-8)
    np.testing.assert_allclose(raised(lambda u: F @ u, rows, b)(v), full @ v)
    diagonal = rng.uniform(1, 2, 5)
    np.testing.assert_allclose(diagonal * Preconditioner.of(diagonal).solve(v), v, atol=1e-8)
    same = raised_inverse(lambda u: -u, np.eye(5)[:1], 1.0)  # 1 / b - 1 = 0: nothing to divide by
    np.testing.assert_array_equal(same(v), -v)
    singular = np.outer(v, v)  # raised until it has a factor
    assert np.isfinite(Preconditioner.of(singular.copy()).solve(v)).all()
    np.testing.assert_array_equal(Preconditioner.of(np.full((5, 5), np.nan)).solve(v), v)


def test_what_cg_has_seen_corrects_the_preconditioner():
    """Exact on the directions of CG; positive definite; CG for the same target then needs one step."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(30, 30))
    H, target = B @ B.T / 30 + 0.1 * np.eye(30), rng.normal(size=30)
    plain = Preconditioner.of(np.ones(30))
    notes = Notes(30)
    found = conjugate_gradients(lambda v: H @ v, target, 1e-2, precondition=plain.solve, note=notes)
    assert 12 >= len(notes.pairs) > 2
    known = plain.after(notes, found.products)
    P = known.remembered.scaled.P
    np.testing.assert_allclose(known.solve(H @ P), P, atol=1e-6)  # noted in float32
    np.testing.assert_allclose(P.T @ H @ P, np.eye(P.shape[1]), atol=1e-6)
    M = known.solve(np.eye(30))
    np.testing.assert_allclose(M, M.T, atol=1e-6)
    assert np.linalg.eigvalsh(M).min() > 0
    again = conjugate_gradients(lambda v: H @ v, target, 1e-2, precondition=known.solve)
    assert again.products < 0.5 * found.products


def test_a_good_estimate_is_kept_and_a_bad_one_made_anew():
    rng = np.random.default_rng(1)
    H = np.diag(np.geomspace(1, 1e3, 40))
    target = rng.normal(size=40)

    def after(estimate):
        known = Preconditioner.of(estimate)
        notes, product = Notes(40), lambda v: H @ v
        found = conjugate_gradients(product, target, 1e-3, precondition=known.solve, note=notes)
        return known.after(notes, found.products)

    exact, poor = after(H.copy()), after(np.eye(40))
    assert exact.good
    assert len(exact.remembered) == 0  # nothing to add
    assert not poor.good
    assert len(poor.remembered) > 0


@pytest.mark.parametrize("seed", range(5))
def test_chord_steps_converge_with_derivatives_of_another_point(seed):
    """J, Z and H from nearby: every step leaves a fraction; a point that is good enough stays."""
    data = make_census(2000, seed=seed)
    terms = bind(equalized_odds(0.02), data.y, data.groups).terms
    problem = LearningProblem.of(LinearModel(data.X / data.X.std(axis=0)), terms, l2=1e-3)
    solved = solve(problem, AugmentedNewton(tol=1e-11))
    rng = np.random.default_rng(seed)
    point = problem.at(solved.x + 1e-3 * rng.normal(size=problem.dim))
    weights = np.concatenate(([1.0], solved.multipliers))
    H = np.column_stack([point.hvp(weights, e) for e in np.eye(problem.dim)])
    rows = np.flatnonzero(solved.multipliers > 0)
    assert rows.size
    J = np.array([point.gradient(1 + i) for i in rows])
    chord = Chord(rows, J, np.linalg.solve(H, J.T), Preconditioner.of(H))
    start = pair_at(problem, point, solved.multipliers)
    end = chord.follow(problem, start, 1e-9)
    assert end.residual <= 1e-3 * start.residual
    np.testing.assert_allclose(end.x, solved.x, atol=1e-5)
    assert chord.follow(problem, end, end.residual) is end


def test_a_chord_step_that_does_not_pay_is_undone():
    data = make_census(500, seed=0)
    terms = bind(demographic_parity(0.02), data.y, data.groups).terms
    problem = LearningProblem.of(LinearModel(data.X / data.X.std(axis=0)), terms, l2=1e-3)
    pair = pair_at(problem, problem.at(np.zeros(problem.dim)), np.zeros(2))
    none = np.zeros((0, problem.dim))
    chord = Chord(
        np.zeros(0, int), none, none.T, Preconditioner.of(1e-6 * np.eye(problem.dim))
    )  # far too long
    assert chord.follow(problem, pair, 0.0) is pair


def test_hessian_by_differences_agrees_with_products():
    problem = quadratic(np.random.default_rng(2))
    point, weights = problem.at(np.ones(6)), np.array([1.0, 0.5, 0.0, 2.0])
    bare = Point(point.x, point.values, point.vjp)
    v = np.arange(6.0)
    np.testing.assert_allclose(
        hessian(problem, bare, weights)(v), hessian(problem, point, weights)(v), atol=1e-4
    )


class WithoutCurvature(Problem):
    """A problem that cannot estimate its Hessian: no jumps."""

    def __init__(self, base):
        self.base, self.dim, self.n_constraints = base, base.dim, base.n_constraints
        self.domain, self.names, self.facts = base.domain, base.names, base.facts

    def at(self, x):
        point = self.base.at(x)
        return Point(point.x, point.values, point.vjp, point.hvp)


class WithoutMatrix(WithoutCurvature):
    """A problem that does not form its Hessian: jumps by CG."""

    def at(self, x):
        point = self.base.at(x)
        return Point(point.x, point.values, point.vjp, point.hvp, point.curvature)


@pytest.mark.parametrize("rule", [demographic_parity(0.02), equalized_odds(0.03)])
def test_jumps_end_where_the_augmented_lagrangian_does_with_far_fewer_products(rule):
    data = make_census(3000, seed=1)
    scale, center = data.X.std(axis=0), data.X.mean(axis=0)
    model = LinearModel(data.X, scale=scale, center=center)
    problem = LearningProblem.of(model, bind(rule, data.y, data.groups).terms, l2=1 / 3000)
    quick = solve(problem, "augmented_newton", tol=1e-7)
    slow = solve(WithoutCurvature(problem), "augmented_newton", tol=1e-7)
    assert quick.success
    assert slow.success
    np.testing.assert_allclose(quick.x, slow.x, atol=1e-4)
    np.testing.assert_allclose(quick.multipliers, slow.multipliers, atol=1e-4)
    assert quick.nit <= 12
    assert quick.nhev + quick.nfev + quick.njev < 0.5 * (slow.nhev + slow.nfev + slow.njev)


def test_curvature_is_the_hessian_where_all_rows_are_in_the_sketch():
    data = make_census(500, seed=0)
    model = LinearModel(data.X, scale=data.X.std(axis=0), center=data.X.mean(axis=0))
    terms = bind(demographic_parity(0.02), data.y, data.groups).terms
    problem = LearningProblem.of(model, terms, l2=0.1)
    point = problem.at(np.full(problem.dim, 0.01))
    weights = np.array([1.0, 0.0, 0.0])  # convex: nothing is clipped
    H = np.column_stack([point.hvp(weights, e) for e in np.eye(problem.dim)])
    estimate = np.tril(point.curvature(weights))  # in single precision
    np.testing.assert_allclose(estimate, np.tril(H), atol=1e-6 * H.max())
    estimate = point.curvature(np.array([1.0, 50.0, 0.0]))
    assert np.linalg.eigvalsh(estimate).min() > 0.0  # positive whatever the multipliers


def test_a_jump_is_a_step_of_the_method():
    """The first step on a learning problem is the jump from the start."""
    data = make_census(800, seed=2)
    terms = bind(demographic_parity(0.02), data.y, data.groups).terms
    whole = LearningProblem.of(LinearModel(data.X / data.X.std(axis=0)), terms, l2=1e-3)
    problem = WithoutMatrix(whole)
    solver, rng = AugmentedNewton(tol=1e-9), np.random.default_rng(0)
    state = solver.init(problem, np.zeros(problem.dim))
    new = solver.step(problem, state, 0, rng)
    point = problem.at(state.pair.x)
    known = Preconditioner.of(point.curvature(np.concatenate(([1.0], state.pair.lam))))
    landed, _ = jump(problem, state.pair, state.b, known, 1.0, 1.0, solver.tol)
    np.testing.assert_array_equal(new.pair.x, landed.x)
    assert new.pair.residual < state.pair.residual
    with_matrix = solver.step(whole, solver.init(whole, np.zeros(whole.dim)), 0, rng)
    H = whole.at(state.pair.x).matrix(np.concatenate(([1.0], state.pair.lam)))
    landed, _ = known_jump(whole, state.pair, state.b, H, solver.tol)
    np.testing.assert_array_equal(with_matrix.pair.x, landed.x)
