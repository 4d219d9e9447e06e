"""Newton-CG on the augmented Lagrangian, and the choice of a solver."""

import numpy as np
import pytest
from scipy.optimize import minimize

from equipoise import Facts, FunctionProblem, Status, sets, solve
from equipoise.problems import REFERENCES, AugmentedLagrangianMerit, QuadraticProblem
from equipoise.solvers import AugmentedNewton, Sequence, SwitchingSubgradient, choose
from equipoise.solvers._newton.conjugate_gradients import conjugate_gradients


def test_conjugate_gradients_solve_and_follow_negative_curvature():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6))
    H, target = B @ B.T + np.eye(6), rng.normal(size=6)
    d = conjugate_gradients(lambda v: H @ v, target, 1e-12).d
    np.testing.assert_allclose(H @ d, target, atol=1e-9)
    saddle = np.diag([1.0, -1.0])
    d = conjugate_gradients(lambda v: saddle @ v, np.array([1.0, 0.1]), 1e-12).d
    assert d @ np.array([1.0, 0.1]) > 0  # descent for the gradient -target
    zero = conjugate_gradients(lambda v: H @ v, np.zeros(6), 0.1).d
    np.testing.assert_array_equal(zero, np.zeros(6))


@pytest.mark.parametrize(
    "name", ["active", "bilinear", "bilinear_small", "convex", "auc", "simple"]
)
def test_defaults_reach_1e7_from_20_random_starts_in_few_steps(name):
    reference = REFERENCES[name]()
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(20):
        start = reference.problem.domain.project(2 * rng.normal(size=reference.problem.dim))
        start = 0.9 * start + (np.array([0.05, 0.0]) if name == "active" else 0.0)
        result = solve(reference.problem, "augmented_newton", start, max_steps=200, tol=1e-7)
        assert result.success, f"{start}\n{result}"
        steps.append(result.nit)
    assert np.median(steps) <= 30


def test_the_merit_never_rises_within_one_multiplier():
    """Each step lowers the augmented Lagrangian of its own multipliers and penalty."""
    problem, solver = REFERENCES["auc"]().problem, AugmentedNewton()
    state, rng = solver.init(problem, np.array([0.9, -0.9, 0.9])), np.random.default_rng(0)
    compared = 0
    for t in range(25):
        new = solver.step(problem, state, t, rng)
        merit = AugmentedLagrangianMerit(new.lam, new.b)
        before = merit(problem.at(state.pair.x).values)[0]
        after = merit(problem.at(new.pair.x).values)[0]
        assert after <= before + 1e-12
        compared += after < before
        state = new
    assert compared >= 10


def test_without_constraints_it_is_newtons_method():
    """On a convex quadratic without constraints one full CG step is the solution."""
    rng = np.random.default_rng(1)
    B = rng.normal(size=(5, 5))
    P, q = B @ B.T + np.eye(5), rng.normal(size=5)
    problem = QuadraticProblem([P], [q], [0.0], sets.WholeSpace())
    result = solve(problem, "augmented_newton", np.zeros(5), max_steps=50, tol=1e-9)
    assert result.success
    np.testing.assert_allclose(result.x, -np.linalg.solve(P, q), atol=1e-8)


@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_curved_domains_are_solved_at_newton_speed(radius):
    """Products of balls: the bending of the boundary enters the Hessian."""
    rng = np.random.default_rng(3)
    B = rng.normal(size=(6, 6))
    P = np.array([B + B.T, np.eye(6)])
    problem = QuadraticProblem(
        P, rng.normal(size=(2, 6)), [0.0, -0.2], sets.Product([(sets.L2Ball(radius), 3)] * 2)
    )
    result = solve(problem, "augmented_newton", np.zeros(6), max_steps=100, tol=1e-8)
    assert result.success
    assert result.nit <= 40
    answer = minimize(
        lambda x: problem.at(x).values[0],
        result.x + 0.01,
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda x: np.array(
                [-problem.at(x).values[1], radius**2 - x[:3] @ x[:3], radius**2 - x[3:] @ x[3:]]
            ),
        },
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert result.fun == pytest.approx(answer.fun, abs=1e-6)


@pytest.mark.parametrize("scale", [1e3, 1e6])
@pytest.mark.parametrize("name", ["convex", "active", "bilinear"])
def test_steep_constraints_do_not_swamp_the_objective(name, scale):
    reference = REFERENCES[name]()
    base = reference.problem
    factors = np.array([1.0] + [scale] * base.n_constraints)
    steep = QuadraticProblem(
        base.P * factors[:, None, None], base.q * factors[:, None], base.c * factors, base.domain
    )
    result = solve(steep, "augmented_newton", reference.start, max_steps=100, tol=1e-5)
    plain = solve(base, "augmented_newton", reference.start, max_steps=100, tol=1e-5)
    assert result.success
    assert result.fun == pytest.approx(plain.fun, abs=1e-4)


