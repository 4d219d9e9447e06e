"""Smoothing: kinks rounded, less and less, and solutions certified on the kinks themselves."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, sets, solve
from equipoise.certificate import NearKKT
from equipoise.problems import REFERENCES, AbsoluteProblem, QuadraticProblem
from equipoise.solvers import AugmentedNewton, Smoothing, UnsuitableSolverError
from equipoise.solvers._methods import smoothing
from equipoise.terms import Logistic
from tests.solvers.hinges import epigraph, hinge_problem


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_the_problem_without_kinks(seed):
    problem = hinge_problem(seed)
    result = solve(problem, Smoothing(tol=1e-7), max_steps=500, tol=1e-6)
    x, value = epigraph(problem)
    assert result.success, result
    assert (result.near is None) == (result.certificate.residual <= 1e-6)
    assert result.near is None or isinstance(result.near, NearKKT)
    assert result.maxcv <= 1e-6
    assert result.fun == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(result.x, x, atol=1e-4)
    assert 0 < result.nfev < 2000


def test_a_looser_tolerance_stops_at_a_larger_width():
    problem = hinge_problem(1)
    rough, fine = (solve(problem, Smoothing(tol=tol), tol=tol) for tol in (1e-3, 1e-6))
    assert rough.success
    assert rough.nit < fine.nit
    assert rough.state.w > fine.state.w
    assert Smoothing(width=0.1).init(problem, np.zeros(4)).w == 1.0


@pytest.mark.parametrize("name", ["convex", "active", "auc"])
def test_reduces_to_newton_on_smooth_problems(name):
    reference = REFERENCES[name]()
    one = solve(reference.problem, Smoothing(tol=1e-8), reference.start, max_steps=200)
    two = solve(reference.problem, AugmentedNewton(tol=1e-8), reference.start, max_steps=200)
    np.testing.assert_array_equal(one.x, two.x)
    assert (one.nit, one.nfev) == (two.nit, two.nfev)


def test_reduces_to_newton_without_a_kink_among_the_terms():
    problem = hinge_problem(loss=Logistic())
    assert problem.smoothed(0.1) is problem
    one, two = (solve(problem, solver(tol=1e-8)) for solver in (Smoothing, AugmentedNewton))
    np.testing.assert_array_equal(one.x, two.x)


def test_single_precision_ends_near_the_solution_and_claims_nothing():
    problem = hinge_problem(1, dtype=np.float32)
    result = solve(problem, x0=np.zeros(4), tol=1e-4)
    assert result.fun == pytest.approx(epigraph(hinge_problem(1))[1], abs=1e-3)
    assert result.maxcv <= 1e-4
    assert result.near is None
    assert result.success == (result.certificate.residual <= 1e-4)


def test_an_infeasible_problem_is_diagnosed():
    result = solve(hinge_problem(bound=-0.1), Smoothing(tol=1e-6), max_steps=3000, tol=1e-6)
    assert not result.success
    assert result.maxcv >= 0.1
    assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.NOT_FOUND)


def test_resumes_where_it_was(tmp_path):
    problem, path = hinge_problem(2), tmp_path / "run"
    solve(problem, "smoothing", max_steps=9, checkpoint=path)
    resumed = solve(problem, "smoothing", max_steps=25, checkpoint=path)
    whole = solve(problem, "smoothing", max_steps=25)
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_needs_kinks_that_can_be_rounded():
    problem = FunctionProblem(
        lambda x: (abs(x[0]), np.sign(x)), domain=sets.Box(-1, 1, dim=1), facts=Facts(smooth=False)
    )
    with pytest.raises(UnsuitableSolverError, match="Smoothing needs kinks that it can round"):
        solve(problem, "smoothing")
    with pytest.raises(ValueError, match="Smoothing: `width` must be positive"):
        Smoothing(width=0.0)


def absolute(seed, bound=(0.1, 0.2)):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(3, 4, 4))
    P = (P + P.transpose(0, 2, 1)) / 2
    P[0] = P[0] @ P[0].T
    c = np.concatenate(([0.0], 0.3 * rng.normal(size=2)))
    base = QuadraticProblem(P, rng.normal(size=(3, 4)), c, sets.Box(-1.5, 1.5, dim=4))
    return AbsoluteProblem(base, bound)


@pytest.mark.parametrize("seed", range(8))
def test_two_sided_constraints_are_solved_to_a_kkt_point(seed):
    problem = absolute(seed)
    start = np.random.default_rng(seed).uniform(-1, 1, 4)
    result = solve(problem, Smoothing(tol=1e-7), start, max_steps=1000, tol=1e-6)
    assert result.success, result
    assert result.near is None  # kinks at 0 are not where the bounds are
    assert np.abs(problem.base.at(result.x).constraints) == pytest.approx(
        problem.at(result.x).constraints + problem.bound
    )


@pytest.mark.parametrize("width", [1.0, 0.05])
def test_rounded_absolute_values_have_their_derivatives(width):
    rng, problem = np.random.default_rng(3), absolute(0, bound=(0.4, 0.0))
    smooth, h = problem.smoothed(width), 1e-6
    seen = set()
    for _ in range(40):
        x, v, weights = rng.uniform(-1.5, 1.5, 4), rng.normal(size=4), rng.random(3)
        point = smooth.at(x)
        seen |= set(np.abs(problem.base.at(x).constraints) < smooth.width)
        above = smooth.at(x).constraints - problem.at(x).constraints
        assert (above >= -1e-15).all()
        assert (above <= smooth.width / 2).all()
        ahead, behind = smooth.at(x + h * v), smooth.at(x - h * v)
        slope = (ahead.values - behind.values) @ weights / (2 * h)
        assert point.vjp(weights) @ v == pytest.approx(slope, rel=1e-4, abs=1e-6)
        bend = (ahead.vjp(weights) - behind.vjp(weights)) / (2 * h)
        corner = np.abs(np.abs(problem.base.at(x).constraints) - smooth.width).min() < 1e-4
        if not corner:
            np.testing.assert_allclose(point.hvp(weights, v), bend, rtol=1e-4, atol=1e-4)
    assert len(seen) == 2  # inside the rounding, and outside


@pytest.mark.parametrize("most", [1, 2, 3])
def test_each_width_has_so_many_steps_at_the_most(most, monkeypatch):
    monkeypatch.setattr(smoothing, "MAX_STEPS_PER_WIDTH", most)
    monkeypatch.setattr(AugmentedNewton, "verdict", lambda *_: None)
    problem, method = hinge_problem(2), Smoothing(width=0.01)
    state, found = method.init(problem, np.zeros(problem.dim)), []
    for t in range(5 * most):
        found.append((state.w, state.k, method.verdict(state)))
        state = method.step(problem, state, t, np.random.default_rng(0))
    widths = [1.0, 0.2, 0.04, 0.01]
    assert found[: 4 * most] == [(pytest.approx(w), k, None) for w in widths for k in range(most)]
    assert method.verdict(state) is Status.STALLED
