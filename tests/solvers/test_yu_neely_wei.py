"""The method of Yu, Neely and Wei: oracle A2 and stand-alone baseline."""

import math

import numpy as np
import pytest

from equipoise import FunctionProblem, Point, Problem, Status, sets, solve
from equipoise._problem import Facts
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._proximal import ProximalProblem
from equipoise.solvers import YuNeelyWei, high_probability_bounds

EXACT, VALUE, MULTIPLIER = np.array([0.998304, 0.059932]), 0.998507, 0.49577  # of `subproblem`


def states(problem, solver, x0, steps):
    """Every state from the first on."""
    state, rng = solver.init(problem, np.asarray(x0, float)), np.random.default_rng(0)
    yield state
    for t in range(steps):
        state = solver.step(problem, state, t, rng)
        yield state


def subproblem():
    return ProximalProblem(REFERENCES["active"]().problem, np.array([1.0, 0.05]), 4.0)


@pytest.mark.parametrize(
    ("K", "gap", "violation", "bound"),
    [
        (1_000, -7.3e-3, 1.49e-2, 2.02),
        (10_000, -2.3e-3, 4.7e-3, 0.645),
        (100_000, -7.4e-4, 1.5e-3, 0.204),
    ],
)
def test_t2_5_gap_violation_invariant_and_multiplier(K, gap, violation, bound):
    """The deterministic invariant bounds the violation of the mean; Q >= 0; Q / V -> multiplier."""
    problem, M1 = subproblem(), 9.265
    solver = YuNeelyWei(steps=K).tuned(mu=2.0, accuracy=1e-4, multipliers=None)
    lengths, least = 0.0, math.inf
    for state in states(problem, solver, (1.0, 0.05), K):
        length = np.linalg.norm(state.Q)
        lengths += length if state.k < K else 0.0  # the sum over k < K
        least = min(least, state.Q.min())
    z, multipliers = solver.output(state)
    assert solver.verdict(state) is Status.MAX_STEPS
    assert least >= 0.0
    np.testing.assert_array_equal(z, state.mean)
    assert multipliers[0] == pytest.approx(MULTIPLIER, abs=2e-5)
    values = problem.at(z).values
    assert values[0] - VALUE == pytest.approx(gap, rel=0.03)
    assert values[1] == pytest.approx(violation, rel=0.03)
    invariant = length / K + M1**2 / (2 * math.sqrt(K)) + M1**2 / (2 * K**2) * lengths
    assert invariant == pytest.approx(bound, rel=0.01)
    assert values[1] <= invariant


def test_the_queue_over_v_and_the_last_iterate_on_the_convex_problem():
    """Solution and multiplier of the convex reference problem, from (0, 2) with K = 20000."""
    problem = REFERENCES["convex"]().problem
    result = solve(problem, YuNeelyWei(steps=20_000), [0.0, 2.0], max_steps=20_000)
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-6)
    assert result.state.Q[0] / math.sqrt(20_000) == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(result.state.mean, [0.9979, 0.0090], atol=1e-4)
    assert result.certificate.residual <= 1e-5
    assert result.status is Status.MAX_STEPS


def test_naive_twin():
    center, rho_hat, K = np.array([1.0, 0.05]), 4.0, 50
    V, alpha, domain = math.sqrt(K), K, REFERENCES["active"]().problem.domain
    z, Q, seen, expected = center, np.zeros(1), [], []
    for _ in range(K):
        seen.append(z)
        th = 1 - z @ z + rho_hat / 2 * (z - center) @ (z - center)
        ze_0 = np.array([1.0, 0.0]) + rho_hat * (z - center)
        ze_1 = -2 * z + rho_hat * (z - center)
        after = domain.project(z - (V * ze_0 + Q[0] * ze_1) / (2 * alpha))
        Q = np.array([max(Q[0] + th + ze_1 @ (after - z), 0.0)])
        z = after
        expected.append(np.concatenate((z, Q, np.mean(seen, axis=0))))
    path = states(subproblem(), YuNeelyWei(steps=K), center, K)
    actual = [np.concatenate((s.z, s.Q, s.mean)) for s in path][1:]
    np.testing.assert_allclose(actual, expected, atol=1e-12, rtol=0)
    assert Q[0] > 0