def test_works_without_hessian_products():
    base = REFERENCES["convex"]().problem
    problem = FunctionProblem(
        lambda x: (base.at(x).values[0], base.at(x).gradient(0)),
        [lambda x: (base.at(x).values[1], base.at(x).gradient(1))],
        domain=base.domain,
    )
    result = solve(problem, "augmented_newton", [0.0, 2.0], max_steps=100, tol=1e-6)
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-5)


def test_multipliers_and_infeasible_verdict():
    result = solve(REFERENCES["auc"]().problem, "augmented_newton", max_steps=100, tol=1e-8)
    np.testing.assert_allclose(
        result.multipliers, REFERENCES["auc"]().kkt[0].multipliers, atol=1e-6
    )
    nowhere = QuadraticProblem(
        P=[[[0.0]], [[2.0]]], q=[[1.0], [0.0]], c=[0.0, 1.0], domain=sets.Box(-2, 2, dim=1)
    )
    verdict = solve(nowhere, "augmented_newton", [1.5], max_steps=500, tol=1e-6)
    assert verdict.status is Status.INFEASIBLE
    assert verdict.maxcv == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "`tol` must be positive"),
        ({"penalty": -1.0}, "`penalty` must be positive"),
        ({"growth": 1.0}, "`growth`"),
    ],
)
def test_bad_hyperparameters(options, message):
    with pytest.raises(ValueError, match=message):
        AugmentedNewton(**options)


def test_choose_looks_at_the_facts():
    chosen = choose(REFERENCES["convex"]().problem)  # few variables: SQP, and this where it stalls
    assert isinstance(chosen, Sequence)
    assert isinstance(chosen.second, AugmentedNewton)
    problem = FunctionProblem(lambda x: (0.0, x), dim=1, facts=Facts(smooth=False))
    assert isinstance(choose(problem), SwitchingSubgradient)
    unknown = FunctionProblem(lambda x: (0.0, x), dim=1)
    assert isinstance(choose(unknown), Sequence)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_auto_needs_no_parameter_for_kinks_of_any_scale(scale):
    """min scale (|x1 - 1| + |x2|) s.t. scale (|x1| + |x2| - 0.5) <= 0: the solution is (0.5, 0)."""

    def objective(x):
        return scale * (abs(x[0] - 1) + abs(x[1])), scale * np.array(
            [np.sign(x[0] - 1), np.sign(x[1])]
        )

    def ball(x):
        return scale * (np.abs(x).sum() - 0.5), scale * np.sign(x)

    for facts in (Facts(smooth=False), Facts()):  # told, and not told, about the kinks
        problem = FunctionProblem(objective, [ball], domain=sets.Box(-2, 2, dim=2), facts=facts)
        result = solve(problem, x0=[-1.0, 1.0], max_steps=5000)
        assert result.fun <= scale * 0.52
        assert result.maxcv <= scale * 0.02 + 1e-3


def test_then_hands_over_where_the_first_stalls():
    problem = FunctionProblem(
        lambda x: (abs(x[0] - 0.3), np.sign(x - 0.3)), domain=sets.Box(-1, 1, dim=1)
    )
    solver = Sequence(AugmentedNewton(), SwitchingSubgradient())
    result = solve(problem, solver, [-1.0], max_steps=3000)
    assert result.state.second
    assert abs(result.x[0] - 0.3) < 5e-3


def test_a_trial_that_is_not_finite_is_followed_by_a_shorter_step():
    """A logarithmic barrier: NaN outside a polytope that full Newton steps leave."""
    rng = np.random.default_rng(0)
    A, b, slope = rng.normal(size=(20, 3)), np.ones(20), np.array([30.0, 0.0, 0.0])

    def objective(x):
        room = b - A @ x
        with np.errstate(invalid="ignore", divide="ignore"):
            return slope @ x - np.log(room).sum(), slope + A.T @ (1 / room)

    problem = FunctionProblem(
        objective, [lambda x: (x @ x - 0.2, 2 * x)], dim=3, facts=Facts(smooth=True)
    )
    result = solve(problem, "auto", np.zeros(3), tol=1e-7)
    assert result.success
    twin = minimize(
        objective,
        np.zeros(3),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: 0.2 - x @ x},
        options={"ftol": 1e-14},
    )
    assert result.fun <= twin.fun + 1e-6


def test_an_objective_of_minus_infinity_ends_the_run():
    def objective(x):
        return (-np.inf, -x) if x[0] > 5 else (-x[0], np.array([-1.0, 0.0]))

    problem = FunctionProblem(objective, dim=2, facts=Facts(smooth=True))
    result = solve(problem, "augmented_newton", np.zeros(2), max_steps=100)
    assert result.status is Status.NON_FINITE
    assert "-inf" in result.message
