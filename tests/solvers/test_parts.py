"""The parts of methods, one by one: what they compute, against the sentence that states it."""

import math
from dataclasses import replace

import daqp
import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, sets
from equipoise.solvers import SOLVERS
from equipoise.solvers._auto import _switching
from equipoise.solvers._methods import apg, augmented_newton, smd
from equipoise.solvers._minmax.linearised_maximum import LinearisedMaximum
from equipoise.solvers._newton.face_newton import newton_points
from equipoise.solvers._newton.hessian import raised, raised_inverse
from equipoise.solvers._parts import backtracking
from equipoise.solvers._parts.estimates import constraint_slope, curvature, first_penalty
from equipoise.solvers._plada import step_lengths


def quadratic(D, centre=None, domain=None, constraints=(), facts=None):
    """``(x - centre)'D(x - centre) / 2``."""
    D = np.asarray(D, float)
    centre = np.zeros(len(D)) if centre is None else np.asarray(centre, float)
    return FunctionProblem(
        lambda x: (0.5 * (D * (x - centre)) @ (x - centre), D * (x - centre)),
        list(constraints),
        domain=domain,
        dim=len(D),
        facts=facts,
    )


# Step sizes


def test_the_first_step_is_the_inverse_curvature_downhill():
    problem = quadratic([5.0, 0.0])
    rule = backtracking.Backtracking()
    assert rule.start(problem, problem.at(np.array([2.0, 1.0]))) == pytest.approx(1 / 5.0, rel=1e-6)
    assert backtracking.Backtracking(0.3).start(problem, problem.at(np.ones(2))) == 0.3
    assert rule.start(problem, problem.at(np.zeros(2))) == 1.0  # where the gradient is 0


def test_the_first_step_on_a_plane_is_bounded():
    flat = FunctionProblem(lambda x: (3.0 * x[0], np.array([3.0])), dim=1)
    rule = backtracking.Backtracking()
    for x, size in ((0.0, 1.0), (20.0, 20.0)):
        step = rule.start(flat, flat.at(np.array([x])))
        assert step == pytest.approx(backtracking.LONGEST_FIRST_STEP * size / 3.0, rel=1e-5)
    box = FunctionProblem(lambda x: (3.0 * x[0], np.array([3.0])), domain=sets.Box(-1, 1, dim=1))
    assert rule.start(box, box.at(np.zeros(1))) == pytest.approx(2.0 / 3.0)
    corner = rule.start(box, box.at(-np.ones(1)))  # no step downhill: nothing to measure
    assert corner == pytest.approx(2.0 / 3.0)


@pytest.mark.parametrize(
    ("n", "used", "following"),
    [
        (0.1, 0.1, 0.1 * backtracking.GROWTH),  # uses a fifth of what 1 / n allows
        (0.3, 0.3, 0.3),  # more than half
        (0.6, 0.3, 0.3),  # refused: half of it is less than 0.9 / curvature
        (0.8, 0.4, 0.4),
        (2.0, 0.45, 0.45),  # 0.9 / curvature
        (100.0, 0.45, 0.45),  # a tenth, and then 0.9 / curvature
    ],
)
def test_steps_are_cut_where_the_function_bends_more(n, used, following):
    problem = quadratic([2.0])
    at_y = problem.at(np.ones(1))
    at_x, n_used, n_next = backtracking.Backtracking().descend(problem, at_y, n)
    assert n_used == pytest.approx(used)
    assert n_next == pytest.approx(following)
    assert at_x.x[0] == pytest.approx(1.0 - 2.0 * used)


@pytest.mark.parametrize(
    ("diameter", "length"), [(2.0, 0.1), (0.1, 0.01), (40.0, 1.0), (math.inf, 0.2)]
)
def test_the_first_switching_step_is_a_twentieth_of_the_domain(diameter, length):
    domain = sets.L2Ball(diameter / 2) if math.isfinite(diameter) else sets.WholeSpace()
    method = _switching(quadratic([1.0], domain=domain))
    assert method.step_size.length == pytest.approx(length)


# Estimates


