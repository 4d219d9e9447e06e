"""The edges of accelerated steps, augmented Lagrangians and ConEx: each rule from both sides."""

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, sets
from equipoise.certificate import Residuals
from equipoise.solvers import AcceleratedProjectedGradient as APG
from equipoise.solvers import AugmentedLagrangian, ConEx
from equipoise.solvers._methods.augmented_lagrangian import LARGEST, Outer
from equipoise.solvers._methods.conex import Schedule

from .lines import Inner, line

# ------------------------------------------------------------------ accelerated projected gradients


def bowl(dim=1):
    return FunctionProblem(lambda x: (float(x @ x), 2 * x), dim=dim)


@pytest.mark.parametrize(
    ("momentum", "mu", "refused"), [(1.0, 0.0, False), (1.5, 0.0, True), (1.5, 0.1, False)]
)
def test_a_step_that_rises_is_refused_where_momentum_may_be_the_reason(momentum, mu, refused):
    """Along ``x^2`` a step of length 3 goes from 1 to -5."""
    solver, problem = APG(step_size=3.0, mu=mu), bowl()
    state = replace(solver.init(problem, np.ones(1)), momentum=momentum)
    after = solver.step(problem, state, 0, None)
    assert after.x[0] == (1.0 if refused else -5.0)
    assert after.momentum == 1.0 or not refused
    assert after.taken == 1
    if refused:
        assert after.y[0] == 1.0


def test_a_step_of_no_length_is_idle_and_keeps_the_sequence():
    solver, problem = APG(step_size=0.25), bowl()
    after = solver.step(problem, solver.init(problem, np.zeros(1)), 0, None)
    assert after.idle == 1
    assert after.momentum == pytest.approx((1 + math.sqrt(5)) / 2)
    again = solver.step(problem, after, 1, None)
    assert again.idle == 2
    assert again.momentum == pytest.approx((1 + math.sqrt(1 + 4 * after.momentum**2)) / 2)


@pytest.mark.parametrize("mu", [0.25, 1.0, 2.25])
def test_momentum_of_a_strongly_convex_function(mu):
    solver, problem = APG(mu=mu, step_size=1.0), line([1.0])
    after = solver.step(problem, solver.init(problem, np.zeros(1)), 0, None)
    q = max(0.0, (1 - math.sqrt(mu)) / (1 + math.sqrt(mu)))
    assert after.x[0] == -1.0
    assert after.y[0] == pytest.approx(-1.0 - q)


@pytest.mark.parametrize(("tol", "distance"), [(0.25, 0.25), (0.24, math.inf)])
@pytest.mark.parametrize("test_at", ["y", "x"])
def test_the_distance_is_measured_where_the_mapping_is_small(tol, distance, test_at):
    solver, problem = APG(step_size=0.5, tol=tol, test_at=test_at), line([0.25])
    after = solver.step(problem, solver.init(problem, np.zeros(1)), 0, None)
    assert after.distance == distance
    assert after.answer[0] == (-0.125 if test_at == "y" else -0.25)
    assert solver.verdict(after) == (Status.CONVERGED if distance == 0.25 else None)


def test_the_ends_of_accelerated_steps():
    solver, problem = APG(steps=5, tol=1e-3), bowl()
    state = solver.init(problem, np.ones(1))
    assert solver.verdict(replace(state, taken=4)) is None
    assert solver.verdict(replace(state, taken=5)) is Status.MAX_STEPS
    assert solver.verdict(replace(state, distance=1e-3)) is Status.CONVERGED
    assert solver.verdict(replace(state, distance=1.1e-3)) is None


# ------------------------------------------------------------------ the augmented Lagrangian


def absorbed(solver, problem, outer, x):
    inner = Inner(x)
    return solver.absorb(problem, outer, inner, inner, None)


def outer(problem, lam, b, shortfall, restoring=False):
    inf = math.inf
    x = np.zeros(problem.dim)
    return Outer(
        x, np.array(lam, float), b, shortfall, Residuals(inf, inf, inf), inf, None, restoring, 3
    )


PAIR = line([1.0, 2.0], [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, -5.0, 0.0])


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_multipliers_move_and_the_penalty_is_raised_where_the_shortfall_stays(share):
    """At (0.1, -0.3) the constraints are 0.2, -5.3 and -0.2; the shortfall is that of the second."""
    solver = AugmentedLagrangian(progress=0.5, growth=3.0)
    lam, b = np.array([1.0, 1.5, 8.0]), 4.0
    f = np.array([0.2, -5.3, -0.2])
    shortfall = 0.375
    before = outer(PAIR, lam, b, share * shortfall / 0.5)
    after = absorbed(solver, PAIR, before, [0.1, -0.3])
    np.testing.assert_allclose(after.lam, np.maximum(lam + b * f, 0.0), rtol=1e-12)
    assert after.shortfall == pytest.approx(shortfall)
    assert after.b == (12.0 if share < 1 else 4.0)
    assert (after.n, after.loops, after.restoring) == (0.125, 4, False)
    expected = Residuals.at(PAIR, PAIR.at(np.array([0.1, -0.3])), after.lam)
    assert after.residuals == expected


def test_a_shortfall_of_exactly_the_share_is_progress():
    problem = line([1.0], [[1.0]], [0.0])
    for before, b in ((1.0, 4.0), (0.99, 12.0)):
        after = absorbed(
            AugmentedLagrangian(progress=0.5), problem, outer(problem, [9.0], 4.0, before), [0.5]
        )
        assert after.b == b
    always = AugmentedLagrangian(progress=0.0)
    after = absorbed(always, problem, outer(problem, [0.0], 4.0, 1.0), [0.0])
    assert (after.shortfall, after.b) == (0.0, 12.0)


