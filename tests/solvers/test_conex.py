"""Constraint extrapolation, alone and inside the proximal-point method."""

import numpy as np
import pytest

from equipoise import FunctionProblem, Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._proximal import ProximalProblem
from equipoise.solvers import IQRC, ConEx, Constant, UnsuitableSolverError, ipp_conex
from equipoise.solvers._methods.conex import Schedule

CENTER = np.array([1.0, 0.05])
TUNED = ConEx(
    mu=2.0, multiplier_bound=2.0, lipschitz=7.0, smoothness=4.0, constraint_smoothness=2.0
)


def subproblem():
    return ProximalProblem(REFERENCES["active"]().problem, CENTER, 4.0)


def states(problem, solver, x0, steps):
    """Every state after the first."""
    state, rng = solver.init(problem, np.asarray(x0, float)), np.random.default_rng(0)
    for t in range(steps):
        state = solver.step(problem, state, t, rng)
        yield state


@pytest.mark.parametrize(
    ("T", "gap", "violation", "multiplier", "digits"),
    [(1_000, 2.0e-3, 4.0e-3, 0.4954, 1e-4), (10_000, 2.0e-5, 4.1e-5, 0.49577, 1e-5)],
)
def test_t4_6_a_hundredfold_gain_per_decade(T, gap, violation, multiplier, digits):
    problem = subproblem()
    *_, state = states(problem, TUNED, CENTER, T)
    x, y = TUNED.output(state)
    values = problem.at(x).values
    assert abs(values[0] - 0.9985072) == pytest.approx(gap, rel=0.03)
    assert values[1] == pytest.approx(violation, rel=0.03)
    assert y[0] == pytest.approx(multiplier, abs=digits)


def test_t4_7_schedule_identities():
    L0, Lf, B, a, Mf = 4.0, 2.0, 3.0, 0.7, 5.0
    s = Schedule(a, 4 * (L0 + B * Lf) / a + 2, Mf)
    for t in range(1, 200):
        assert s.gamma(t) * s.theta(t) == pytest.approx(s.gamma(t - 1), rel=1e-14)
        grown = s.gamma(t - 1) * (s.eta(t - 1) + a)
        assert s.gamma(t) * s.eta(t) == pytest.approx(grown, rel=1e-14)
        assert s.gamma(t) * s.tau(t) <= s.gamma(t - 1) * s.tau(t - 1)
        if t >= 2:
            assert s.tau(t) * (s.eta(t - 2) - L0 - B * Lf) >= 64 * Mf**2


def test_the_schedule_is_built_from_the_constants():
    state = TUNED.init(subproblem(), CENTER)
    assert state.schedule == Schedule(2.0, 4 * (4 + 2 * 2) / 2 + 2, 7.0)


def test_constants_come_from_the_facts():
    problem = subproblem()
    schedule = ConEx(mu=2.0).init(problem, CENTER).schedule
    assert problem.facts.smoothness == 6.0
    assert schedule.t0 == 4 * (6.0 + 10 * 6.0) / 2 + 2
    assert schedule.Mf == problem.facts.lipschitz


def test_constants_are_estimated_where_nothing_is_known():
    problem = FunctionProblem(
        objective=lambda x: ((x[0] - 2) ** 2 + x[1] ** 2, np.array([2 * x[0] - 4, 2 * x[1]])),
        constraints=[lambda x: (x @ x - 1, 2 * x), lambda x: (x[0] - 5, np.array([1.0, 0.0]))],
        domain=sets.WholeSpace(),
        dim=2,
    )
    start = np.array([0.3, 0.4])
    schedule = ConEx(mu=2.0).init(problem, start).schedule
    assert schedule.Mf == pytest.approx(2 * np.sqrt(1.0 + 1.0))
    assert schedule.t0 == pytest.approx(4 * (4.0 + 10 * np.sqrt(2) * 4.0) / 2 + 2)
    result = solve(problem, ConEx(mu=2.0), start, tol=1e-2)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-2)


def test_naive_twin():
    problem, T, a, B, Mf, L0, Lf = subproblem(), 50, 2.0, 2.0, 7.0, 4.0, 2.0

    def value(x):
        return 1 - x @ x + 2 * (x - CENTER) @ (x - CENTER)

    def slope(x):
        return -2 * x + 4 * (x - CENTER)

    xs, y, t0 = [CENTER, CENTER], 0.0, 4 * (L0 + B * Lf) / a + 2  # x^{-1}, x^0
    total, weight, expected = np.zeros(2), 0.0, []
    ells = [value(CENTER), value(CENTER)]  # of x^{-1}, x^0
    for t in range(T):
        x, before = xs[-1], xs[-2]
        if t > 0:
            ells.append(value(before) + slope(before) @ (x - before))
        theta, eta = (t + t0 + 1) / (t + t0 + 2), a * (t + t0 + 1) / 2
        tau, gamma = 32 * (2 * Mf) ** 2 / (a * (t + 1)), t + t0 + 2
        s = (1 + theta) * ells[-1] - theta * ells[-2]
        y = max(y + s / tau, 0.0)
        d = np.array([1.0, 0.0]) + 4 * (x - CENTER) + y * slope(x)
        xs.append(problem.domain.project(x - d / eta))
        total, weight = total + gamma * xs[-1], weight + gamma
        expected.append([*xs[-1], y, *(total / weight)])
    actual = [[*s.x, *s.y, *s.mean] for s in states(problem, TUNED, CENTER, T)]
    np.testing.assert_allclose(actual, expected, atol=1e-12, rtol=0)
    assert y > 0


