"""IQRC with all defaults, from random starts and on random problems."""

import numpy as np
import pytest

from equipoise import Status, near_stationarity, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.solvers import IQRC, AugmentedLagrangian, FeasibilityPhase, LevelSet, ipp_ssg


def random_starts(problem, count, seed=3):
    """Points of the domain, feasible or not; in a box, off its edges."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        if isinstance(problem.domain, sets.Box):
            yield rng.uniform(problem.domain.lower, problem.domain.upper)
        else:
            yield problem.domain.project(rng.uniform(-2, 2, problem.dim))


@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_defaults_reach_the_certificate_from_random_starts(name):
    reference, infeasible = REFERENCES[name](), 0
    for start in random_starts(reference.problem, 20):
        infeasible += reference.problem.at(start).excess > 0
        result = solve(reference.problem, IQRC(), start, max_steps=60_000, tol=1e-2)
        assert result.success, result.message
        assert result.certificate.residual <= 1e-2
    assert 0 < infeasible < 20


@pytest.mark.parametrize("oracle", [AugmentedLagrangian(), LevelSet()], ids=lambda o: o.name)
@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_smooth_oracles_reach_the_certificate_from_random_starts(name, oracle):
    reference = REFERENCES[name]()
    for start in random_starts(reference.problem, 5):
        result = solve(reference.problem, IQRC(oracle=oracle), start, max_steps=5_000, tol=1e-2)
        assert result.success, result.message


@pytest.mark.parametrize("name", ["active", "bilinear", "convex"])
def test_ipp_ssg_reaches_the_certificate(name):
    reference = REFERENCES[name]()
    for start in random_starts(reference.problem, 1):
        result = solve(reference.problem, ipp_ssg(), start, max_steps=60_000, tol=1e-2)
        assert result.success, result.message


def test_random_quadratic_problems_feasible_or_not():
    """Where the domain binds, the mean of the inner iterates lies just off its faces, and the KKT
    residual there may be large. What the theory promises, near-stationarity, holds all the same."""
    rng = np.random.default_rng(5)
    for trial in range(6):
        d, feasible = 3, trial % 2 == 1
        P, q = rng.normal(size=(3, d, d)), rng.normal(size=(3, d))
        P, c = P + P.transpose(0, 2, 1), np.array([0.0, -1.0, -1.0])  # indefinite
        if not feasible:  # f_1 >= 1.5
            P[1], q[1], c[1] = np.eye(d), q[1] / np.linalg.norm(q[1]), 2.0
        problem = QuadraticProblem(P, q, c, sets.Box(-1, 1, dim=d))
        solver = IQRC(feasibility=FeasibilityPhase(steps=3000))
        result = solve(problem, solver, rng.uniform(-1, 1, d), max_steps=12_000, tol=2e-2)
        if not feasible:
            assert result.status is Status.LOCALLY_INFEASIBLE
            assert result.maxcv == pytest.approx(1.5, abs=1e-3)
            assert "f_1" in result.blocking
            continue
        assert result.status in (Status.CONVERGED, Status.MAX_STEPS)
        assert result.success == (result.certificate.residual <= 2e-2)
        assert result.maxcv <= 2e-2
        rho_hat = 2 * problem.facts.weak_convexity
        assert near_stationarity(problem, result.x, rho_hat).bound <= 0.05
