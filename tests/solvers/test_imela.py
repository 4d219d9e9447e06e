"""iMELa, and the estimates that it shares with SP-LM and iPPP."""

import math

import numpy as np
import pytest

from equipoise import solve
from equipoise._problem import Facts
from equipoise._status import Status
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.sets._box import Box
from equipoise.sets._l1_ball import L1Ball
from equipoise.solvers import IMELa, UnsuitableSolverError, imela_theory
from equipoise.solvers._parts.estimates import Constants, constants, constraint_slope, curvature

PAPER = IMELa(dual_step=1.0, centre_step=0.5, prox=4.0)
SOLUTION = math.sqrt(0.5)


def stages(problem, solver, x0, count):
    """The outer states after 1, .., `count` outer steps."""
    state, outers, t = solver.init(problem, x0), [], 0
    while len(outers) < count:
        before, state, t = state.stage, solver.step(problem, state, t, None), t + 1
        if state.stage > before:
            outers.append(state.outer)
    return outers


def residuals(problem, x, lam):
    point = problem.at(x)
    stationarity = problem.domain.normal_distance(x, -point.lagrangian_gradient(lam))
    return stationarity, point.violation, float(np.abs(lam * point.constraints).sum())


def starts(problem, count):
    rng, found = np.random.default_rng(3), []
    while len(found) < count:
        x = rng.uniform(-3, 3, size=problem.dim)
        if problem.domain.contains(x):
            found.append(x)
    return found