def test_without_constraints_it_is_projected_gradient_descent():
    problem = QuadraticProblem([np.eye(2)], [[-2.0, 0.3]], [0.0], sets.Box(-1, 1, dim=2))
    solver = YuNeelyWei(steps=400, objective_weight=3.0, damping=10.0)
    x = np.array([-1.0, 1.0])
    for state in states(problem, solver, x, 100):
        np.testing.assert_allclose(state.z, x, atol=1e-12)
        x = problem.domain.project(x - 3.0 / 20.0 * (x + np.array([-2.0, 0.3])))
    assert solver.output(state)[1].shape == (0,)


def test_a_known_gradient_bound_saves_backward_passes_and_changes_nothing():
    target = np.array([2.0, 1.0])
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, -1.0]])
    bounds = np.array([1.0, 1.2, 50.0, 60.0])  # the last two are far from active

    def problem(lipschitz):
        return FunctionProblem(
            objective=lambda x: (0.5 * (x - target) @ (x - target), x - target),
            constraints=[
                lambda x, row=row, bound=bound: (row @ x - bound, row)
                for row, bound in zip(rows, bounds)
            ],
            domain=sets.Box(-3, 3, dim=2),
            facts=Facts(convex=True, lipschitz=lipschitz),
        )

    runs = [solve(problem(M), YuNeelyWei(steps=2000), [-2.0, -2.0]) for M in (None, 7.0)]
    np.testing.assert_array_equal(runs[0].state.Q, runs[1].state.Q)
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].njev == 2000 * (1 + 4)
    assert runs[1].njev <= 2000 * (1 + 2)
    np.testing.assert_allclose(runs[1].x, [1.0, 0.75], atol=1e-3)


@pytest.mark.parametrize("name", ["convex", "auc"])
def test_defaults_reach_the_certificate_from_random_starts(name):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(1)
    for _ in range(20):
        start = reference.problem.domain.project(rng.uniform(-3, 3, reference.problem.dim))
        result = solve(reference.problem, YuNeelyWei(), start, tol=1e-2)
        assert result.success, result.message
        assert result.certificate.residual <= 1e-2
    full = solve(reference.problem, YuNeelyWei(), start)  # the end of the budget is far better
    assert full.certificate.residual <= 1e-5
    np.testing.assert_allclose(full.multipliers, reference.kkt[0].multipliers, atol=1e-4)


def test_the_nonconvex_problems_have_no_theory_and_no_claim():
    """There the Lagrangian is not convex and the iterates need not settle: no success is claimed."""
    for name in ("active", "bilinear"):
        reference = REFERENCES[name]()
        result = solve(reference.problem, YuNeelyWei(steps=2000), reference.start, tol=1e-2)
        assert result.success == (result.certificate.residual <= 1e-2)


def test_infeasible_problems_end_with_a_status():
    problem = QuadraticProblem(
        P=[[[2.0]], [[2.0]]], q=[[1.0], [0.0]], c=[0.0, 1.0], domain=sets.Box(-2, 2, dim=1)
    )
    result = solve(problem, YuNeelyWei(), [1.7], tol=1e-3)
    assert result.status is Status.INFEASIBLE
    assert abs(result.x[0]) <= 1e-2


