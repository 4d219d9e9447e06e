"""Curvature learned from steps, and the problems with many variables that it is for."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.generated import sparse_rows
from benchmarks.peers.plain import PlainProblem
from equipoise import Facts, FunctionProblem, certify, demographic_parity, sets, solve
from equipoise.constraints import bind
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import AugmentedNewton, Sequence, choose
from equipoise.solvers._newton.limited_memory import LimitedMemory
from equipoise.solvers._newton.quasi import quasi_jump


def bfgs_inverse(changes, d):
    """The inverse of the same estimate as a matrix, update by update."""
    s, y = changes[-1]
    H = np.linalg.norm(s) / np.linalg.norm(y) * np.eye(d)
    for s, y in changes:
        V = np.eye(d) - np.outer(s, y) / (s @ y)
        H = V @ H @ V.T + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize("seed", range(5))
def test_the_two_loops_agree_with_the_matrix(seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(7, 7))
    A = B @ B.T + np.eye(7)
    steps = rng.normal(size=(6, 7))
    known = LimitedMemory(4)
    for s in steps:
        known = known.learned(s, A @ s)
    H, V = bfgs_inverse([(s, A @ s) for s in steps[-4:]], 7), rng.normal(size=(7, 3))
    np.testing.assert_allclose(known.solve(V[:, 0]), H @ V[:, 0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(known.solve(V), H @ V, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(known.solve(A @ steps[-1]), steps[-1], rtol=1e-9, atol=1e-12)
    rows = rng.normal(size=(2, 7))
    raised = np.linalg.inv(H) + 3.0 * rows.T @ rows
    np.testing.assert_allclose(raised @ known.raised(rows, 3.0)(V), V, rtol=1e-8, atol=1e-8)
    assert not known.bends


def test_nothing_is_learned_where_the_function_bends_down():
    known = LimitedMemory(3).learned(np.ones(4), 2 * np.ones(4))
    assert known.learned(np.ones(4), -np.ones(4)) is known
    assert known.learned(np.ones(4), np.array([1.0, -1.0, 1.0, -1.0])) is known
    assert known.learned(np.ones(4), np.full(4, np.nan)) is known
    np.testing.assert_array_equal(LimitedMemory(3).solve(np.arange(4.0)), np.arange(4.0))


def test_what_is_learned_is_the_change_of_one_lagrangian():
    """The multipliers change along a jump; the gradients that are compared have the new ones."""
    problem = parity(0)
    state = AugmentedNewton(memory=5).init(problem, np.zeros(problem.dim))
    for _ in range(6):
        old = state.pair
        landed, state = quasi_jump(problem, state, 5)
        weights = np.concatenate(([1.0], landed.lam))
        y = problem.at(landed.x).vjp(weights) - problem.at(old.x).vjp(weights)
        latest = state.learned.changes[-1]
        np.testing.assert_allclose(latest.s, landed.x - old.x, atol=1e-15)
        np.testing.assert_allclose(latest.y, y, atol=1e-12)
        state = replace(state, pair=landed, lam=landed.lam)
    assert state.pair.lam.any()
    assert len(state.learned.changes) == 5


def wavy(d: int) -> FunctionProblem:
    """Rosenbrock's valley in many dimensions, in a ball and under a sum of sines: nothing is convex."""

    def valley(x):
        rise, rest = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        gradient = np.zeros(d)
        gradient[1:] += 20 * rise
        gradient[:-1] -= 40 * rise * x[:-1] + 2 * rest
        return (10 * rise @ rise + rest @ rest) / d, gradient / d

    inside = (
        lambda x: (x @ x / d - 0.1, 2 * x / d),
        lambda x: (np.sin(x).mean() - 0.4, np.cos(x) / d),
    )
    return FunctionProblem(valley, inside, domain=sets.Box(-5, 5, dim=d), facts=Facts(smooth=True))


def saddles(d: int, m: int, domain) -> FunctionProblem:
    """A quartic with many negative curvatures under nearly linear constraints."""
    rng = np.random.default_rng(d + m)
    bend, slope = 1.5 + 2 * rng.normal(size=d), rng.normal(size=d)
    rows = rng.normal(size=(m, d)) / np.sqrt(d)
    return FunctionProblem(
        lambda x: (
            x @ (bend * x) / 2 + slope @ x + 0.025 * (x**4).sum(),
            bend * x + slope + 0.1 * x**3,
        ),
        [lambda x, a=a: (a @ x + 0.05 * x @ x / d - 0.1, a + 0.1 * x / d) for a in rows],
        domain=domain,
        dim=d,
        facts=Facts(smooth=True),
    )


def parity(seed: int) -> PlainProblem:
    X, y, groups = sparse_rows(3_000, 1_000, seed=seed)
    terms = bind(demographic_parity(0.02), y, groups).terms
    return PlainProblem(LearningProblem.of(LinearModel(X), terms, l2=1 / len(y)), products=False)


LARGE = {
    "parity": lambda: parity(0),
    "parity, other rows": lambda: parity(1),
    "valley": lambda: wavy(1_000),
    "saddles": lambda: saddles(1_000, 3, sets.Box(-5, 5, dim=1_000)),
    "saddles in a small box": lambda: saddles(1_000, 3, sets.Box(-0.5, 0.5, dim=1_000)),
    "saddles in a ball": lambda: saddles(1_000, 3, sets.L2Ball(5.0)),
    "more constraints than jumps take": lambda: saddles(1_000, 80, sets.Box(-5, 5, dim=1_000)),
}


# where most variables end at bounds, jumps are refused on the way, and nothing is saved
SAVED = [name for name in LARGE if name != "saddles in a small box"]


@pytest.mark.parametrize("name", LARGE)
def test_many_variables_with_gradients_alone_are_certified(name):
    problem = LARGE[name]()
    result = solve(problem, tol=1e-6)
    assert result.success, result
    assert certify(problem, result.x, result.multipliers).residual <= 1e-6


@pytest.mark.parametrize("name", SAVED)
def test_learned_curvature_saves_evaluations(name):
    problem = LARGE[name]()
    learning, differences = (
        solve(problem, AugmentedNewton(tol=9e-7, memory=k), tol=1e-6).nfev for k in (30, 0)
    )
    assert learning < differences


def test_only_many_variables_without_a_sketch_get_a_memory():
    large, plain = wavy(301), parity(0)
    assert choose(large, 1e-6).memory > 0
    assert choose(plain, 1e-6).first.memory > 0
    small = choose(wavy(300), 1e-6)
    assert isinstance(small, Sequence)
    assert small.second.memory == 0
    assert choose(plain.problem, 1e-6).memory == 0


def test_products_with_the_hessian_come_before_memory():
    problem = PlainProblem(parity(0).problem, products=True)
    with_memory, without = (
        solve(problem, AugmentedNewton(tol=1e-6, memory=k), np.zeros(problem.dim), tol=1e-6)
        for k in (30, 0)
    )
    np.testing.assert_array_equal(with_memory.x, without.x)
