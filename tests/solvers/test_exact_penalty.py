"""The exact-penalty method."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise import sets, solve
from equipoise._problem import Facts
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.problems import REFERENCES, FunctionProblem, QuadraticProblem
from equipoise.sets._set import Set
from equipoise.solvers import Add, ExactPenalty, Multiply, UnsuitableSolverError
from equipoise.solvers._newton.face_newton import newton_points
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._penalty.linearised_penalty import LinearisedPenalty

RNG = np.random.default_rng(0)  # the method draws nothing


def phi(values, p):
    return values[0] + p * np.maximum(values[1:], 0).sum()


def path(problem, solver, x0, steps):
    """The states until the method stops."""
    states = [solver.init(problem, np.asarray(x0, dtype=float))]
    for t in range(steps):
        if solver.verdict(states[-1]) is not None:
            break
        states.append(solver.step(problem, states[-1], t, RNG))
    return states


def random_quadratic(seed, domain, d, *, convex=False, shift=1.0):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 4))
    A = rng.normal(size=(m + 1, d, d))
    P = A @ A.transpose(0, 2, 1) if convex else A + A.transpose(0, 2, 1)
    q, c = rng.normal(size=(m + 1, d)), rng.normal(size=m + 1) - shift
    return QuadraticProblem(P, q, c, domain), domain.project(rng.normal(size=d))


def no_way_down(objective):
    """``x^2 + 1 <= 0`` on [-2, 2]."""
    return FunctionProblem(
        objective, [lambda x: (x[0] ** 2 + 1, 2 * x)], domain=sets.Box(-2, 2, dim=1), names=["hill"]
    )


def model_of(problem, x):
    point = problem.at(x)
    J = np.stack([point.gradient(i) for i in range(point.values.size)])
    return LinearisedPenalty(point.values, J, linear_rows(problem.domain, x))


# --- the linear programs -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("radius", [1.0, 0.03])
def test_lp_against_a_grid(seed, radius):
    """No grid point is better, and the best one is as close as the grid is fine."""
    rng = np.random.default_rng(seed)
    values, J, p = rng.normal(size=4), rng.normal(size=(4, 2)), 10.0
    values[1:] *= radius
    model = LinearisedPenalty(values, J, linear_rows(sets.WholeSpace(), np.zeros(2)))
    s, lam = model.minimise(p, radius)
    axis = np.linspace(-radius, radius, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    models = values[0] + grid @ J[0] + p * np.maximum(values[1:] + grid @ J[1:].T, 0).sum(axis=1)
    best = phi(values, p) - model.decrease(s, p)
    slope = np.abs(J[0]).sum() + p * np.abs(J[1:]).sum()
    assert np.abs(s).max() <= radius * (1 + 1e-9)
    assert best <= models.min() + 1e-9
    assert best >= models.min() - slope * radius / 300
    assert ((lam >= 0) & (lam <= p)).all()


SETS = {
    "box": sets.Box([-1.0, 0.0, -2.0], [1.0, 0.5, np.inf]),
    "whole_space": sets.WholeSpace(),
    "l1_ball": sets.L1Ball(1.5),
    "simplex": sets.Simplex(2.0),
    "polytope": sets.Polytope(np.vstack((np.eye(3), -np.ones((1, 3)))), [1.0, 0.5, 0.7, 0.2]),
    "product": sets.Product([(sets.L1Ball(1.0), 2), (sets.Box(-1, 1, dim=1), 1)]),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_rows_of_polyhedra_are_exact(name, radius):
    """The program equals one written down for the set itself, and ends inside the set."""
    rng, domain = np.random.default_rng(1), SETS[name]
    for _ in range(10):
        x, cost = domain.project(2 * rng.normal(size=3)), rng.normal(size=3)
        model = LinearisedPenalty(np.zeros(1), cost[None], linear_rows(domain, x))
        s, _ = model.minimise(1.0, radius)
        assert np.abs(s).max() <= radius * (1 + 1e-9)
        assert domain.distance(x + s) < 1e-9
        assert cost @ s == pytest.approx(least(name, x, cost, radius), abs=1e-8)


def least(name, x, cost, radius):
    """``min cost's`` over ``|s|_inf <= radius, x + s in the set``, as ``y = x + s = a - b``."""
    d = x.size
    A_ub, b_ub, A_eq, b_eq = [], [], None, None
    low, high = x - radius, x + radius
    if name == "box":
        low, high = np.maximum(low, [-1, 0, -2]), np.minimum(high, [1, 0.5, np.inf])
    if name == "simplex":
        low, A_eq, b_eq = np.maximum(low, 0), np.array([[1.0, 1, 1, -1, -1, -1]]), [2.0]
    if name == "polytope":
        rows = np.vstack((np.eye(3), -np.ones((1, 3))))
        A_ub, b_ub = [np.hstack((rows, -rows))], [1.0, 0.5, 0.7, 0.2]
    if name == "l1_ball":
        A_ub, b_ub = [np.ones((1, 6))], [1.5]
    if name == "product":
        A_ub, b_ub = [np.array([[1.0, 1, 0, 1, 1, 0]])], [1.0]
        low, high = low.copy(), high.copy()
        low[2], high[2] = max(low[2], -1), min(high[2], 1)
    step = np.hstack((np.eye(d), -np.eye(d)))
    A_ub = np.vstack([*A_ub, step, -step])
    b_ub = np.concatenate((b_ub, high, -low))
    finite = np.isfinite(b_ub)
    answer = linprog(np.concatenate((cost, -cost)), A_ub[finite], b_ub[finite], A_eq, b_eq)
    return answer.fun - cost @ x