class FiniteSum(Problem):
    """min E |x - a|^2/2  s.t.  E b'x <= 1/2 over 400 rows, 20 at a time."""

    def __init__(self, a, b):
        self.a, self.b = a, b
        self.dim, self.n_constraints, self.names = 2, 1, ("b'x",)
        self.domain = sets.Box(-2, 2, dim=2)
        self.facts = Facts(convex=True, stochastic=True)

    def at(self, x):
        a, b = self.a.mean(axis=0), self.b.mean(axis=0)
        square = 0.5 * ((x - self.a) ** 2).sum(axis=1).mean()
        values = np.array([square, b @ x - 0.5])
        return Point(x, values, lambda w: w[0] * (x - a) + w[1] * b)

    def sample(self, rng):
        chosen = rng.choice(len(self.a), size=20, replace=False)
        return FiniteSum(self.a[chosen], self.b[chosen])


def test_mini_batches_within_the_high_probability_bounds():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-0.5, 1.5, (400, 2)), rng.uniform(0.5, 1.5, (400, 2))
    problem = FiniteSum(a, b)
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    lam = (mean_b @ mean_a - 0.5) / (mean_b @ mean_b)
    exact = mean_a - lam * mean_b  # the projection on the half-space
    K = 4000
    solver = YuNeelyWei(steps=K, returns="mean")
    runs = [solve(problem, solver, [-2.0, 2.0], seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert (runs[0].x != runs[2].x).any()
    D = problem.domain.diameter
    bounds = high_probability_bounds(
        steps=K, delta=0.1, slater=0.5, diameter=D, value_bound=6.6, lipschitz=5.0
    )
    for run in runs:
        point = problem.at(run.x)
        assert point.objective - problem.at(exact).objective <= min(bounds.gap, 0.05)
        assert point.excess <= min(bounds.violation, 0.05)
        assert np.linalg.norm(run.state.Q) <= bounds.queue
        assert run.state.Q[0] / math.sqrt(K) == pytest.approx(lam, abs=0.15)


def test_high_probability_bounds_are_those_of_the_specification():
    K, delta, sig, D, m, rho_hat = 10_000, 0.05, 0.5, 2.0, 3, 4.0
    M0, M1 = 1.5 + rho_hat * math.sqrt(m) * D**2 / 2, 2.0 + rho_hat * D
    E = M0 + math.sqrt(m) * M1 * D
    queue = (
        sig / 2
        + E
        + 2 * D**2 / sig
        + (2 * M1 * D + E**2) / sig
        + (8 * E**2 / sig) * math.log(1 + (32 * E**2 / sig**2) * math.exp(sig / (8 * E)))
        + (8 * E**2 / sig) * math.log(2 * K / delta)
    )
    B1 = D**2 + M1**2 / 4 + E**2 / 2 + math.sqrt(math.log(1 / delta)) * M0 * queue
    B2 = queue + M1**2 + queue * math.sqrt(m) * M1**2 / 2
    bounds = high_probability_bounds(
        steps=K,
        delta=delta,
        slater=sig,
        diameter=D,
        value_bound=1.5,
        lipschitz=2.0,
        n_constraints=m,
        rho_hat=rho_hat,
    )
    assert bounds.queue == pytest.approx(queue, rel=1e-12)
    assert bounds.gap == pytest.approx(B1 / math.sqrt(K), rel=1e-12)
    assert bounds.violation == pytest.approx(B2 / math.sqrt(K), rel=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match="YuNeelyWei: `steps` must be an integer"):
        YuNeelyWei(steps=0)
    with pytest.raises(ValueError, match="YuNeelyWei: `objective_weight` must be positive"):
        YuNeelyWei(objective_weight=0.0)
    with pytest.raises(ValueError, match="YuNeelyWei: `damping` must be positive"):
        YuNeelyWei(damping=-1.0)
    with pytest.raises(ValueError, match="YuNeelyWei: `returns` must be one of 'last', 'mean'"):
        YuNeelyWei(returns="best")
    good = {"steps": 10, "slater": 1.0, "diameter": 1.0, "value_bound": 1.0, "lipschitz": 1.0}
    with pytest.raises(ValueError, match="`delta` must lie strictly between 0 and 1"):
        high_probability_bounds(delta=1.0, **good)