def random_problem(seed, feasible=True):
    """Non-convex quadratic objective, convex quadratic constraints on the L1 ball of radius 3."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 5, 5)) / math.sqrt(5)
    P = np.array([A[0] + A[0].T, A[1] @ A[1].T, A[2] @ A[2].T])
    c = np.array([0.0, -0.5, -0.5 if feasible else 60.0])
    return QuadraticProblem(P, rng.normal(size=(3, 5)), c, L1Ball(3.0))


# -- acceptance ---------------------------------------------------------------------------------


def test_bilinear():
    """tau = 1, theta = 0.5, p = 4, 500 steps from (0.9, 0.1): all residuals < 1e-10."""
    problem = REFERENCES["bilinear"]().problem
    last = stages(problem, PAPER, np.array([0.9, 0.1]), 500)[-1]
    np.testing.assert_allclose(last.x, [SOLUTION, SOLUTION], rtol=0, atol=5e-9)
    assert last.lam[0] == pytest.approx(0.5, abs=1e-9)
    assert max(residuals(problem, last.x, last.lam)) < 1e-10
    x, lam = PAPER.answer(last)
    assert max(residuals(problem, x, lam)) < 1e-10


def test_inner_stop_and_multipliers_with_the_steps_of_the_theory():
    """tau = (p - L)/(4 B_g^2), theta = 0.1, 5000 steps; at every one |lam| <= M_lam = 76.25 and
    dist(-grad Lp, N_X) <= min(1, c / (t + 1))."""
    problem = REFERENCES["bilinear"]().problem
    solver, bound = imela_theory(
        smoothness=2.0, objective_slope=2.0, constraint_bound=4.0, diameter=4.0, slater=1.0
    )
    assert (solver.dual_step, solver.prox) == (2 / 64, 4.0)
    assert bound == 76.25
    x0 = np.array([0.9, 0.1])
    z, largest = x0, 0.0
    for t, outer in enumerate(stages(problem, solver, x0, 5000)):
        uphill = problem.at(outer.x).lagrangian_gradient(outer.lam) + 4.0 * (outer.x - z)
        assert problem.domain.normal_distance(outer.x, -uphill) <= 1 / (t + 1)
        assert np.linalg.norm(outer.lam) <= bound
        z, largest = outer.z, max(largest, float(outer.lam[0]))
    assert largest == pytest.approx(0.68, abs=0.01)
    np.testing.assert_allclose(outer.x, [SOLUTION, SOLUTION], rtol=0, atol=1e-8)
    assert outer.lam[0] == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("solver", [IMELa(), IMELa(dual_step=0.3, centre_step=0.5, inner_tol=3.0)])
def test_inner_stop_on_random_problems(solver):
    for seed in range(5):
        problem = random_problem(seed)
        z = np.full(5, 0.2)
        for t, outer in enumerate(stages(problem, solver, z, 60)):
            uphill = problem.at(outer.x).lagrangian_gradient(outer.lam)
            uphill += outer.constants.p * (outer.x - z)
            accuracy = min(1.0, solver.inner_tol / (t + 1))
            assert problem.domain.normal_distance(outer.x, -uphill) <= accuracy * (1 + 1e-9)
            z = outer.z


def test_the_domain_binds():
    """Radius 1: x = (0.5, 0.5), lam = 0, distance 0."""
    problem = REFERENCES["bilinear_small"]().problem
    last = stages(problem, PAPER, np.array([0.9, 0.1]), 500)[-1]
    np.testing.assert_allclose(last.x, [0.5, 0.5], rtol=0, atol=1e-12)
    assert last.lam[0] == 0.0
    assert residuals(problem, last.x, last.lam)[0] <= 1e-12


def test_a_centre_step_of_one_cycles():
    """Outside the theory (section 7.5): theta = 1, tau = 0.5 on the bilinear problem."""
    problem = REFERENCES["bilinear"]().problem
    solver = IMELa(dual_step=0.5, centre_step=1.0, prox=4.0)
    outers = stages(problem, solver, np.array([0.9, 0.1]), 600)
    assert min(max(residuals(problem, o.x, o.lam)) for o in outers[-100:]) > 1e-2


# -- naive twin ---------------------------------------------------------------------------------


def test_twin():
    """50 outer steps of the box, with the inner scheme written out."""
    reference = REFERENCES["bilinear"]()
    problem, L, p, tau, theta = reference.problem, 2.0, 4.0, 0.7, 0.4
    x = z = reference.start
    lam, naive = 0.0, []
    for t in range(50):
        lam = max(0.0, lam + tau * (x @ x - 1))
        n = 1 / (L * (1 + lam) + p)
        q = (1 - math.sqrt((p - L) * n)) / (1 + math.sqrt((p - L) * n))

        def slope(u, lam=lam, z=z):
            return -u[::-1] + 2 * lam * u + p * (u - z)

        y = x
        while True:
            x_new = problem.domain.project(y - n * slope(y))
            mapping = np.linalg.norm(y - x_new) / n
            y, x = x_new + q * (x_new - x), x_new
            if mapping <= min(1, 1 / (t + 1)):
                distance = problem.domain.normal_distance(x, -slope(x))
                if distance <= min(1, 1 / (t + 1)):
                    break
        z = z + theta * (x - z)
        naive.append((x, z, lam))
    solver = IMELa(dual_step=tau, centre_step=theta, prox=p)
    for outer, (x, z, lam) in zip(stages(problem, solver, reference.start, 50), naive):
        np.testing.assert_allclose(outer.x, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outer.z, z, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outer.lam, [lam], rtol=0, atol=1e-12)


# -- reduces to ---------------------------------------------------------------------------------


def test_without_constraints_it_is_the_proximal_point_method():
    """theta = 1: x <- argmin f_0 + p/2 |u - x|^2, here (P + p I)^-1 (p x - q)."""
    P, q = np.diag([1.0, 3.0]), np.array([1.0, -2.0])
    problem = QuadraticProblem([P], [q], [0.0], Box(-50, 50, dim=2))
    solver = IMELa(prox=6.0, centre_step=1.0, inner_tol=1e-11)
    x = np.array([4.0, -3.0])
    for outer in stages(problem, solver, x, 15):
        x = np.linalg.solve(P + 6 * np.eye(2), 6 * x - q)
        np.testing.assert_allclose(outer.x, x, atol=1e-9)


# -- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bilinear", "bilinear_small", "convex", "auc"])
def test_defaults_from_random_starts(name):
    reference = REFERENCES[name]()
    for x0 in starts(reference.problem, 20):
        result = solve(reference.problem, IMELa(), x0, max_steps=1000, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5
        assert reference.distance(result.x) <= 1e-4


@pytest.mark.parametrize("name", ["bilinear", "convex"])
def test_defaults_without_known_constants(name):
    reference = REFERENCES[name]()
    reference.problem.facts = Facts()
    for x0 in starts(reference.problem, 10):
        result = solve(reference.problem, IMELa(), x0, max_steps=2000, tol=1e-5)
        assert result.success
        assert reference.distance(result.x) <= 1e-4


def test_random_problems_end_in_a_status():
    solved = 0
    for seed in range(10):
        result = solve(random_problem(seed), IMELa(), np.zeros(5), max_steps=5000, tol=1e-5)
        solved += result.success
        other = solve(random_problem(seed, False), IMELa(), np.zeros(5), max_steps=300, tol=1e-5)
        assert other.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
        assert other.certificate.violation > 1
    assert solved == 10


def test_halves_the_centre_step_where_it_would_cycle():
    """This problem cycles with theta = 0.5; the default finds a smaller one."""
    rng = np.random.default_rng(2)
    P = []
    for i in range(4):
        A = rng.normal(size=(6, 6)) / math.sqrt(6)
        P.append(A @ A.T if i else A + A.T)
    q = rng.normal(size=(4, 6))
    c = np.concatenate(([0.0], -rng.uniform(0.1, 1, size=3)))
    problem = QuadraticProblem(P, q, c, L1Ball(3.0))
    x0 = problem.domain.project(rng.normal(size=6))
    fixed = solve(problem, IMELa(centre_step=0.5), x0, max_steps=3000, tol=1e-5)
    assert not fixed.success
    result = solve(problem, IMELa(), x0, max_steps=3000, tol=1e-5)
    assert result.success
    assert result.state.outer.centre.theta < 0.5


def test_the_best_pair_is_returned():
    problem = REFERENCES["bilinear"]().problem
    largest = [math.inf]
    for outer in stages(problem, IMELa(), np.array([0.9, 0.1]), 60):
        largest.append(max(residuals(problem, outer.x, outer.lam)))
        assert outer.best.residual == pytest.approx(min(largest), rel=1e-12)
        answer = max(residuals(problem, *IMELa().answer(outer)))
        assert answer == pytest.approx(min(largest), rel=1e-9)
    assert largest.index(min(largest)) < len(largest) - 1  # the last is not the best here


# -- estimates ----------------------------------------------------------------------------------


def test_constants_of_a_proximal_lagrangian():
    """Huang, Lin & Xu 2025 have p = 2 L and mu = p - L; a known weak convexity allows a smaller p."""
    problem, x = random_problem(0), np.zeros(5)
    L, rho = 7.0, 1.5
    for facts, expected in [
        (Facts(smoothness=L), Constants(L, 2 * L, L)),
        (Facts(smoothness=L, weak_convexity=rho), Constants(L, 2 * rho, rho)),
        (Facts(smoothness=L, weak_convexity=0.1), Constants(L, 0.1 * L, 0.1 * L - 0.1)),
        (Facts(smoothness=L, convex=True), Constants(L, 0.1 * L, 0.1 * L)),
        (Facts(smoothness=0.0, convex=True), Constants(0.0, 1.0, 1.0)),
    ]:
        problem.facts = facts
        assert constants("IMELa", problem, x, None, None) == expected
        assert constants("IMELa", problem, x, None, 9.0).mu == 9.0 - facts.smoothness
    problem.facts = Facts()
    assert constants("IMELa", problem, x, None, 9.0) == Constants(4.5, 9.0, 4.5)


def test_the_default_prox_leaves_a_strongly_convex_lagrangian():
    for seed in range(5):
        problem = random_problem(seed)
        known = constants("IMELa", problem, np.zeros(5), None, None)
        H = problem.P[0] + known.p * np.eye(5)
        assert np.linalg.eigvalsh(H).min() >= known.mu * (1 - 1e-12) > 0


def test_curvature_of_a_quadratic_is_its_largest_eigenvalue():
    for seed in range(5):
        problem = random_problem(seed)
        for i in range(3):
            exact = np.abs(np.linalg.eigvalsh(problem.P[i])).max()
            found = curvature(problem, np.full(5, 0.1), i, tries=100)
            assert found <= exact * (1 + 1e-6)
            assert found >= 0.9 * exact


def test_slope_sees_parallel_and_opposite_gradients():
    g = np.array([3.0, 4.0])
    for signs in ([1, 1, 1], [1, -1, 1], [1, -1, -1]):
        q = np.vstack((np.zeros(2), np.outer(signs, g)))
        problem = QuadraticProblem(np.zeros((4, 2, 2)), q, np.ones(4), Box(-1, 1, dim=2))
        slope = constraint_slope(problem.at(np.zeros(2)), np.ones(3))
        exact = 5 * math.sqrt(3)
        assert 0.3 * exact <= slope <= exact * (1 + 1e-12)
    inactive = QuadraticProblem(np.zeros((2, 2, 2)), np.ones((2, 2)), [0, -5], Box(-1, 1, dim=2))
    assert constraint_slope(inactive.at(np.zeros(2)), np.zeros(1)) == 0.0


# -- refusals -----------------------------------------------------------------------------------


def test_non_convex_constraints_are_refused():
    with pytest.raises(UnsuitableSolverError, match="convex constraints"):
        solve(REFERENCES["active"]().problem, IMELa(), [2.0, 0.2])


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"prox": 0.0}, "prox"),
        ({"dual_step": -1.0}, "dual_step"),
        ({"centre_step": 1.5}, "centre_step"),
        ({"centre_step": 0.0}, "centre_step"),
        ({"inner_tol": 0.0}, "inner_tol"),
        ({"smoothness": -2.0}, "smoothness"),
        ({"steps": 0}, "steps"),
    ],
)
def test_bad_hyperparameters(options, parameter):
    with pytest.raises(ValueError, match=f"IMELa: `{parameter}`"):
        IMELa(**options)


def test_a_prox_below_the_smoothness_is_refused():
    with pytest.raises(ValueError, match="IMELa: `prox` must exceed the smoothness L = 2"):
        solve(REFERENCES["bilinear"]().problem, IMELa(prox=1.0), [0.9, 0.1])


def test_theory_checks_its_constants():
    good = {
        "smoothness": 2.0,
        "objective_slope": 2.0,
        "constraint_bound": 4.0,
        "diameter": 4.0,
        "slater": 1.0,
    }
    for parameter in good:
        with pytest.raises(ValueError, match=f"theory: `{parameter}`"):
            imela_theory(**(good | {parameter: -1.0}))
    with pytest.raises(ValueError, match="theory: `prox`"):
        imela_theory(**good, prox=1.0)
