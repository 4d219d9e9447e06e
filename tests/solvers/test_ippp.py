"""iPPP."""

import math

import numpy as np
import pytest

from equipoise import solve
from equipoise._problem import Facts
from equipoise._status import Status
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.problems._merit import MeritProblem, QuadraticPenalty
from equipoise.problems._proximal import ProximalProblem
from equipoise.sets._box import Box
from equipoise.sets._l1_ball import L1Ball
from equipoise.solvers import (
    IPPP,
    AcceleratedProjectedGradient,
    Backtracking,
    Inverse,
    SquareRoot,
    UnsuitableSolverError,
)


def stages(problem, solver, x0, count):
    """The outer states after 1, .., `count` outer steps."""
    state, outers, t = solver.init(problem, x0), [], 0
    while len(outers) < count:
        before, state, t = state.stage, solver.step(problem, state, t, None), t + 1
        if state.stage > before:
            outers.append(state.outer)
    return outers


def starts(problem, count):
    rng, found = np.random.default_rng(4), []
    while len(found) < count:
        x = rng.uniform(-3, 3, size=problem.dim)
        if problem.domain.contains(x):
            found.append(x)
    return found


# -- acceptance ---------------------------------------------------------------------------------


def test_penalty_bias():
    """b = 5, 300 steps: |x - x*| < 5e-3, lam within 2e-3 of 0.5, g about 6e-3."""
    reference = REFERENCES["bilinear"]()
    last = stages(reference.problem, IPPP.paper(5.0), reference.start, 300)[-1]
    assert reference.distance(last.x) < 5e-3
    assert last.lam[0] == pytest.approx(0.5, abs=2e-3)
    violation = reference.problem.at(last.x).violation
    assert violation == pytest.approx(6e-3, abs=5e-4)
    # the bias is lam / b: more steps with the same b change nothing
    assert violation == pytest.approx(last.lam[0] / (5 * math.sqrt(300)), rel=1e-12)


def test_inner_stop_at_every_stage():
    """dist(-grad Phi, N_X) <= eps_t, by default a tenth of the last residual; the centre of the next
    Phi is x, extrapolated where b is doubled for the second time or later."""
    reference = REFERENCES["bilinear"]()
    problem = reference.problem
    for solver in (IPPP(), IPPP(prox=4.0), IPPP.paper(50.0)):
        z, b, eps = reference.start, solver.init(problem, reference.start).outer.b, 1.0
        turns = []
        for outer in stages(problem, solver, z, 25):
            point = problem.at(outer.x)
            np.testing.assert_allclose(outer.lam, b * np.maximum(point.constraints, 0), rtol=1e-12)
            uphill = point.lagrangian_gradient(outer.lam)
            total = uphill + outer.constants.p * (outer.x - z)
            assert problem.domain.normal_distance(outer.x, -total) <= eps * (1 + 1e-9)
            if solver.inner_tol is None:
                stationarity = problem.domain.normal_distance(outer.x, -uphill)
                bias = max(point.violation, float(outer.lam @ np.abs(point.constraints)))
                assert outer.tol == pytest.approx(min(1, 0.1 * max(stationarity, bias)))
                assert outer.b == (2 * b if bias > stationarity else b)
            z = outer.x
            if solver.inner_tol is None and outer.b > b:
                z = problem.domain.project(z + (z - turns[-1]) / 2) if turns else z
                turns.append(outer.x)
            np.testing.assert_array_equal(outer.z, z)
            b, eps = outer.b, outer.tol
        assert (len(turns) > 3) == (solver.inner_tol is None)


# -- naive twin ---------------------------------------------------------------------------------


