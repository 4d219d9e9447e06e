"""The switching subgradient method and its theorem."""

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import FunctionProblem, Point, Problem, Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.solvers import (
    Constant,
    InverseSqrt,
    Polyak,
    SwitchingSubgradient,
    static_theory,
)

STATIC = SwitchingSubgradient(step_size=Constant(1e-3), slack=Constant(1e-3))


def path(problem, solver, x0, steps):
    """The iterates, from the states."""
    iterates = []
    solve(problem, solver, x0, max_steps=steps, callback=lambda it: iterates.append(it.state.x))
    return np.array(iterates)


@pytest.mark.parametrize(
    "solver",
    [
        STATIC,
        SwitchingSubgradient(),
        SwitchingSubgradient(step_size=Polyak(InverseSqrt(0.05)), slack=Constant(1e-4)),
    ],
    ids=["static", "diminishing", "polyak"],
)
def test_naive_twin(solver):
    """The box, transcribed by hand, 50 steps."""
    reference = REFERENCES["active"]()
    x = np.array([0.4, 0.2])
    expected = []
    for t in range(50):
        g_value = 1 - x[0] ** 2 - x[1] ** 2
        root = np.sqrt(t + 1)
        slack = {"static": 1e-3, "diminishing": 1e-3 / root, "polyak": 1e-4}
        kind = {Constant: "static", InverseSqrt: "diminishing", Polyak: "polyak"}
        name = kind[type(solver.step_size)]
        if g_value <= slack[name]:
            g = np.array([1.0, 0.0])
            eta = {"static": 1e-3, "diminishing": 0.1 / root, "polyak": 0.05 / root}[name]
        else:
            g = -2 * x
            eta = {"static": 1e-3, "diminishing": 0.1 / root, "polyak": g_value / (g @ g)}[name]
        x = np.clip(x - eta * g, [0.0, -0.5], [3.0, 0.5])
        expected.append(x)
    actual = path(reference.problem, solver, [0.4, 0.2], 50)
    np.testing.assert_allclose(actual, expected, atol=1e-12, rtol=0)


def test_t4_1_active_constraint():
    reference = REFERENCES["active"]()
    result = solve(reference.problem, STATIC, [2.0, 0.2], max_steps=20_000)
    assert np.linalg.norm(result.x - [0.8660254, 0.5]) < 2e-3
    assert reference.problem.at(result.x).excess <= 2e-3
    assert np.linalg.norm(result.state.x - [0.8660254, 0.5]) < 2e-3


def test_t4_2_without_violation_it_is_projected_subgradient():
    reference = REFERENCES["simple"]()  # the constraint never binds
    plain = QuadraticProblem(
        reference.problem.P[:1], reference.problem.q[:1], [0.0], reference.problem.domain
    )
    x, iterates = np.array([0.3, 0.2]), []
    for t in range(200):
        x = reference.problem.domain.project(
            x - 0.1 / np.sqrt(t + 1) * np.array([10 * x[0], -x[1]])
        )
        iterates.append(x)
    with_constraint = path(reference.problem, SwitchingSubgradient(), [0.3, 0.2], 200)
    without = path(plain, SwitchingSubgradient(), [0.3, 0.2], 200)
    np.testing.assert_array_equal(with_constraint, without)
    np.testing.assert_allclose(without, iterates, atol=1e-12)


def test_t4_3_zero_steps_are_the_identity():
    solver = SwitchingSubgradient(step_size=Constant(0.0))
    iterates = path(REFERENCES["convex"]().problem, solver, [0.5, 0.5], 20)
    np.testing.assert_array_equal(iterates, np.tile([0.5, 0.5], (20, 1)))


def test_t4_4_the_static_theorem():
    """E, eta, T of the theorem, and the average of |x - x_hat|^2 over the nearly feasible iterates."""
    reference = REFERENCES["bilinear"]()
    start = np.array([0.9, 0.1])
    f_0 = reference.problem.at(start).objective
    solver, steps = static_theory(
        eps=0.5, rho_hat=2.0, rho=1.0, lipschitz=4.0, multiplier_bound=1.0, decrease=f_0 + 1.0
    )
    assert solver.slack.size == pytest.approx(0.125)
    assert solver.step_size.size == pytest.approx(0.125 / 16)
    assert steps == 932  # f_0 is at least -1 on the L1 ball of radius 2
    iterates = np.vstack((start, path(reference.problem, solver, start, steps)))[:-1]
    squares = []
    for x in iterates[::4]:
        if reference.problem.at(x).excess <= 0.125:
            squares.append(np.sum((x - _prox(x)) ** 2))
    assert len(squares) > 100
    assert np.mean(squares) <= 0.25  # the theorem
    assert np.mean(squares) == pytest.approx(0.010, abs=0.005)  # what is measured