@pytest.mark.parametrize("x", [np.zeros(3), np.array([1e4, 0.0, 0.0])])
def test_the_curvature_is_that_of_the_steepest_direction(x):
    problem = quadratic([1.0, 7.0, 3.0])
    assert curvature(problem, x, 0, tries=60) == pytest.approx(7.0, rel=1e-3)
    assert curvature(problem, x, 0) <= 7.0 * (1 + 1e-6)


def test_the_curvature_is_measured_inside_the_domain():
    """At a corner that the first direction leaves, the opposite one is taken."""
    start = np.sign(np.cos(np.arange(1.0, 4.0)))
    domain = sets.Box(-1, 1, dim=3)
    assert curvature(quadratic([2.0, 2.0, 2.0], domain=domain), start, 0) == pytest.approx(
        2.0, rel=1e-4
    )
    assert curvature(quadratic([0.0, 0.0, 0.0]), np.ones(3), 0) == 0.0


def rows(*gradients):
    return [lambda x, g=np.array(g): (g @ x, g) for g in gradients]  # noqa: B008


def test_a_steep_constraint_gets_a_small_penalty():
    def penalty(slope):
        problem = quadratic([1.0], constraints=rows([slope]))
        return first_penalty(problem.at(np.ones(1)))

    assert penalty(1.0) == 10.0
    assert penalty(10.0) == 10.0
    assert penalty(100.0) == pytest.approx(1000.0 / 100.0**2)
    assert penalty(1e200) > 0.0
    free = quadratic([1.0])
    assert first_penalty(free.at(np.ones(1))) == 10.0


def test_neither_parallel_nor_opposite_gradients_hide():
    for second in (1.0, -1.0):
        problem = quadratic([1.0, 1.0], constraints=rows([3.0, 0.0], [3.0 * second, 0.0]))
        found = constraint_slope(problem.at(np.zeros(2)), np.ones(2))
        assert 3.0 <= found <= 3.0 * math.sqrt(2) + 1e-12
    one = quadratic([1.0, 1.0], constraints=rows([3.0, 4.0], [0.0, 1.0]))
    assert constraint_slope(one.at(np.array([1.0, -1.0])), np.array([2.0, 0.0])) == pytest.approx(
        5.0
    )
    assert constraint_slope(one.at(np.array([1.0, 1.0])), np.zeros(2)) > 0  # violated
    assert constraint_slope(one.at(-np.ones(2)), np.zeros(2)) == 0.0


def test_the_first_length_of_plada_is_measured_downhill():
    """Of ``x^4 / 4`` at 1, the secant of the gradient ``x^3`` to ``1 - 0.1``."""
    problem = FunctionProblem(
        lambda x: (x[0] ** 4 / 4, x**3), rows([2.0]), dim=1, facts=Facts(smooth=True)
    )
    rho = 0.7
    found = step_lengths.first_length(problem, problem.at(np.ones(1)), rho, None)
    L = (1 - 0.9**3) / 0.1
    bound = step_lengths.SHARE_OF_BOUND / (L + 3 * rho * 2.0**2)
    assert found.eta == pytest.approx(step_lengths.FIRST_SHARE * bound)
    assert step_lengths.first_length(problem, problem.at(np.ones(1)), rho, 0.25).eta == 0.25
    known = replace(problem.facts, smoothness=5.0, lipschitz=2.0)
    problem.facts = known
    floor = step_lengths.SHARE_OF_BOUND / (5.0 + 3 * rho * 2.0**2)
    assert step_lengths.first_length(
        problem, problem.at(np.ones(1)), rho, None
    ).eta == pytest.approx(floor)


# Momentum, verdicts


def test_momentum_starts_again_where_it_points_uphill():
    method, problem = SOLVERS["apg"](), quadratic([1.0, 2.0])
    state = method.init(problem, np.ones(2))
    state = replace(state, y=np.array([1.0, 0.0]), x=np.zeros(2), momentum=3.0)
    forward, back = np.array([2.0, 0.0]), np.array([0.5, 0.0])
    ahead = 0.5 * (1 + math.sqrt(37.0))
    assert method._momentum(state, forward, 0.1, 0) == pytest.approx((2.0 / ahead, ahead))
    assert method._momentum(state, back, 0.1, 0) == (0.0, 1.0)