def test_rows_of_a_ball_touch_it():
    """At the boundary the row is the tangent half-space, at the centre there is none."""
    ball = sets.L2Ball(2.0, center=[1.0, 0.0])
    rows = linear_rows(ball, np.array([1.0, 2.0]))
    assert rows.A.toarray() == pytest.approx(np.array([[0.0, 4.0]]))
    assert rows.b == pytest.approx([0.0], abs=1e-15)
    centre = linear_rows(ball, np.array([1.0, 0.0]))
    assert not centre.A.toarray().any()
    assert centre.b == pytest.approx([4.0])


def test_unknown_set_is_refused():
    class Disc(Set):
        diameter = 2.0

        def project(self, x):
            return x / max(1.0, float(np.linalg.norm(x)))

        def tangent_map(self, x, v):
            return lambda w: w

    problem = FunctionProblem(lambda x: (x[0], np.array([1.0, 0.0])), domain=Disc(), dim=2)
    with pytest.raises(UnsuitableSolverError, match="need a domain with `linear_rows`"):
        solve(problem, ExactPenalty(), np.zeros(2))


# --- the measures ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFERENCES)
def test_measures_vanish_at_kkt_points_only(name):
    """psi and theta are 0 at every known KKT point, and positive beside it."""
    reference = REFERENCES[name]()
    problem, rng = reference.problem, np.random.default_rng(3)
    for kkt in reference.kkt:
        state = ExactPenalty().init(problem, kkt.x)
        assert state.psi <= 1e-8
        assert state.theta <= 1e-8
        assert state.lam == pytest.approx(kkt.multipliers, abs=1e-6)
    for _ in range(5):
        x = problem.domain.project(reference.start + 0.1 * rng.normal(size=problem.dim))
        state = ExactPenalty().init(problem, x)
        assert state.psi > 1e-3
        assert 0 <= state.theta <= state.violation


