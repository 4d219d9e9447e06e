"""Jumps and matrices where the Hessian is at hand: what CG would find, at once."""

import numpy as np
import pytest

from equipoise import sets, solve
from equipoise.constraints import bind, equalized_odds
from equipoise.datasets import make_census
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem, QuadraticProblem
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.solvers import AugmentedNewton
from equipoise.solvers._newton.jump import jump
from equipoise.solvers._newton.known_hessian import known_jump
from equipoise.solvers._newton.pair import pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner

ROWS = make_census(400, seed=0)


def learning(sharpness=1.0, **options):
    model = LinearModel(ROWS.X, scale=ROWS.X.std(axis=0) + 1e-12, center=ROWS.X.mean(axis=0))
    terms = bind(equalized_odds(0.02), ROWS.y, {"group": ROWS.groups}).terms
    return LearningProblem.of(model, terms, l2=1e-3, **options).sharpened(sharpness)


@pytest.mark.parametrize("sharpness", [1.0, 6.0])
def test_the_matrix_is_the_hessian_and_its_sign_is_kept(sharpness):
    problem, rng = learning(sharpness), np.random.default_rng(1)
    point = problem.at(0.3 * rng.normal(size=problem.dim))
    for weights in (
        np.eye(1, problem.n_constraints + 1)[0],
        rng.normal(size=problem.n_constraints + 1),
    ):
        columns = [point.hvp(weights, e) for e in np.eye(problem.dim)]
        np.testing.assert_allclose(point.matrix(weights), np.array(columns).T, atol=1e-12)


def test_there_is_no_matrix_where_it_would_cost_more_than_a_few_products():
    rng = np.random.default_rng(0)
    wide = LinearModel(rng.normal(size=(100, 40)))
    assert not wide.sketch().is_exact  # in single precision
    long = LinearModel(rng.normal(size=(40_000, 3)))
    assert not long.sketch().is_exact  # some rows stand for all


@pytest.mark.parametrize("seed", range(5))
def test_a_jump_with_the_hessian_is_the_jump_of_exact_conjugate_gradients(seed):
    problem, rng = learning(), np.random.default_rng(seed)
    x = solve(problem, AugmentedNewton(), tol=1e-2).x + 0.02 * rng.normal(size=problem.dim)
    at = pair_at(problem, problem.at(x), np.array([0.0, 0.2, 0.3, 0.0]))
    H = problem.at(x).matrix(np.concatenate(([1.0], at.lam)))
    assert np.linalg.eigvalsh(H).min() > 0
    landed, known = known_jump(problem, at, 10.0, H, 1.0)  # a tolerance at which no chord follows
    same, _ = jump(problem, at, 10.0, Preconditioner.of(np.ones(problem.dim)), 1e-13, 1e-13, 0.0)
    assert known.convex
    np.testing.assert_allclose(landed.x, same.x, atol=1e-7)
    np.testing.assert_allclose(landed.lam, same.lam, atol=1e-7)


@pytest.mark.parametrize("b", [200.0, 10.0, 0.5, 0.02, 0.005])
def test_a_program_that_only_its_constraint_makes_convex_is_raised_until_it_is(b):
    """Minimise (x^2 - y^2) / 2 for y <= 1: the solution (0, 1) has the multiplier 1; 100 b is to exceed 1.

    Else the absolute value of the Hessian leads to the same point, with another multiplier.
    """
    program = ([np.diag([1.0, -1.0]), np.zeros((2, 2))], [[0.0, 0.0], [0.0, 1.0]], [0.0, -1.0])
    problem = QuadraticProblem(*program, sets.WholeSpace())
    at = pair_at(problem, problem.at(np.array([0.5, 0.7])), np.array([0.2]))
    landed, known = known_jump(problem, at, b, np.diag([1.0, -1.0]), 0.0)
    assert not known.convex
    np.testing.assert_allclose(known.solve(np.array([3.0, 2.0])), [3.0, 2.0], rtol=1e-8)  # of |H|
    np.testing.assert_allclose(landed.x, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(landed.lam, [1.0 if b > 0.01 else 0.4], atol=1e-9)


def test_where_constraints_do_not_make_a_program_convex_its_absolute_value_stands_for_it():
    """Minimise (x^2 - y^2) / 2 for x >= 1: x jumps to its bound, and y goes down."""
    program = ([np.diag([1.0, -1.0]), np.zeros((2, 2))], [[0.0, 0.0], [-1.0, 0.0]], [0.0, 1.0])
    problem = QuadraticProblem(*program, sets.WholeSpace())
    at = pair_at(problem, problem.at(np.array([0.9, 0.7])), np.array([0.2]))
    landed, known = known_jump(problem, at, 10.0, np.diag([1.0, -1.0]), 0.0)
    assert not known.convex
    np.testing.assert_allclose(landed.x, [1.0, 1.4], atol=1e-9)
    np.testing.assert_allclose(landed.lam, [1.0], atol=1e-9)


def test_downward_curvature_that_no_constraint_holds_is_left_to_the_descent():
    problem = QuadraticProblem([np.diag([1.0, -1.0])], [[0.0, 0.0]], [0.0], sets.WholeSpace())
    at = pair_at(problem, problem.at(np.array([0.5, 0.7])), np.zeros(0))
    assert known_jump(problem, at, 10.0, np.diag([1.0, -1.0]), 0.0)[0] is None


@pytest.mark.parametrize("domain", [sets.WholeSpace(), sets.L2Ball(0.5)])
def test_runs_end_where_those_by_products_do(domain):
    """On a domain with a boundary, where the jump goes by conjugate gradients, and on the whole space."""
    problem = learning(domain=domain)
    found = solve(problem, AugmentedNewton(tol=1e-9), tol=1e-8)
    plain = solve(_WithoutMatrix(problem), AugmentedNewton(tol=1e-9), tol=1e-8)
    assert found.success
    assert plain.success
    np.testing.assert_allclose(found.x, plain.x, atol=1e-5)


def test_a_matrix_counts_as_a_third_as_many_products_as_columns():
    problem = learning()
    counter = Counter()
    WatchedProblem(problem, counter).at(np.zeros(problem.dim)).matrix(
        np.ones(problem.n_constraints + 1)
    )
    assert counter.products == -(-problem.dim // 3)


class _WithoutMatrix(LearningProblem):
    def __init__(self, problem):
        vars(self).update(vars(problem))

    def at(self, x):
        point = super().at(x)
        object.__setattr__(point, "matrix", None)
        return point
