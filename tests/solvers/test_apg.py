"""Accelerated projected gradients."""

import math

import numpy as np
import pytest

from equipoise import solve
from equipoise._problem import Facts
from equipoise._status import Status
from equipoise.problems import FunctionProblem, QuadraticProblem
from equipoise.problems._merit import MeritProblem, QuadraticPenalty
from equipoise.sets._box import Box
from equipoise.sets._l1_ball import L1Ball
from equipoise.sets._simplex import Simplex
from equipoise.sets._whole_space import WholeSpace
from equipoise.solvers import AcceleratedProjectedGradient as APG
from equipoise.solvers import Backtracking, UnsuitableSolverError


def qp(seed, dim=8, low=0.1, high=20.0, domain=None, known=True):
    """A strongly convex quadratic with eigenvalues from `low` to `high`."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(dim, dim)))
    H = (Q * np.linspace(low, high, dim)) @ Q.T
    domain = L1Ball(1.0) if domain is None else domain
    problem = QuadraticProblem([(H + H.T) / 2], [3 * rng.normal(size=dim)], [0.0], domain)
    if not known:
        problem.facts = Facts(smooth=True, convex=True)
    return problem


def run(problem, solver, x0, steps):
    """The states after 0, 1, .., `steps` steps, whatever the verdict."""
    states = [solver.init(problem, x0)]
    for t in range(steps):
        states.append(solver.step(problem, states[-1], t, None))
    return states


def finish(problem, solver, x0):
    state, t = solver.init(problem, x0), 0
    while solver.verdict(state) is None:
        state, t = solver.step(problem, state, t, None), t + 1
    return state, t


def start(problem, seed):
    return problem.domain.project(np.random.default_rng(seed).normal(size=problem.dim))


def distance(problem, x):
    return problem.domain.normal_distance(x, -problem.at(x).gradient(0))


# -- acceptance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_linear_rate(seed):
    """F(x_k) - F* <= (1 - sqrt(mu/K))^k (F(x_0) - F* + mu/2 |x_0 - x*|^2)."""
    mu, K = 0.1, 20.0
    problem = qp(seed, low=mu, high=K)
    best = run(problem, APG(tol=0.0), start(problem, seed), 2000)[-1].x
    least = problem.at(best).objective
    states = run(problem, APG(mu=mu, step_size=1 / K, tol=0.0), start(problem, seed), 150)
    gaps = [problem.at(state.x).objective - least for state in states]
    first = gaps[0] + mu / 2 * np.sum((states[0].x - best) ** 2)
    for k, gap in enumerate(gaps):
        assert gap <= (1 - math.sqrt(mu / K)) ** k * first + 1e-13, k
    assert gaps[0] > 1e-2  # the start is not the solution


@pytest.mark.parametrize("seed", range(20))
def test_transfer_bound(seed):
    """dist(-grad F(T), N_X(T)) <= (1 + K n) |gradient mapping| on random quadratics."""
    problem, rng = qp(seed), np.random.default_rng(seed + 100)
    K = problem.facts.smoothness
    for scale in (0.01, 0.3, 3.0):
        u = problem.domain.project(scale * rng.normal(size=problem.dim))
        for n in (0.1 / K, 1 / K, 3 / K):
            T = problem.domain.project(u - n * problem.at(u).gradient(0))
            mapping = np.linalg.norm(u - T) / n
            assert distance(problem, T) <= (1 + K * n) * mapping * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("test_at", ["x", "y"])
@pytest.mark.parametrize("domain", [L1Ball(1.0), Box(-0.3, 0.5, dim=8), Simplex(1.0), WholeSpace()])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mu", [0.0, 0.1])
def test_what_is_returned_satisfies_the_tolerance(test_at, domain, known, mu):
    """Measured here, not by the solver; with the step size known and with backtracking."""
    for seed in range(3):
        problem = qp(seed, domain=domain, known=known)
        for tol in (1e-2, 1e-8):
            solver = APG(mu=mu, tol=tol, test_at=test_at)
            state, t = finish(problem, solver, start(problem, seed))
            assert solver.verdict(state) is Status.CONVERGED
            x, multipliers = solver.output(state)
            assert domain.contains(x, atol=1e-12)
            assert multipliers.shape == (0,)
            assert distance(problem, x) <= tol
            assert t <= 1000


def test_the_transfer_ends_the_run_in_time():
    """It stops no later than where the mapping is tol / (1 + K n), the rule that needs K."""
    tol = 1e-6
    for seed in range(5):
        problem = qp(seed)
        K = problem.facts.smoothness
        x0 = start(problem, seed)
        _, taken = finish(problem, APG(mu=0.1, step_size=1 / K, tol=tol), x0)
        states = run(problem, APG(mu=0.1, step_size=1 / K, tol=0.0), x0, taken)
        mappings = [K * np.linalg.norm(old.y - new.x) for old, new in zip(states[:-1], states[1:])]
        assert min(mappings[:-1]) > tol / 2


# -- naive twins --------------------------------------------------------------------------------


def naive_constant(problem, x, mu, n, steps):
    """The box of 7.2, without guards."""
    q = (1 - math.sqrt(mu * n)) / (1 + math.sqrt(mu * n))
    y, path = x, [x]
    for _ in range(steps):
        x_new = problem.domain.project(y - n * (problem.P[0] @ y + problem.q[0]))
        y = x_new + q * (x_new - x)
        x = x_new
        path.append(x)
    return np.array(path)


def naive_fista(problem, x, n, steps):
    """FISTA; restart where the momentum points uphill; refuse a momentum step that raises F."""

    def F(z):
        return 0.5 * z @ problem.P[0] @ z + problem.q[0] @ z

    y, momentum, path = x, 1.0, [x]
    for _ in range(steps):
        x_new = problem.domain.project(y - n * (problem.P[0] @ y + problem.q[0]))
        if momentum > 1 and F(x_new) > F(x) + 64 * np.finfo(float).eps * abs(F(x_new)):
            y, momentum = x, 1.0
        elif (y - x_new) @ (x_new - x) > 0:
            x, y, momentum = x_new, x_new, 1.0
        else:
            ahead = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            y = x_new + (momentum - 1) / ahead * (x_new - x)
            x, momentum = x_new, ahead
        path.append(x)
    return np.array(path)


@pytest.mark.parametrize("domain", [L1Ball(1.0), Box(-0.3, 0.5, dim=8)])
def test_twin_with_constant_momentum(domain):
    for seed in range(3):
        problem, x0 = qp(seed, domain=domain), start(qp(seed, domain=domain), seed)
        ours = [s.x for s in run(problem, APG(mu=0.1, step_size=0.04, tol=0.0), x0, 50)]
        theirs = naive_constant(problem, x0, 0.1, 0.04, 50)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_twin_with_fista_momentum_and_restarts():
    refused = 0
    for seed in range(5):
        problem = qp(seed, domain=WholeSpace(), low=0.05)
        x0 = start(problem, seed)
        states = run(problem, APG(step_size=0.05, tol=0.0), x0, 50)
        theirs = naive_fista(problem, x0, 0.05, 50)
        np.testing.assert_allclose([s.x for s in states], theirs, rtol=0, atol=1e-12)
        refused += sum(s.momentum == 1.0 for s in states[2:])
    assert refused > 0  # the restarts were exercised


# -- reduces to, guards -------------------------------------------------------------------------


def test_without_momentum_it_is_projected_gradient():
    """mu n >= 1 sets q = 0."""
    problem, n = qp(0), 0.05
    x = start(problem, 1)
    for state in run(problem, APG(mu=20.0, step_size=n, tol=0.0), x, 30)[1:]:
        x = problem.domain.project(x - n * problem.at(x).gradient(0))
        np.testing.assert_array_equal(state.x, x)


def test_momentum_restarts_after_five_rises():
    """A step size far too long makes F rise for ever; every fifth rise drops the momentum."""
    problem = qp(0, domain=WholeSpace(), low=0.5)
    states = run(problem, APG(mu=0.5, step_size=0.5, tol=0.0), start(problem, 0), 12)
    values = [problem.at(s.x).objective for s in states]
    assert values[5] > values[4] > values[3] > values[2] > values[1] > values[0]
    assert [s.rises for s in states[:6]] == [0, 1, 2, 3, 4, 0]
    np.testing.assert_array_equal(states[5].y, states[5].x)
    assert not np.array_equal(states[4].y, states[4].x)


def test_monotone_where_f_is_not_convex():
    """cos on a box: F falls along the iterates, and the end is stationary."""
    problem = FunctionProblem(
        lambda x: (float(np.cos(3 * x).sum() + x.sum()), -3 * np.sin(3 * x) + 1),
        domain=Box(-4.0, 4.0, dim=3),
        facts=Facts(smooth=True),
    )
    for seed in range(10):
        solver = APG(tol=1e-8)
        x0 = np.random.default_rng(seed).uniform(-4, 4, size=3)
        values = [s.value for s in run(problem, solver, x0, 60)]
        assert all(b <= a + 1e-12 for a, b in zip(values, values[1:]))
        state, _ = finish(problem, solver, x0)
        assert distance(problem, state.answer) <= 1e-8


def test_backtracking_finds_steep_and_flat_functions():
    for scale in (1e-6, 1.0, 1e6):
        problem = qp(3, low=0.1 * scale, high=20 * scale, domain=Box(-1, 1, dim=8), known=False)
        for first in (None, 1e-12, 1e3):
            solver = APG(step_size=Backtracking(first), tol=1e-7 * scale, steps=2000)
            state, _ = finish(problem, solver, start(problem, 0))
            assert solver.verdict(state) is Status.CONVERGED
            assert distance(problem, state.answer) <= 1e-7 * scale


def test_an_unreachable_tolerance_ends_in_a_status():
    problem = qp(0)
    stalled, taken = finish(problem, APG(tol=0.0), start(problem, 0))
    assert APG(tol=0.0).verdict(stalled) in (Status.STALLED, Status.CONVERGED)
    assert taken < 5000
    cut, taken = finish(problem, APG(tol=1e-12, steps=7), start(problem, 0))
    assert APG(tol=1e-12, steps=7).verdict(cut) is Status.MAX_STEPS
    assert taken == 7


@pytest.mark.parametrize("b", [1e3, 1e4, 1e5])
def test_single_precision_ends_where_rounding_does(b):
    """Steps shorter than the rounding error of x are no progress, even if x still moves."""
    circle = FunctionProblem(
        lambda x: ((x[0] - 2) ** 2 + x[1] ** 2, 2 * x - np.array([4, 0], dtype=x.dtype)),
        [lambda x: (x @ x - 1, 2 * x)],
        domain=Box(-3, 3, dim=2),
    )
    solver = APG(mu=1.0, step_size=Backtracking(), tol=1e-9, steps=20_000)
    problem, x0 = MeritProblem(circle, QuadraticPenalty(b)), np.array([0.3, 1.7])
    state, taken = finish(problem, solver, x0.astype(np.float32))
    assert solver.verdict(state) is Status.STALLED
    assert taken < 5000
    assert state.x.dtype == np.float32
    exact, _ = finish(problem, solver, x0)
    np.testing.assert_allclose(state.x, exact.x, rtol=0, atol=1e-3)


def test_a_start_at_the_solution_stays_there():
    problem = QuadraticProblem([np.eye(2)], [[-3.0, 0.0]], [0.0], L1Ball(1.0))
    state, taken = finish(problem, APG(), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(state.answer, [1.0, 0.0])
    assert taken == 1


def test_through_solve():
    problem = qp(2)
    result = solve(problem, APG(), start(problem, 2), tol=1e-5)
    assert result.success
    assert result.certificate.residual <= 1e-5


# -- refusals -----------------------------------------------------------------------------------


def test_constraints_are_refused():
    problem = QuadraticProblem(np.zeros((2, 2, 2)), np.ones((2, 2)), np.zeros(2), L1Ball(1.0))
    with pytest.raises(UnsuitableSolverError, match="without constraints"):
        solve(problem, APG(), np.zeros(2))


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"mu": -1.0}, "mu"),
        ({"step_size": 0.0}, "step_size"),
        ({"tol": -1e-3}, "tol"),
        ({"steps": 0}, "steps"),
        ({"test_at": "z"}, "test_at"),
    ],
)
def test_bad_hyperparameters(options, parameter):
    with pytest.raises(ValueError, match=f"AcceleratedProjectedGradient: `{parameter}`"):
        APG(**options)


def test_bad_first_step():
    with pytest.raises(ValueError, match="Backtracking: `first`"):
        Backtracking(-1.0)
