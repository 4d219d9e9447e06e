"""SP-LM."""

import math

import numpy as np
import pytest

from equipoise import solve
from equipoise._problem import Facts, Problem
from equipoise._status import Status
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.sets._box import Box
from equipoise.sets._l1_ball import L1Ball
from equipoise.solvers import IPPP, SPLM, AugmentedLagrangian, IMELa, UnsuitableSolverError

PAPER = SPLM(step_size=0.05, dual_step=0.05, centre_step=0.1, prox=4.0)
SOLUTION = math.sqrt(0.5)


def run(problem, solver, x0, steps):
    states = [solver.init(problem, x0)]
    for t in range(steps):
        states.append(solver.step(problem, states[-1], t, None))
    return states


def residuals(problem, x, lam):
    point = problem.at(x)
    stationarity = problem.domain.normal_distance(x, -point.lagrangian_gradient(lam))
    return stationarity, point.violation, float(np.abs(lam * point.constraints).sum())


def starts(problem, count):
    rng, found = np.random.default_rng(6), []
    while len(found) < count:
        x = rng.uniform(-3, 3, size=problem.dim)
        if problem.domain.contains(x):
            found.append(x)
    return found


# -- acceptance ---------------------------------------------------------------------------------


def test_bilinear():
    """n = 0.05, tau = 0.05, theta = 0.1, 5000 steps: the solution to 1e-8."""
    reference = REFERENCES["bilinear"]()
    last = run(reference.problem, PAPER, reference.start, 5000)[-1]
    np.testing.assert_allclose(last.x, [SOLUTION, SOLUTION], rtol=0, atol=1e-8)
    assert last.lam[0] == pytest.approx(0.5, abs=1e-8)
    x, lam = PAPER.output(last)
    assert max(residuals(reference.problem, x, lam)) <= 1e-8


def test_the_domain_binds():
    problem = REFERENCES["bilinear_small"]().problem
    last = run(problem, PAPER, np.array([0.9, 0.1]), 3000)[-1]
    np.testing.assert_allclose(last.x, [0.5, 0.5], rtol=0, atol=1e-10)
    assert last.lam[0] == 0.0
    assert residuals(problem, last.x, last.lam)[0] <= 1e-10


# -- naive twin ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [math.inf, 0.1])
def test_twin(cap):
    reference = REFERENCES["bilinear"]()
    start = np.array([-0.9, 1.05])
    x = z = start
    lam, n, tau, theta, p = 0.0, 0.08, 0.3, 0.25, 4.0
    naive = [(x, z, lam)]
    for _ in range(50):
        lam = min(max(lam + tau * (x[0] ** 2 + x[1] ** 2 - 1), 0), cap)
        slope = np.array([-x[1] + 2 * lam * x[0], -x[0] + 2 * lam * x[1]]) + p * (x - z)
        x = reference.problem.domain.project(x - n * slope)
        z = z + theta * (x - z)
        naive.append((x, z, lam))
    solver = SPLM(step_size=n, dual_step=tau, centre_step=theta, prox=p, cap=cap)
    for state, (x, z, lam) in zip(run(reference.problem, solver, start, 50), naive):
        np.testing.assert_allclose(state.x, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.z, z, rtol=0, atol=1e-12)
        np.testing.assert_allclose(state.lam, [lam], rtol=0, atol=1e-12)
    assert max(lam for _, _, lam in naive) > 0.05


# -- reduces to ---------------------------------------------------------------------------------


def test_without_constraints_and_with_the_centre_at_x_it_is_projected_gradient():
    problem = QuadraticProblem([np.diag([1.0, 3.0])], [[2.0, -1.0]], [0.0], Box(-1, 1, dim=2))
    x = np.array([0.7, -0.9])
    for state in run(problem, SPLM(step_size=0.1, centre_step=1.0), x, 40)[1:]:
        x = problem.domain.project(x - 0.1 * problem.at(x).gradient(0))
        np.testing.assert_allclose(state.x, x, rtol=0, atol=1e-14)


# -- output -------------------------------------------------------------------------------------


def test_the_best_pair_is_returned():
    """The pairs are (x_t, lam_t+1); the best so far by their largest residual."""
    problem = REFERENCES["bilinear"]().problem
    states = run(problem, SPLM(), np.array([0.9, 0.1]), 80)
    largest = []
    for old, new in zip(states[:-1], states[1:]):
        largest.append(max(residuals(problem, old.x, new.lam)))
        assert new.best.residual == pytest.approx(min(largest), rel=1e-12)
        answer = max(residuals(problem, *SPLM().output(new)))
        assert answer == pytest.approx(min(largest), rel=1e-9)
    assert any(later > earlier for earlier, later in zip(largest, largest[1:]))


