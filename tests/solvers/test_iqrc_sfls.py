"""IQRC with SFLS for its subproblems: weakly convex scores (Yao, Lin & Yang 2023, Algorithm 3)."""

import numpy as np
import pytest

from equipoise import solve
from equipoise.problems import REFERENCES, AUCFairness, ProximalProblem
from equipoise.sets import L2Ball
from equipoise.solvers import IQRC, SFLS, SMD, Constant, InverseSqrt, UnsuitableSolverError
from tests.models.test_network import TwoLayers
from tests.solvers.auc_instance import instance, level_function, rows


def outer_iterates(problem, solver, x0=None, max_steps=5000):
    found = []

    def keep(iteration):
        if iteration.state.k == 0:
            found.append(iteration.state.outer.x)

    return found, solve(problem, solver, x0, max_steps=max_steps, callback=keep)


def oracle(step=1.0):
    return SFLS(theta=1.0, retries=0, inner_method=SMD(steps=100, step_size=InverseSqrt(step)))


def test_linear_scores_end_at_the_optimum_through_feasible_iterates():
    problem = instance()
    solver = IQRC(oracle=oracle(), rho_hat=1.0, eps_hat=Constant(0.04))
    found, result = outer_iterates(problem, solver)
    assert len(found) >= 2
    assert all(problem.at(x).excess <= 0 for x in found)
    assert result.fun == pytest.approx(0.365883, abs=0.01)


def test_a_network_descends_through_feasible_iterates():
    X, label, group = rows()
    model, R = TwoLayers(X), 3.0
    interval = np.sqrt(5) * R  # of the mean of tanh(.)'c + c_0 with |(c, c_0)| <= R, 4 units
    problem = AUCFairness(
        model, label, group, kind="group", kappa=0.05, domain=L2Ball(R), interval=2 * interval
    )
    x0 = 0.3 * np.random.default_rng(0).normal(size=model.dim)
    x0[-5:] = 0.0  # all scores are 0
    solver = IQRC(oracle=oracle(0.3), rho_hat=0.1, eps_hat=Constant(0.07))
    found, result = outer_iterates(problem, solver, x0, max_steps=6000)
    objectives = [problem.at(x).objective for x in found]
    assert len(found) >= 2
    assert objectives == sorted(objectives, reverse=True)
    assert all(problem.at(x).excess <= 0 for x in found)
    assert result.fun <= 0.4


def test_the_estimate_bounds_the_level_function_of_a_subproblem():
    problem = ProximalProblem(instance(), np.array([0.2, 0.0, 0.1]), 0.5)
    for T in (50, 400):
        solver = SMD(level=0.45, steps=T)
        result = solve(problem, solver, np.array([0.2, 0.0, 0.1]), max_steps=T)
        assert level_function(problem, 0.45, result.x) <= solver.upper(problem, result.state)


def test_only_problems_with_a_min_max_form_suit():
    center = np.zeros(3)
    assert ProximalProblem(instance(), center, 0.5, constraints=False).saddle() is None
    assert ProximalProblem(REFERENCES["auc"]().problem, center, 0.5).saddle() is None
    with pytest.raises(UnsuitableSolverError, match="min-max form"):
        solve(REFERENCES["auc"]().problem, IQRC(oracle=SFLS(), rho_hat=1.0))
    assert "O~(eps^-6)" in IQRC(oracle=SFLS()).guarantee.rate
    with pytest.raises(ValueError, match="AUCFairness: `interval` must be given"):
        AUCFairness(TwoLayers(rows()[0]), *rows()[1:], domain=L2Ball(1.0))