@pytest.mark.parametrize("seed", range(8))
def test_psi_is_a_certificate(seed):
    """Duality: psi = |grad L|_1 + sum lam [-f]_+ + (p - lam) [f]_+ where the domain is far away."""
    problem, x = random_quadratic(seed, sets.WholeSpace(), 3)
    state = ExactPenalty().init(problem, x)
    f, lam = state.values[1:], state.lam
    stationarity = np.abs(state.J[0] + lam @ state.J[1:]).sum()
    gaps = lam * np.maximum(-f, 0) + (state.p - lam) * np.maximum(f, 0)
    assert state.psi == pytest.approx(stationarity + gaps.sum(), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_theta_is_the_best_relief(seed):
    """theta computed from psi's definition with the objective's slope taken away."""
    problem, x = random_quadratic(seed, sets.Box(-2, 2, dim=3), 3, shift=-2.0)
    model = model_of(problem, x)
    theta = model.relief(model.restore(1.0))
    flat = LinearisedPenalty(model.values, np.vstack((np.zeros(3), model.J[1:])), model.rows)
    s, _ = flat.minimise(7.0, 1.0)
    assert theta == pytest.approx(flat.decrease(s, 7.0) / 7.0, rel=1e-7)
    trials = np.random.default_rng(seed).uniform(-1, 1, size=(300, 3))
    inside = [s for s in trials if problem.domain.contains(x + s)]
    assert theta >= max(model.relief(s) for s in inside) - 1e-9


# --- the method --------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [ExactPenalty(), ExactPenalty.paper()], ids=["default", "paper"])
@pytest.mark.parametrize("start", [(2.0, 0.2), (0.2, 0.1)])
def test_active_constraint(solver, start):
    """From inside and outside to (0.86603, 0.5) in at most 20 iterations with p = 10."""
    states = path(REFERENCES["active"]().problem, solver, start, 20)
    assert solver.verdict(states[-1]) is Status.CONVERGED
    assert states[-1].p == 10
    assert states[-1].x == pytest.approx([np.sqrt(0.75), 0.5], abs=1e-4)
    assert solver.output(states[-1])[1] == pytest.approx([1 / np.sqrt(3)], abs=1e-3)


def test_active_constraint_in_few_iterations():
    """4 iterations were measured; no more are needed with the paper's settings."""
    assert len(path(REFERENCES["active"]().problem, ExactPenalty.paper(), (2.0, 0.2), 20)) <= 1 + 4


@pytest.mark.parametrize("products", [0, 50])
@pytest.mark.parametrize("seed", range(6))
def test_penalty_function_never_rises(seed, products):
    """The steering rule along the path; every iterate lies in the domain."""
    domain = [sets.Box(-2, 2, dim=3), sets.L1Ball(1.5), sets.L2Ball(1.0)][seed % 3]
    problem, x0 = random_quadratic(seed, domain, 3, shift=0.0)
    solver = ExactPenalty(products=products)
    states = path(problem, solver, x0, 60)
    moved = 0
    for old, new in zip(states, states[1:]):
        drop = phi(old.values, old.p) - phi(new.values, old.p)
        assert drop >= 0
        moved += drop > 0
        assert new.p >= old.p
        assert domain.contains(new.x, 1e-12)
        if new.theta > solver.eps:
            assert new.psi >= solver.xi * new.p * new.theta * (1 - 1e-9)
        assert ((new.lam >= 0) & (new.lam <= new.p)).all()
    assert moved >= (2 if products else 3)  # with Newton steps two can be all it takes


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: (x[0], np.ones(1)),
        lambda x: (0.0, np.zeros(1)),
        lambda x: ((x[0] - 1) ** 2, 2 * (x - 1)),
    ],
    ids=["slope", "none", "square"],
)
def test_infeasible_problem(objective):
    """Infeasible and stationary at x = 0."""
    result = solve(no_way_down(objective), ExactPenalty(), [1.5], max_steps=300, tol=1e-6)
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert result.success == (result.certificate.residual <= 1e-2)
    assert abs(result.x[0]) <= 1e-6
    assert result.blocking == {"hill": pytest.approx(1.0)}


def test_infeasible_problem_with_the_papers_settings():
    """With the additive rule: at its eps, theta = 2 |x| <= 1e-3."""
    problem = no_way_down(lambda x: (x[0], np.ones(1)))
    result = solve(problem, ExactPenalty.paper(), [1.5], max_steps=300)
    assert result.status is Status.LOCALLY_INFEASIBLE
    assert abs(result.x[0]) <= 5e-4


def test_a_stationary_point_of_the_violation_can_be_left():
    """At x = 0 the violation 1 - x^2 is largest, theta = 0: the objective leads away."""
    problem = FunctionProblem(
        lambda x: (x[0], np.ones(1)),
        [lambda x: (1 - x[0] ** 2, -2 * x)],
        domain=sets.Box(-2, 2, dim=1),
    )
    result = solve(problem, ExactPenalty(), [0.0], max_steps=50, tol=1e-8)
    assert result.success
    assert result.x == pytest.approx([-2.0])


# --- naive twin --------------------------------------------------------------------------------