# -- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bilinear", "bilinear_small", "convex", "auc"])
def test_defaults_from_random_starts(name):
    reference = REFERENCES[name]()
    for x0 in starts(reference.problem, 20):
        result = solve(reference.problem, SPLM(), x0, max_steps=1000, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5
        assert reference.distance(result.x) <= 1e-4


@pytest.mark.parametrize("name", ["bilinear", "convex"])
def test_defaults_without_known_constants(name):
    reference = REFERENCES[name]()
    reference.problem.facts = Facts()
    for x0 in starts(reference.problem, 10):
        result = solve(reference.problem, SPLM(), x0, max_steps=3000, tol=1e-5)
        assert result.success
        assert reference.distance(result.x) <= 1e-4


def test_random_problems_end_in_a_status():
    solved = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(3, 5, 5)) / math.sqrt(5)
        P = np.array([A[0] + A[0].T, A[1] @ A[1].T, A[2] @ A[2].T])
        q = rng.normal(size=(3, 5))
        feasible = QuadraticProblem(P, q, [0.0, -0.5, -0.5], L1Ball(3.0))
        solved += solve(feasible, SPLM(), np.zeros(5), max_steps=8000, tol=1e-5).success
        infeasible = QuadraticProblem(P, q, [0.0, -0.5, 60.0], L1Ball(3.0))
        result = solve(infeasible, SPLM(), np.zeros(5), max_steps=300, tol=1e-5)
        assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
        assert result.certificate.violation > 1
    assert solved == 10


def test_halves_the_centre_step_where_it_makes_no_progress():
    """An infeasible problem never improves; the centre step falls to its least, and no further."""
    problem = QuadraticProblem(
        [2 * np.eye(2), 2 * np.eye(2)], np.zeros((2, 2)), [0.0, 1.0], Box(-1, 1, dim=2)
    )
    states = run(problem, SPLM(), np.array([0.5, 0.5]), 3000)
    seen = sorted({state.centre.theta for state in states}, reverse=True)
    np.testing.assert_allclose(seen, [0.2, 0.1, 0.05, 0.025, 0.02])
    assert {state.centre.theta for state in run(problem, PAPER, np.array([0.5, 0.5]), 600)} == {0.1}


# -- all smooth methods -------------------------------------------------------------------------


class FiniteSum(Problem):
    """A problem whose mini-batches must not be touched: these methods need exact values."""

    def __init__(self, base):
        self.base, self.facts = base, Facts(smooth=True, convex=True, stochastic=True)
        self.dim, self.n_constraints = base.dim, base.n_constraints
        self.domain, self.names = base.domain, base.names

    def at(self, x):
        return self.base.at(x)

    def sample(self, rng):
        raise AssertionError("a mini-batch was drawn")


@pytest.mark.parametrize("solver", [SPLM(), IMELa(), IPPP(), AugmentedLagrangian()])
def test_full_values_are_used_where_mini_batches_exist(solver):
    result = solve(FiniteSum(REFERENCES["convex"]().problem), solver, [0.2, 0.3], tol=1e-3)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-2)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("solver", [SPLM(), IMELa(), IPPP(), AugmentedLagrangian()])
def test_tensors(solver, precision):
    torch = pytest.importorskip("torch")
    from equipoise.problems import FunctionProblem

    problem = FunctionProblem(
        lambda x: ((x[0] - 2) ** 2 + x[1] ** 2, torch.stack((2 * x[0] - 4, 2 * x[1]))),
        [lambda x: (x @ x - 1, 2 * x)],
        domain=Box(-3.0, 3.0, dim=2),
        facts=Facts(smooth=True, convex=True, convex_constraints=True),
    )
    start = torch.tensor([0.3, 1.7], dtype=getattr(torch, precision))
    result = solve(problem, solver, start, max_steps=3000, tol=1e-3)
    assert result.success
    assert result.x.dtype == start.dtype


# -- refusals -----------------------------------------------------------------------------------


def test_non_convex_constraints_are_refused():
    with pytest.raises(UnsuitableSolverError, match="convex constraints"):
        solve(REFERENCES["active"]().problem, SPLM(), [2.0, 0.2])


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"step_size": 0.0}, "step_size"),
        ({"dual_step": -1.0}, "dual_step"),
        ({"centre_step": 1.5}, "centre_step"),
        ({"prox": 0.0}, "prox"),
        ({"smoothness": -2.0}, "smoothness"),
        ({"cap": 0.0}, "cap"),
    ],
)
def test_bad_hyperparameters(options, parameter):
    with pytest.raises(ValueError, match=f"SPLM: `{parameter}`"):
        SPLM(**options)


def test_a_prox_below_the_smoothness_is_refused():
    with pytest.raises(ValueError, match="SPLM: `prox` must exceed the smoothness L = 2"):
        solve(REFERENCES["bilinear"]().problem, SPLM(prox=2.0), [0.9, 0.1])
