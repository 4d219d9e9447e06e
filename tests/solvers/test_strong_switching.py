"""Switching subgradients for strongly convex problems (Algorithm 2, oracle A1)."""

import math

import numpy as np
import pytest

from equipoise import FunctionProblem, Point, Problem, Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._proximal import ProximalProblem
from equipoise.solvers import StrongSwitching, UnsuitableSolverError, theoretical_steps


def drive(problem, solver, x0, steps=None):
    """Step until the verdict, or for a number of steps."""
    state, rng, t = solver.init(problem, np.asarray(x0, float)), np.random.default_rng(0), 0
    while solver.verdict(state) is None if steps is None else t < steps:
        state = solver.step(problem, state, t, rng)
        t += 1
    return state


def proximal(name, center, rho_hat):
    return ProximalProblem(REFERENCES[name]().problem, np.asarray(center, float), rho_hat)


def test_t2_2_theoretical_steps():
    constants = {"lipschitz": 50.0, "mu": 1.0, "rho_hat": 6.0, "diameter": 2.0}
    assert theoretical_steps(accuracy=1.0, **constants) == 10576
    assert theoretical_steps(accuracy=0.1, **constants) == 105760
    # 4 (37 + 16 * 10) / (2 * 0.5) is 788 exactly; 789 comes from rounding upwards
    K = theoretical_steps(
        lipschitz=2 * math.sqrt(9.25), mu=2.0, accuracy=0.5, rho_hat=4.0, diameter=math.sqrt(10)
    )
    assert K == 788


@pytest.mark.parametrize(
    ("center", "accuracy", "exact"),
    [
        ((0.3, -0.2), 1.0, (0.1125, -0.24)),
        ((0.5, 0.1), 1.0, (0.1875, 0.12)),
        ((0.3, -0.2), 0.1, (0.1125, -0.24)),
    ],
)
def test_t2_2_both_oracle_inequalities_on_the_simple_example(center, accuracy, exact):
    problem = proximal("simple", center, 6.0)
    K = theoretical_steps(lipschitz=50.0, mu=1.0, accuracy=accuracy, rho_hat=6.0, diameter=2.0)
    solver = StrongSwitching(steps=K).tuned(mu=1.0, accuracy=accuracy, multipliers=None)
    state = drive(problem, solver, center)
    z, multipliers = solver.output(state)
    point = problem.at(z)
    assert multipliers is None
    assert state.k == K
    assert not state.failed
    assert point.objective - problem.at(np.array(exact)).objective <= accuracy
    assert point.excess <= accuracy
    # strong convexity turns the gap into a distance
    assert np.linalg.norm(z - exact) <= math.sqrt(2 * accuracy)


def test_proximal_subproblem_with_an_active_constraint():
    problem, exact = proximal("active", (1.0, 0.05), 4.0), np.array([0.998304, 0.059932])
    assert problem.at(exact).values == pytest.approx([0.998507, 0.0], abs=2e-6)
    solver = StrongSwitching(steps=10_000, mu=2.0, slack=1e-3)
    z, _ = solver.output(drive(problem, solver, (1.0, 0.05)))
    assert abs(problem.at(z).objective - 0.998507) <= 1e-3
    assert problem.at(z).excess <= 1e-3


def test_naive_twin():
    """The algorithm box written naively, with sums kept as they are."""
    center, rho_hat, mu, e2 = np.array([1.0, 0.05]), 4.0, 2.0, 1e-3
    domain = REFERENCES["active"]().problem.domain
    z, num, den, expected = center, np.zeros(2), 0.0, []
    for k in range(50):
        q = 0.5 * rho_hat * (z - center) @ (z - center)
        if 1 - z @ z + q <= e2:
            num, den = num + (k + 1) * z, den + k + 1
            d = np.array([1.0, 0.0]) + rho_hat * (z - center)
        else:
            d = -2 * z + rho_hat * (z - center)
        z = domain.project(z - 2 / (mu * (k + 2)) * d)
        expected.append(np.concatenate((z, num / den)))
    problem, solver = proximal("active", center, rho_hat), StrongSwitching(mu=mu, slack=e2)
    actual, state, rng = [], solver.init(problem, center), np.random.default_rng(0)
    for t in range(50):
        state = solver.step(problem, state, t, rng)
        actual.append(np.concatenate((state.z, solver.output(state)[0])))
    np.testing.assert_allclose(actual, expected, atol=1e-12, rtol=0)
    switched = [a[0] < b[0] for a, b in zip(actual, actual[1:])]
    assert any(switched)  # both branches were taken
    assert not all(switched)