def test_restoration_gives_a_point_and_nothing_else():
    before = outer(PAIR, [1.0, 2.0, 3.0], 4.0, 0.5, restoring=True)
    after = absorbed(AugmentedLagrangian(), PAIR, before, [0.1, 0.2])
    assert after.x.tolist() == [0.1, 0.2]
    assert after.lam is before.lam
    assert (after.b, after.loops, after.restoring) == (4.0, 3, False)


@pytest.mark.parametrize(("at", "restoring"), [(1e-3, False), (1.1e-3, True)])
def test_restoration_is_for_starts_that_violate_more_than_the_tolerance(at, restoring):
    problem = line([1.0], [[1.0]], [0.0])
    solver = AugmentedLagrangian(tol=1e-3)
    assert solver.begin(problem, np.array([at])).restoring is restoring
    assert not replace(solver, accuracy=1e-3).begin(problem, np.array([at])).restoring


def test_multipliers_and_penalties_are_not_infinite():
    problem = line([1.0], [[1.0]], [0.0])
    before = outer(problem, [0.0], LARGEST, 0.0)
    after = absorbed(AugmentedLagrangian(), problem, before, [10.0])
    assert (after.lam[0], after.b) == (LARGEST, LARGEST)


def test_loops_are_counted():
    solver, before = AugmentedLagrangian(loops=4), outer(PAIR, [0.0] * 3, 1.0, 1.0)
    assert solver.finished(before) is None
    assert solver.finished(replace(before, loops=4)) is Status.STALLED


# ------------------------------------------------------------------ ConEx


def test_the_schedule_of_conex():
    known = Schedule(a=0.5, t0=7.0, Mf=3.0)
    for t in (0, 1, 10):
        assert known.theta(t) == (t + 8.0) / (t + 9.0)
        assert known.eta(t) == 0.5 * (t + 8.0) / 2
        assert known.tau(t) == pytest.approx(32 * 36.0 / (0.5 * (t + 1)))
        assert known.gamma(t) == t + 9.0


@pytest.mark.parametrize(
    ("facts", "constants", "t0", "Mf"),
    [
        (None, (None, None, None), 4 * (1.0 + 10.0 * 2.0) / 0.5 + 2, 2 * math.sqrt(9 + 16 + 1)),
        (Facts(smoothness=3.0), (None, None, None), 4 * (3 + 60) / 0.5 + 2, 2 * math.sqrt(26)),
        (Facts(lipschitz=5.0), (7.0, 0.25, None), 4 * (7 + 2.5) / 0.5 + 2, 10.0),
        (Facts(lipschitz=5.0), (7.0, 0.25, 6.0), 4 * (7 + 2.5) / 0.5 + 2, 6.0),
        (Facts(lipschitz=math.inf), (7.0, 0.25, None), 78.0, 2 * math.sqrt(26)),
    ],
)
def test_constants_of_conex_are_given_known_or_guessed(facts, constants, t0, Mf):
    rows = [[3.0, 4.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    problem = line([1.0, 0.0], rows, np.zeros(4), facts=facts)
    found = Schedule.of(problem, problem.at(np.zeros(2)), 0.5, 10.0, constants)
    assert (found.a, found.t0, found.Mf) == (0.5, pytest.approx(t0), pytest.approx(Mf))
    flat = line([1.0], [[0.0]], [0.0])
    assert Schedule.of(flat, flat.at(np.zeros(1)), 0.5, 10.0, (None, None, None)).Mf == 1.0


def test_a_step_of_conex():
    problem = FunctionProblem(
        lambda x: (float(x @ x), 2 * x),
        [
            lambda x: (x[0] ** 2 - 0.5, np.array([2 * x[0], 0.0])),
            lambda x: (x[1] - x[0], np.array([-1.0, 1.0])),
        ],
        domain=sets.Box(-1, 1, dim=2),
    )
    solver = ConEx(steps=9)
    state = solver.init(problem, np.array([0.9, -0.5]))
    state = replace(
        state,
        y=np.array([0.5, 0.1]),
        ell=np.array([3.0, -2.0]),
        ell_before=np.array([1.0, 4.0]),
        weight=2.0,
        mean=np.array([0.1, 0.2]),
        t=5,
        schedule=Schedule(a=0.5, t0=7.0, Mf=0.3),
    )
    after = solver.step(problem, state, 5, np.random.default_rng(0))
    theta, eta, tau, gamma = 13 / 14, 3.25, 32 * 0.36 / 3.0, 14.0
    y = np.maximum(state.y + ((1 + theta) * state.ell - theta * state.ell_before) / tau, 0.0)
    point = problem.at(state.x)
    x = np.clip(state.x - point.vjp(np.append(1.0, y)) / eta, -1, 1)
    np.testing.assert_allclose(after.y, y, rtol=1e-12)
    np.testing.assert_allclose(after.x, x, rtol=1e-12)
    slopes = np.array([[1.8, 0.0], [-1.0, 1.0]]) @ (x - state.x)
    np.testing.assert_allclose(after.ell, point.constraints + slopes, rtol=1e-12)
    np.testing.assert_allclose(after.ell_before, state.ell)
    assert after.weight == 2.0 + gamma
    np.testing.assert_allclose(after.mean, (2 * state.mean + 14 * x) / 16, rtol=1e-12)
    assert after.t == 6
    assert solver.verdict(replace(state, t=8)) is None
    assert solver.verdict(replace(state, t=9)) is Status.MAX_STEPS