def _prox(x):
    """min -y1 y2 + |y - x|^2 s.t. |y|^2 <= 1, |y|_1 <= 2: the L1 ball contains the disc's points."""
    answer = minimize(
        lambda y: -y[0] * y[1] + (y - x) @ (y - x),
        x,
        jac=lambda y: np.array([-y[1], -y[0]]) + 2 * (y - x),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda y: 1 - y @ y, "jac": lambda y: -2 * y},
        options={"ftol": 1e-14},
    )
    return answer.x


def test_t4_5_polyak_steps_are_fejer():
    """On violated convex constraints the distance to every feasible point never grows."""
    reference = REFERENCES["convex"]()
    solver = SwitchingSubgradient(step_size=Polyak(Constant(0.01)), slack=Constant(0.0))
    start = np.array([2.5, -2.0])
    iterates = np.vstack((start, path(reference.problem, solver, start, 60)))
    angles = np.linspace(0, 2 * np.pi, 25)
    feasible = np.vstack([r * np.column_stack((np.cos(angles), np.sin(angles))) for r in (0.3, 1)])
    checked = 0
    for before, after in zip(iterates[:-1], iterates[1:]):
        if reference.problem.at(before).excess > 0:
            old = np.linalg.norm(feasible - before, axis=1)
            new = np.linalg.norm(feasible - after, axis=1)
            assert (new <= old + 1e-12).all()
            checked += 1
    assert checked >= 5


def test_cross_solver_fact_on_the_convex_problem():
    result = solve(REFERENCES["convex"]().problem, STATIC, [0.0, 2.0], max_steps=20_000)
    np.testing.assert_allclose(result.x, [0.9990, 0.0], atol=1.1e-3)


def test_stochastic_use_reaches_the_solution():
    """Mini-batches of a finite sum: mean of (x - a_i)^2 under |x|^2 <= 1."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(500, 2)) + [2.0, 0.0]

    class FiniteSum(Problem):
        dim, n_constraints, names = 2, 1, ("disc",)
        domain = sets.Box(-3, 3, dim=2)

        def __init__(self, rows):
            self.rows = rows

        def at(self, x):
            values = np.array([((x - self.rows) ** 2).sum(axis=1).mean(), x @ x - 1])
            slopes = np.array([2 * (x - self.rows.mean(axis=0)), 2 * x])
            return Point(x, values, lambda weights: weights @ slopes)

        def sample(self, rng):
            return FiniteSum(self.rows[rng.integers(0, len(self.rows), size=20)])

    result = solve(FiniteSum(A), SwitchingSubgradient(), [0.0, 2.0], max_steps=20_000, seed=1)
    center = A.mean(axis=0)
    np.testing.assert_allclose(result.x, center / np.linalg.norm(center), atol=0.02)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Constant(-1.0), "Constant: `size` must be non-negative"),
        (lambda: InverseSqrt(np.nan), "InverseSqrt: `size` must be non-negative"),
        (
            lambda: static_theory(
                eps=0.1, rho_hat=1.0, rho=1.0, lipschitz=1, multiplier_bound=1, decrease=1
            ),
            "`rho_hat` must exceed `rho`",
        ),
    ],
)
def test_bad_hyperparameters(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_zero_constraint_gradient_stops_nothing():
    """Polyak's length with a zero gradient is 0, not infinity."""
    problem = FunctionProblem(
        lambda x: (0.0, np.zeros(1)),
        [lambda x: (1.0, np.zeros(1))],
        domain=sets.Box(-1, 1, dim=1),
    )
    solver = SwitchingSubgradient(step_size=Polyak())
    result = solve(problem, solver, [0.5], max_steps=10)
    assert result.x == [0.5]
    assert result.status is Status.LOCALLY_INFEASIBLE