def test_t4_8_an_inactive_constraint_leaves_projected_gradient():
    problem = ProximalProblem(REFERENCES["simple"]().problem, np.array([0.3, -0.2]), 6.0)
    solver = ConEx(mu=1.0, lipschitz=62.0, smoothness=16.0, constraint_smoothness=56.0)
    x, schedule = np.array([0.3, -0.2]), solver.init(problem, np.array([0.3, -0.2])).schedule
    total, weight = np.zeros(2), 0.0
    for t, state in enumerate(states(problem, solver, x, 200)):
        x = problem.domain.project(x - problem.at(x).gradient(0) / schedule.eta(t))
        total, weight = total + schedule.gamma(t) * x, weight + schedule.gamma(t)
        np.testing.assert_allclose(state.x, x, atol=1e-13)
        np.testing.assert_allclose(state.mean, total / weight, atol=1e-13)
        assert state.y[0] == 0.0
    *_, state = states(problem, solver, np.array([0.3, -0.2]), 10_000)
    np.testing.assert_allclose(state.mean, [0.1125, -0.24], atol=2e-3)


def test_without_constraints_it_is_projected_gradient():
    problem = QuadraticProblem([2 * np.eye(2)], [[-4.0, 0.0]], [4.0], sets.Box(-1, 1, dim=2))
    solver, x = ConEx(), np.array([0.0, 0.5])
    schedule = solver.init(problem, x).schedule
    for t, state in enumerate(states(problem, solver, x, 100)):
        x = problem.domain.project(x - problem.at(x).gradient(0) / schedule.eta(t))
        np.testing.assert_allclose(state.x, x, atol=1e-13)
    result = solve(problem, solver, [0.0, 0.5])
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-4)
    assert (
        result.state.x[0] == 1.0
    )  # the iterates reach the face of the box, their mean only nearly
    assert abs(result.state.x[1]) <= 1e-7


def outer_limit(oracle, outer_steps):
    """Where IPP-ConEx ends on the active problem from (2, 0.2)."""
    reference = REFERENCES["active"]()
    solver = IQRC(oracle=oracle, rho_hat=4.0, rho=2.0, eps_hat=Constant(1e-2))
    result = solve(reference.problem, solver, reference.start, max_steps=outer_steps * oracle.steps)
    assert result.state.outer.t == outer_steps
    return result


@pytest.mark.parametrize(
    ("warm", "steps", "x1", "digits"),
    [(False, 4000, 0.8660254, 2e-3), (False, 400, 0.849, 1e-3), (True, 400, 0.8660254, 1e-6)],
    ids=["cold, long", "cold stalls", "warm"],
)
def test_ipp_conex_cold_and_warm(warm, steps, x1, digits):
    oracle = ConEx(
        steps=steps,
        multiplier_bound=2.0,
        lipschitz=7.0,
        smoothness=4.0,
        constraint_smoothness=2.0,
        warm=warm,
    )
    result = outer_limit(oracle, 12 if steps == 4000 else 60)
    assert result.x[0] == pytest.approx(x1, abs=digits)
    assert result.x[1] == pytest.approx(0.5, abs=1e-9)
    if warm:
        assert result.state.outer.multipliers[0] == pytest.approx(0.577350, abs=1e-5)
        assert result.certificate.residual <= 1e-5


@pytest.mark.parametrize("name", ["convex", "auc"])
def test_defaults_reach_the_certificate_from_random_starts(name):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(1)
    for _ in range(20 if name == "convex" else 6):
        start = reference.problem.domain.project(rng.uniform(-3, 3, reference.problem.dim))
        result = solve(reference.problem, ConEx(), start, tol=1e-2)
        assert result.success, result.message
        assert result.certificate.residual <= 1e-2


@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_ipp_conex_defaults_reach_the_certificate_from_random_starts(name):
    reference = REFERENCES[name]()
    domain, rng = reference.problem.domain, np.random.default_rng(2)
    for _ in range(6):
        start = domain.project(rng.uniform(-1, 3, 2) if name == "convex" else rng.uniform(-1, 1, 2))
        start = 0.95 * start + 0.02  # off the edge x1 = 0 of `active`, which is stationary for g
        result = solve(reference.problem, ipp_conex(), start, max_steps=60_000, tol=1e-2)
        assert result.success, result.message
        assert result.certificate.residual <= 1e-2


def test_infeasible_problems_end_with_a_status():
    problem = QuadraticProblem(
        P=[[[2.0]], [[2.0]]], q=[[1.0], [0.0]], c=[0.0, 1.0], domain=sets.Box(-2, 2, dim=1)
    )
    result = solve(problem, ConEx(), [1.7], tol=1e-3)
    assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
    assert not result.success


def test_bad_input():
    with pytest.raises(ValueError, match="ConEx: `steps` must be an integer"):
        ConEx(steps=0)
    with pytest.raises(ValueError, match="ConEx: `multiplier_bound` must be non-negative"):
        ConEx(multiplier_bound=-1.0)
    with pytest.raises(ValueError, match="ConEx: `mu` must be positive"):
        ConEx(mu=0.0)
    with pytest.raises(ValueError, match="ConEx: `lipschitz` must be positive"):
        ConEx(lipschitz=0.0)
    with pytest.raises(ValueError, match="ConEx: `constraint_smoothness` must be non-negative"):
        ConEx(constraint_smoothness=-1.0)
    with pytest.raises(ValueError, match="ConEx: `multipliers` must have shape"):
        ConEx(multipliers=(1.0, 2.0)).init(subproblem(), CENTER)
    with pytest.raises(UnsuitableSolverError, match="needs a convex problem"):
        solve(REFERENCES["active"]().problem, ConEx())