def naive(problem, x, steps, *, xi, eps, raise_p, grow, low, high):
    """Section 3 as printed, in plain NumPy, for a box; yields (x, p, Delta) after each iteration."""

    def program(f, J, slope, p, x, radius):
        m, d = len(f) - 1, len(x)
        A = np.hstack((J[1:], -np.eye(m)))
        sides = [(max(-radius, a - y), min(radius, b - y)) for a, b, y in zip(low, high, x)]
        bounds = sides + [(0, None)] * m
        cost = np.concatenate((slope, p * np.ones(m)))
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        return linprog(cost, A, -f[1:], bounds=bounds, method="highs", options=tight).x[:d]

    def model(f, J, s, p):
        return f[0] + J[0] @ s + p * np.maximum(f[1:] + J[1:] @ s, 0).sum()

    p, Delta = 1 / xi, 1.0
    for _ in range(steps):
        point = problem.at(x)
        f, J = point.values, np.stack([point.gradient(i) for i in range(len(point.values))])
        zero, h = np.zeros(len(x)), np.maximum(point.values[1:], 0).sum()
        s = program(f, J, zero, 1.0, x, 1.0)
        theta = h - np.maximum(f[1:] + J[1:] @ s, 0).sum()

        def psi(p, f=f, J=J, zero=zero, x=x):
            return model(f, J, zero, p) - model(f, J, program(f, J, J[0], p, x, 1.0), p)

        while theta > eps and psi(p) < xi * p * theta:
            p = raise_p(p)
        s = program(f, J, J[0], p, x, Delta)
        r = (phi(f, p) - phi(problem.at(x + s).values, p)) / (
            model(f, J, zero, p) - model(f, J, s, p)
        )
        if r >= 0.3:
            x = x + s
            if r >= 0.7 and np.abs(s).max() >= 0.99 * Delta:
                Delta *= grow
        else:
            Delta *= 0.5
        yield x, p, Delta


@pytest.mark.parametrize("grow", [1.0, 2.0])
@pytest.mark.parametrize("seed", [3, 4])  # 4 raises the penalty three times
def test_naive_twin(seed, grow):
    domain = sets.Box(-2, 2, dim=4)
    problem, x0 = random_quadratic(seed, domain, 4, convex=True, shift=0.5)
    rule = Add(100.0) if grow == 1 else Multiply(2.0)
    solver = ExactPenalty(raise_penalty=rule, grow=grow, products=0)
    state = solver.init(problem, x0)
    twin = naive(
        problem, x0, 50, xi=0.1, eps=1e-7, raise_p=rule, grow=grow, low=[-2] * 4, high=[2] * 4
    )
    for t, (x, p, Delta) in enumerate(twin):
        used = state.p
        state = solver.step(problem, state, t, RNG)
        assert state.x == pytest.approx(x, abs=1e-12)
        assert (used, state.radius) == (p, Delta)
    assert np.abs(x - x0).max() > 0.1


def test_without_constraints_it_is_sign_descent():
    """Reduces to: in the interior the step is -Delta sign(grad f_0)."""
    P = np.diag([1.0, 3.0, 0.5])
    problem = QuadraticProblem([P], [[0.3, -2.0, 0.1]], [0.0], sets.WholeSpace())
    solver, x = ExactPenalty(radius=0.01, products=0), np.array([1.0, -1.0, 0.7])
    state = solver.step(problem, solver.init(problem, x), 0, RNG)
    assert state.x == pytest.approx(x - 0.01 * np.sign(P @ x + [0.3, -2.0, 0.1]), abs=1e-15)
    assert state.radius == 0.02
    assert state.lam.shape == (0,)


@pytest.mark.parametrize("seed", range(4))
def test_linear_problem_is_solved_as_one_program(seed):
    """Reduces to: a linear program, exactly."""
    rng, d, m = np.random.default_rng(seed), 5, 3
    q, c = rng.normal(size=(m + 1, d)), np.concatenate(([0.0], -rng.random(m)))
    problem = QuadraticProblem(np.zeros((m + 1, d, d)), q, c, sets.Box(-1, 1, dim=d))
    result = solve(problem, ExactPenalty(), np.full(d, 0.5), max_steps=30, tol=1e-9)
    reference = linprog(q[0], q[1:], -c[1:], bounds=(-1, 1))
    assert result.success
    assert result.fun == pytest.approx(reference.fun, abs=1e-8)
    assert result.multipliers == pytest.approx(-reference.ineqlin.marginals, abs=1e-8)


# --- Newton steps on the face ------------------------------------------------------------------


def ellipsoid(d=4, hvp=True):
    """``min |x - a|^2 / 2  s.t.  x'Dx <= 1``: the solution is no vertex; closed form in lam."""
    D, a = np.diag(np.arange(1.0, d + 1)), np.full(d, 1.5)
    problem = QuadraticProblem(
        [np.eye(d), 2 * D], [-a, np.zeros(d)], [a @ a / 2, -1.0], sets.WholeSpace()
    )
    if not hvp:
        functions = [
            lambda x, i=i: (problem.at(x).values[i], problem.at(x).gradient(i)) for i in (0, 1)
        ]
        return FunctionProblem(functions[0], functions[1:], dim=d)
    return problem


