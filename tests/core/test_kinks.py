"""At kinks: near-stationarity decides where one subgradient proves nothing."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Facts, FunctionProblem, Point, Problem, Status, near_stationarity, sets, solve
from equipoise.certificate import NearOptimality, near_within
from equipoise.solvers import Guarantee, Solver
from tests.solvers.test_random_problems import problem as random_problem
from tests.solvers.test_random_problems import start

KINKS = range(2, 100, 8)
CONVEX = Facts(smooth=False, convex=True, convex_constraints=True, weak_convexity=0.0)


@dataclass(frozen=True)
class Standing(Solver):
    """Stays at its start."""

    name = "standing"
    guarantee = Guarantee("", "", "", "")

    def init(self, problem, x0):
        return x0

    def step(self, problem, state, t, rng):
        problem.at(state.copy())
        return state

    def output(self, state):
        return state, None


def corner(facts=CONVEX):
    """min |x1| + |x2 - 1|  s.t.  |x1| + x2 <= 1/2: the solution (0, 1/2) sits on a kink of each."""
    return FunctionProblem(
        lambda x: (abs(x[0]) + abs(x[1] - 1), np.array([np.sign(x[0]), np.sign(x[1] - 1)])),
        [lambda x: (abs(x[0]) + x[1] - 0.5, np.array([np.sign(x[0]), 1.0]))],
        domain=sets.Box(-2.0, 2.0, dim=2),
        facts=facts,
    )


def stand(problem, x, tol=1e-2, steps=400):
    return solve(problem, Standing(), x, max_steps=steps, tol=tol)


def test_switching_succeeds_at_kinks_and_is_near_the_solution():
    """The objective is 1-strongly convex, so a near-stationary point is near the solution."""
    tol, proven = 1e-2, 0
    for i in KINKS:
        _, instance = random_problem(i)
        result = solve(instance, "switching", start(i, instance.dim), max_steps=10_000, tol=tol)
        if not result.success:
            assert result.near is None
            continue
        assert result.status is Status.CONVERGED
        assert instance.at(result.x).violation <= tol
        assert np.linalg.norm(result.x - exact(i)) <= 3 * tol
        if result.near is not None:
            proven += 1
            assert result.certificate.residual > tol
            assert result.near.residual <= tol
            assert "near-stationarity" in result.message
            assert f"{result.near.residual:.3e} (at kinks)" in str(result)
    assert proven >= 8


def exact(i):
    """min sum_j t_j + x'x/2  s.t.  |A x - b| <= t, |a'x| <= r: the kinks written as linear rows."""
    rng = np.random.default_rng(1000 + i)
    d = int(rng.integers(2, 6))
    A, b, a = rng.normal(size=(d + 1, d)), rng.normal(size=d + 1), rng.normal(size=d)
    eye = np.eye(d + 1)
    rows = np.block([[-A, eye], [A, eye], [a, np.zeros(d + 1)], [-a, np.zeros(d + 1)]])
    offset = np.concatenate((b, -b, [0.1, 0.1]))
    answer = minimize(
        lambda z: z[d:].sum() + 0.5 * z[:d] @ z[:d],
        np.concatenate((np.zeros(d), np.abs(b))),
        jac=lambda z: np.concatenate((z[:d], np.ones(d + 1))),
        method="SLSQP",
        bounds=[(-1.5, 1.5)] * d + [(0.0, None)] * (d + 1),
        constraints={"type": "ineq", "fun": lambda z: rows @ z + offset, "jac": lambda _: rows},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert answer.success
    return answer.x[:d]


@pytest.mark.parametrize("x", [[1e-3, 0.4985], [-1e-3, 0.501], [0.0, 0.5]])
def test_a_point_at_the_kinks_is_a_success(x):
    result = stand(corner(), x)
    assert result.success
    assert result.nit in (0, 400)  # 0: the subgradients happen to prove it


@pytest.mark.parametrize("x", [[0.05, 0.4], [0.0, 0.4], [-1.0, -1.0], [0.5, 0.0]])
def test_a_feasible_point_that_is_not_stationary_gets_no_success(x):
    result = stand(corner(), x)
    assert result.status is Status.MAX_STEPS
    assert not result.success
    assert result.near is None


def test_a_violation_above_tol_is_never_a_success():
    result = stand(corner(), [0.0, 0.5 + 2e-2])
    assert result.maxcv > 1e-2
    assert not result.success
    assert result.near is None


@pytest.mark.parametrize(("x", "proven"), [(1.0005, True), (-0.9995, True), (0.9, False)])
def test_weakly_convex_kinks(x, proven):
    """|x^2 - 1| has kinks at its minimisers and is 2-weakly convex."""
    problem = FunctionProblem(
        lambda x: (abs(x[0] ** 2 - 1), 2 * x * np.sign(x**2 - 1)),
        domain=sets.Box(-2.0, 2.0, dim=1),
        facts=Facts(smooth=False, weak_convexity=2.0),
    )
    result = stand(problem, [x])
    assert result.success == proven
    assert (result.near is not None) == proven


def test_what_is_claimed_holds_with_the_error_bound():
    """The exact proximal point, known in closed form, is within the claimed bound."""
    x = np.array([1e-3, 0.4985])
    near = near_within(corner(), x, 1e-2, 250)
    exact_witness = np.array([0.0, 0.4985 + 0.0015])  # up to the quadratic's 1e-6
    assert np.linalg.norm(x - exact_witness) <= near.bound + 2e-6
    assert near.residual >= (1 + near.multipliers.sum()) * near.rho_hat * near.bound
    assert near.residual <= 1e-2


@pytest.mark.parametrize(
    "facts",
    [
        Facts(smooth=False),  # rho unknown
        replace(CONVEX, smooth=True),  # the certificate is the measure
        replace(CONVEX, rounding=1e-7),  # single precision proves nothing at this scale
    ],
)
def test_no_claim_without_the_facts_it_rests_on(facts):
    assert not stand(corner(facts), [1e-3, 0.4985]).success


def test_no_claim_where_the_subproblem_has_no_feasible_point():
    """|x| <= 0 has no interior: from 1e-4 no y satisfies |y| + |y - x|^2/2 <= 0. Planes can prove it."""
    problem = FunctionProblem(
        lambda x: (x[0], np.array([1.0])),
        [lambda x: (abs(x[0]), np.sign(x))],
        domain=sets.Box(-1.0, 1.0, dim=1),
        facts=CONVEX,
    )
    near = near_stationarity(problem, np.array([1e-4]), 1.0)
    assert not near.solvable
    assert near.residual == np.inf
    assert near_within(problem, np.array([1e-4]), 1e-2, 250) is None
    assert isinstance(stand(problem, [1e-4]).near, NearOptimality)  # the solution is 0
    assert not stand(problem, [2e-2]).success


def test_the_check_is_cheap_and_not_the_solvers_count():
    calls = 0
    inner = corner()

    class Spy(Problem):
        dim, n_constraints, names, domain, facts = 2, 1, ("c",), inner.domain, CONVEX

        def at(self, x) -> Point:
            nonlocal calls
            calls += 1
            return inner.at(x)

    result = stand(Spy(), [1e-3, 0.4985])
    assert result.near is not None
    assert result.nfev == 400
    assert calls <= 400 + 3 * len(result.trace) + 400 // 4 + 60


def test_a_function_that_turns_nan_near_the_end_loses_nothing():
    def objective(x):
        value = abs(x[0]) if x[0] >= 9e-4 else np.nan
        return value, np.array([np.sign(x[0]), 0.0])

    problem = FunctionProblem(objective, domain=sets.Box(-1, 1, dim=2), facts=CONVEX)
    result = stand(problem, [1e-3, 0.0])
    assert result.status is Status.MAX_STEPS
    assert not result.success