def test_momentum_of_a_strongly_convex_function():
    problem = quadratic([1.0, 2.0])
    method = SOLVERS["apg"](mu=0.5)
    state = method.init(problem, np.ones(2))
    root = math.sqrt(0.5 * 0.5)
    assert method._momentum(state, state.x, 0.5, 0) == ((1 - root) / (1 + root), 1.0)
    assert method._momentum(state, state.x, 2.0, 0) == (0.0, 1.0)
    assert method._momentum(state, state.x, 0.5, apg.PATIENCE) == (0.0, 1.0)


def test_newton_ends_where_either_steps_or_updates_are_stuck():
    method, problem = (
        SOLVERS["augmented_newton"](),
        quadratic([1.0, 2.0], constraints=rows([1.0, 1.0])),
    )
    state = method.init(problem, np.ones(2))
    assert method.verdict(state) is None
    stalled = replace(state, stalled=augmented_newton.MAX_STALLED_STEPS)
    assert method.verdict(stalled) is Status.STALLED
    assert method.verdict(replace(stalled, stalled=stalled.stalled - 1)) is None
    stuck = replace(state, stuck=augmented_newton.MAX_STUCK_UPDATES)
    assert method.verdict(stuck) is Status.STALLED
    assert method.verdict(replace(stuck, stuck=stuck.stuck - 1)) is None


# Newton steps and bundles


@pytest.mark.parametrize("centre", [[2.0, 1.0, 0.5], [0.3, 0.2, 3.0]])
def test_a_newton_step_counts_the_bending_of_the_domain(centre):
    """Near the minimiser on a sphere one step squares the distance, at bends of the sphere's size."""
    D, ball = np.array([1.0, 4.0, 2.0]), sets.L2Ball(1.0)
    problem = quadratic(D, centre, domain=ball)
    best = ball.project(np.asarray(centre))
    for _ in range(5000):
        best = ball.project(best - 0.1 * D * (best - centre))
    near = ball.project(best + 1e-3 * np.array([1.0, -1.0, 0.5]))
    point = problem.at(near)
    first = next(
        newton_points(problem, point, point.gradient(0)[None], (np.zeros(3), np.zeros(0)), 1.0, 50)
    )
    assert np.linalg.norm(first.x - best) <= 2e-2 * np.linalg.norm(near - best)


def test_where_a_quadratic_program_fails_the_largest_function_is_taken(monkeypatch):
    gradients = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    model = LinearisedMaximum(
        sets.WholeSpace(),
        np.zeros(2),
        np.array([1.0, 3.0, 2.0]),
        lambda indices: gradients[indices],
        np.array([0.5, 0.0, 0.5]),
    )
    y, q, _ = model._dual(model.w, 1.0)
    exact = model._newton(q, y, 1.0)
    assert exact.sum() == pytest.approx(1.0)
    k = q.size
    monkeypatch.setattr(daqp, "solve", lambda *a, **o: (np.full(k, 1.0 / k), 0.0, -1, {}))
    np.testing.assert_array_equal(model._newton(q, y, 1.0), np.eye(k)[int(q.argmax())])


@pytest.mark.parametrize("count", [0, 1, 2, 4, 9])
def test_rows_are_added_to_a_hessian_and_to_its_inverse(count):
    rng = np.random.default_rng(count)
    D, A, b, v = (
        np.array([1.0, 2.0, 3.0, 4.0]),
        rng.normal(size=(count, 4)),
        0.7,
        rng.normal(size=4),
    )
    full = np.diag(D) + b * A.T @ A
    np.testing.assert_allclose(raised(lambda v: D * v, A, b)(v), full @ v)
    inverse = raised_inverse(lambda v: (v.T / D).T, A, b)
    np.testing.assert_allclose(inverse(v), np.linalg.solve(full, v))


def test_the_multipliers_of_mirror_descent_are_relative_to_the_objective():
    method = SOLVERS["smd"]()
    for y, expected in (([0.5, 0.2, 0.3], [0.4, 0.6]), ([0.0, 0.4, 0.6], None)):
        state = smd.State(np.zeros(1), np.array(y), None, None, np.zeros(1), 0.0, 0)
        found = method.output(state)[1]
        assert found is None if expected is None else found == pytest.approx(expected)