def test_newton_points_lie_on_the_face():
    """Tangential to first order, corrected to second order, and the least Phi beats the LP's."""
    problem, x = ellipsoid(), np.array([0.6, 0.1, 0.3, 0.2])
    model = model_of(problem, x)
    s, lam = model.minimise(10.0, 0.2)
    assert 0 < lam[0] < 10
    points = list(newton_points(problem, problem.at(x), model.J, (s, lam), 10.0, 50))
    plain = problem.at(x + s)
    assert len(points) == 3
    assert all(abs(point.values[1]) < 0.5 * abs(plain.values[1]) for point in points[1:])
    assert min(phi(point.values, 10.0) for point in points) < phi(plain.values, 10.0)


def test_newton_points_of_a_convex_quadratic_solve_it():
    """Reduces to: without active constraints the whole step is Newton's, wherever the LP went."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    P, q = A @ A.T + np.eye(3), rng.normal(size=3)
    problem = QuadraticProblem([P], [q], [0.0], sets.WholeSpace())
    model, x = model_of(problem, np.zeros(3)), np.zeros(3)
    step = model.minimise(10.0, 0.3)
    first = next(newton_points(problem, problem.at(x), model.J, step, 10.0, 50))
    left = np.linalg.norm(P @ first.x + q)  # CG is truncated
    assert left <= 1e-3 * np.linalg.norm(P @ step[0] + q)
    state = path(problem, ExactPenalty(eps=1e-10), x, 10)[-1]
    assert state.x == pytest.approx(-np.linalg.solve(P, q), abs=1e-9)


@pytest.mark.parametrize("hvp", [True, False], ids=["hvp", "differences"])
def test_newton_steps_find_what_is_no_vertex(hvp):
    """1e-7 in 40 iterations, where linear programs alone are far from it."""
    problem, x0 = ellipsoid(hvp=hvp), np.zeros(4)
    fast = solve(problem, ExactPenalty(), x0, max_steps=40, tol=1e-7)
    slow = solve(problem, ExactPenalty(products=0), x0, max_steps=40, tol=1e-7)
    assert fast.success
    assert slow.certificate.residual > 1e3 * fast.certificate.residual
    lam = fast.multipliers[0]
    assert fast.x == pytest.approx(1.5 / (1 + 2 * lam * np.arange(1.0, 5.0)), abs=1e-6)
    assert fast.x @ (np.arange(1.0, 5.0) * fast.x) == pytest.approx(1.0, abs=1e-7)


# --- defaults, robustness, errors --------------------------------------------------------------


@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_defaults_from_random_starts(name):
    """With all defaults: residual 1e-5 from 20 random starts, in at most 150 iterations."""
    problem, rng = REFERENCES[name]().problem, np.random.default_rng(0)
    for _ in range(20):
        corner = rng.uniform(-1, 1, size=2) * 2
        if name != "bilinear":
            corner = rng.uniform(problem.domain.lower, problem.domain.upper)
        x0 = problem.domain.project(corner)
        result = solve(problem, ExactPenalty(), x0, max_steps=150, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5


def test_own_stop_is_a_small_residual():
    """Left alone (tol = 0) it stops by psi <= eps, and the examiner agrees."""
    reference = REFERENCES["convex"]()
    result = solve(reference.problem, ExactPenalty(), reference.start, max_steps=500)
    assert result.nit < 500
    assert result.state.psi <= 1e-7
    assert result.certificate.residual <= 1e-6


def test_a_loose_stop_claims_no_success():
    reference = REFERENCES["convex"]()
    result = solve(reference.problem, ExactPenalty(eps=0.1), reference.start, tol=1e-8)
    assert result.certificate.residual > 1e-8
    assert result.success == (result.certificate.residual <= 1e-2)


def test_solution_on_a_ball():
    """The ball is curved: iterates stay in it, the solution on its boundary is found."""
    problem = QuadraticProblem(
        [np.zeros((3, 3)), np.diag([2.0, 0.0, 0.0])],
        [[-1.0, -1.0, 0.5], [0.0, 0.0, 0.0]],
        [0.0, -0.04],
        sets.L2Ball(1.0, center=[0.1, 0.0, 0.0]),
    )
    result = solve(problem, ExactPenalty(), np.zeros(3), max_steps=300, tol=1e-6)
    assert result.success
    assert problem.domain.contains(result.x, 1e-12)
    assert result.x[0] == pytest.approx(0.2, abs=1e-6)


DOMAINS = [
    sets.Box(-2, 2, dim=3),
    sets.L1Ball(2.0),
    sets.L2Ball(2.0),
    sets.Simplex(1.0),
    sets.Polytope(np.vstack((np.eye(3), -np.eye(3), np.ones(3))), [2.0] * 6 + [1.0]),
    sets.Product([(sets.L2Ball(1.0), 2), (sets.Box(-1, 1, dim=1), 1)]),
]


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_end_with_an_honest_status(seed):
    problem, x0 = random_quadratic(seed, DOMAINS[seed % 6], 3, shift=1.5 if seed < 6 else -1.0)
    result = solve(problem, ExactPenalty(), x0, max_steps=150, tol=1e-5)
    proof = certify(problem, result.x, result.multipliers)
    assert result.success == (proof.residual <= 1e-5)
    assert problem.domain.contains(result.x, 1e-12)
    if not result.success:
        assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
    if seed < 6:
        assert proof.residual <= 1e-2


def test_start_is_left_alone_and_states_can_be_stored():
    reference = REFERENCES["convex"]()
    x0 = reference.start.copy()
    first = solve(reference.problem, ExactPenalty(), x0, max_steps=20)
    again = solve(reference.problem, ExactPenalty(), x0, max_steps=20, seed=1)
    assert (x0 == reference.start).all()
    assert (first.x == again.x).all()
    stored = pickle.loads(pickle.dumps(first.state))
    assert (stored.x == first.state.x).all()


@pytest.mark.parametrize("facts", [Facts(smooth=False), Facts(stochastic=True)])
def test_unsuitable_problems_are_refused(facts):
    problem = FunctionProblem(lambda x: (x[0], np.ones(1)), dim=1, facts=facts)
    with pytest.raises(UnsuitableSolverError, match="ExactPenalty needs"):
        solve(problem, ExactPenalty(), [0.0])


@pytest.mark.parametrize(
    ("thresholds", "x", "radius"),
    [
        ({"accept": 0.5, "good": 0.5}, 0.0, 2.0),
        ({"accept": 0.5, "good": 0.51}, 0.0, 1.0),
        ({"accept": 0.51, "good": 0.7}, 1.0, 0.5),
    ],
)
def test_a_step_that_just_reaches_a_threshold_counts(thresholds, x, radius):
    """From 1 to 0 the square x^2/2 falls by half of what its slope promises."""
    problem = FunctionProblem(lambda x: (0.5 * x[0] ** 2, x), dim=1)
    solver = ExactPenalty(products=0, **thresholds)
    state = solver.step(problem, solver.init(problem, np.ones(1)), 0, RNG)
    assert (state.x[0], state.radius) == (x, radius)


@pytest.mark.parametrize(
    "bad",
    [
        {"eps": 0.0},
        {"xi": 1.0},
        {"xi": 0.0},
        {"penalty": 5.0},
        {"radius": -1.0},
        {"accept": 0.8},
        {"good": 1.0},
        {"shrink": 1.0},
        {"grow": 0.5},
        {"products": -1},
    ],
    ids=str,
)
def test_bad_hyperparameters(bad):
    with pytest.raises(ValueError, match=f"ExactPenalty: `{next(iter(bad))}`"):
        ExactPenalty(**bad)


def test_bad_penalty_rules():
    with pytest.raises(ValueError, match="Add: `amount`"):
        Add(0.0)
    with pytest.raises(ValueError, match="Multiply: `factor`"):
        Multiply(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_iterates_that_run_away_end_with_a_status(seed):
    """Mostly the objective has no minimum, and at last no linear program can be solved any more."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 8))
    A, q = rng.normal(size=(d + 2, d)), rng.normal(size=d)
    problem = FunctionProblem(
        lambda x: (q @ x - 0.5 * x @ x, q - x), domain=sets.Polytope(A, np.ones(d + 2))
    )
    result = solve(problem, "exact_penalty", tol=1e-2, max_steps=200)
    assert result.success == (result.certificate.residual <= 1e-2)