def test_without_constraints_it_is_the_projected_subgradient_method_for_strong_convexity():
    target, box = np.array([0.3, 2.0]), sets.Box(-1, 1, dim=2)

    def objective(x):  # 1-strongly convex with a kink
        return (
            0.5 * (x - target) @ (x - target) + abs(x[0]),
            x - target + np.array([np.sign(x[0]), 0.0]),
        )

    solver = StrongSwitching(steps=3000)
    state = drive(FunctionProblem(objective, domain=box), solver, [-1.0, -1.0])
    z, num, den = np.array([-1.0, -1.0]), np.zeros(2), 0.0
    for k in range(3000):
        num, den = num + (k + 1) * z, den + k + 1
        z = box.project(z - 2 / (k + 2) * objective(z)[1])
    np.testing.assert_allclose(solver.output(state)[0], num / den, atol=1e-12)
    np.testing.assert_allclose(solver.output(state)[0], [0.0, 1.0], atol=5e-3)


def test_without_a_nearly_feasible_iterate_the_least_violated_is_returned_and_flagged():
    problem = QuadraticProblem(  # x^2 + 1 <= 0 has no solution
        P=[[[2.0]], [[2.0]]], q=[[0.0], [0.0]], c=[0.0, 1.0], domain=sets.Box(-2, 2, dim=1)
    )
    solver = StrongSwitching(steps=100, mu=1.5, slack=0.1)
    state = drive(problem, solver, [1.7])
    assert state.failed
    assert solver.output(state)[0] == state.best
    assert problem.at(state.best).excess == state.excess
    assert state.excess == pytest.approx(1.0, abs=1e-3)
    result = solve(problem, solver, [1.7])
    assert result.status is Status.INFEASIBLE
    assert not result.success


@pytest.mark.parametrize("name", ["convex", "auc"])
def test_defaults_reach_the_certificate_from_random_starts(name):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(1)
    for _ in range(20):
        start = reference.problem.domain.project(rng.uniform(-3, 3, reference.problem.dim))
        result = solve(reference.problem, StrongSwitching(), start, tol=1e-2)
        assert result.success, result.message
        assert result.certificate.residual <= 1e-2


def test_defaults_take_one_over_slack_steps():
    reference = REFERENCES["convex"]()
    result = solve(reference.problem, StrongSwitching(slack=1e-3), max_steps=5000)
    assert result.nit == result.nfev == result.njev == 1000
    assert result.status is Status.MAX_STEPS
    assert reference.distance(result.x) <= 2e-2


def test_random_quadratic_problems_end_with_a_status():
    rng = np.random.default_rng(5)
    for trial in range(20):
        d, m = 3, 2
        roots = rng.normal(size=(m + 1, d, d))
        P = roots @ roots.transpose(0, 2, 1) + np.eye(d)
        shift = -2.0 if trial % 2 else 3.0  # feasible at 0, or likely nowhere
        problem = QuadraticProblem(
            P, rng.normal(size=(m + 1, d)), np.r_[0.0, np.full(m, shift)], sets.Box(-2, 2, dim=d)
        )
        result = solve(problem, StrongSwitching(slack=1e-3), rng.uniform(-2, 2, d), tol=5e-2)
        if trial % 2:
            assert result.status is Status.CONVERGED, result.message
        else:
            assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
            assert not result.success


class Batches(Problem):
    """min |x|^2/2 - E a'x  s.t.  |x|^2/2 + E c'x <= 1/2 over 50 samples, 25 at a time."""

    def __init__(self, rows):
        self.rows = rows
        self.dim, self.n_constraints, self.names = 2, 1, ("c'x",)
        self.domain = sets.Box(-2, 2, dim=2)

    def at(self, x):
        a, c = self.rows[:, :2].mean(axis=0), self.rows[:, 2:].mean(axis=0)
        bend = 0.5 * (x @ x)
        values = np.array([bend - a @ x, c @ x + bend - 0.5])
        return Point(x, values, lambda w: w[0] * (x - a) + w[1] * (c + x))

    def sample(self, rng):
        return Batches(self.rows[rng.choice(len(self.rows), size=25, replace=False)])


def test_mini_batches_are_drawn_from_the_given_generator():
    rows = np.random.default_rng(3).normal([1.0, 0.5, 1.0, 0.2], 0.3, size=(50, 4))
    runs = [
        solve(Batches(rows), StrongSwitching(steps=3000, slack=1e-2), [0.0, 0.0], seed=s)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert (runs[0].x != runs[2].x).any()
    for run in runs:
        assert run.maxcv <= 5e-2
        assert run.certificate.residual <= 5e-2


def test_bad_input():
    with pytest.raises(ValueError, match="StrongSwitching: `steps` must be an integer"):
        StrongSwitching(steps=0)
    with pytest.raises(ValueError, match="StrongSwitching: `mu` must be positive"):
        StrongSwitching(mu=0.0)
    with pytest.raises(ValueError, match="StrongSwitching: `slack` must be positive"):
        StrongSwitching(slack=-1.0)
    with pytest.raises(ValueError, match="theoretical_steps: `accuracy` must be positive"):
        theoretical_steps(lipschitz=1.0, mu=1.0, accuracy=0.0)
    with pytest.raises(UnsuitableSolverError, match="needs a convex problem"):
        solve(REFERENCES["active"]().problem, StrongSwitching())