def test_twin_of_the_outer_loop():
    """50 outer steps of the box around the inner method."""
    reference = REFERENCES["bilinear"]()
    problem, x, n, naive = reference.problem, reference.start, None, []
    for t in range(50):
        b = 20 * math.sqrt(t + 1)
        proximal = ProximalProblem(problem, x, 4.0, constraints=False)
        phi = MeritProblem(proximal, QuadraticPenalty(b))
        inner = AcceleratedProjectedGradient(mu=2.0, step_size=Backtracking(n), tol=0.5 / (t + 1))
        state = inner.init(phi, x)
        while inner.verdict(state) is None:
            state = inner.step(phi, state, 0, None)
        x, n = inner.output(state)[0], state.n
        naive.append((x, b * max(0.0, x @ x - 1)))
    solver = IPPP(penalty=SquareRoot(20.0), inner_tol=Inverse(0.5), prox=4.0)
    for outer, (x, lam) in zip(stages(problem, solver, reference.start, 50), naive):
        np.testing.assert_allclose(outer.x, x, rtol=0, atol=1e-12)
        np.testing.assert_allclose(outer.lam, [lam], rtol=0, atol=1e-12)


# -- reduces to ---------------------------------------------------------------------------------


def test_without_constraints_it_is_the_proximal_point_method():
    """x <- argmin f_0 + p/2 |u - x|^2, here (P + p I)^-1 (p x - q)."""
    P, q = np.diag([1.0, 3.0]), np.array([1.0, -2.0])
    problem = QuadraticProblem([P], [q], [0.0], Box(-50, 50, dim=2))
    x = np.array([4.0, -3.0])
    for outer in stages(problem, IPPP(prox=6.0, inner_tol=Inverse(1e-10)), x, 15):
        x = np.linalg.solve(P + 6 * np.eye(2), 6 * x - q)
        np.testing.assert_allclose(outer.x, x, atol=1e-9)


# -- defaults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bilinear", "bilinear_small", "convex"])
def test_defaults_from_random_starts(name):
    """A few starts for the cost and the limit; the contract test takes 20 more."""
    reference = REFERENCES[name]()
    for x0 in starts(reference.problem, 10):
        result = solve(reference.problem, IPPP(), x0, max_steps=5000, tol=1e-5)
        assert result.success
        assert result.certificate.residual <= 1e-5
        assert reference.distance(result.x) <= 1e-4
        assert result.njev <= 10_000


def test_defaults_without_known_constants():
    reference = REFERENCES["convex"]()
    reference.problem.facts = Facts()
    for x0 in starts(reference.problem, 3):
        result = solve(reference.problem, IPPP(), x0, max_steps=8000, tol=1e-5)
        assert result.success
        assert reference.distance(result.x) <= 1e-4


def test_random_problems_end_in_a_status():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(3, 4, 4)) / 2
        P = np.array([A[0] + A[0].T, A[1] @ A[1].T, A[2] @ A[2].T])
        q = rng.normal(size=(3, 4))
        feasible = QuadraticProblem(P, q, [0.0, -0.5, -0.5], L1Ball(3.0))
        result = solve(feasible, IPPP(), np.zeros(4), max_steps=4000, tol=1e-3)
        assert result.success
        infeasible = QuadraticProblem(P, q, [0.0, -0.5, 60.0], L1Ball(3.0))
        result = solve(infeasible, IPPP(), np.zeros(4), max_steps=300, tol=1e-3)
        assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)
        assert result.certificate.violation > 1


# -- refusals -----------------------------------------------------------------------------------


def test_rules():
    assert [SquareRoot(200.0)(t) for t in (0, 3)] == [200.0, 400.0]
    assert [Inverse(1.0)(t) for t in (0, 3)] == [1.0, 0.25]
    assert IPPP.paper() == IPPP(penalty=SquareRoot(200.0), inner_tol=Inverse(1.0))


def test_non_convex_constraints_are_refused():
    with pytest.raises(UnsuitableSolverError, match="convex constraints"):
        solve(REFERENCES["active"]().problem, IPPP(), [2.0, 0.2])


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"penalty": 0.0}, "penalty"),
        ({"inner_tol": 0.1}, "inner_tol"),
        ({"prox": -1.0}, "prox"),
        ({"smoothness": 0.0}, "smoothness"),
        ({"steps": 0}, "steps"),
    ],
)
def test_bad_hyperparameters(options, parameter):
    with pytest.raises(ValueError, match=f"IPPP: `{parameter}`"):
        IPPP(**options)


@pytest.mark.parametrize("rule", [SquareRoot, Inverse])
def test_bad_rules(rule):
    with pytest.raises(ValueError, match=f"{rule.__name__}: `size`"):
        rule(0.0)
