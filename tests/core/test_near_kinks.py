"""The examiner on kinks: it moves onto them, fits subgradients, and claims no more than that proves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from equipoise import solve
from equipoise.certificate import near_kinks
from equipoise.certificate._kinks import bounded_least_squares
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import Combination, FunctionOfScores, Hinge, Rates, Terms
from tests.solvers.hinges import epigraph, hinge_problem, signs

TOL = 1e-5


@pytest.fixture(scope="module")
def solved():
    problem = hinge_problem(3)
    return problem, solve(problem, "smoothing", tol=1e-8).x


def test_a_run_says_what_it_rests_on():
    result = solve(hinge_problem(3), "smoothing", tol=1e-6)
    assert result.success
    assert result.certificate.residual > 1e-6  # one subgradient proves nothing
    assert result.near.residual <= 1e-6
    np.testing.assert_array_equal(result.multipliers, result.near.multipliers)
    assert "near-stationarity" in result.message
    assert "A point on kinks" in result.message


def test_a_solution_on_kinks_is_proven(solved):
    problem, x = solved
    near = near_kinks(problem, x, TOL)
    assert near.residual <= TOL
    assert near.distance == pytest.approx(np.linalg.norm(near.witness - x))
    z = problem.rows.model.scores(near.witness) * signs(problem)
    assert (np.abs(z - 1) < 1e-11).sum() >= 1
    assert "A point on kinks" in str(near)


def test_the_proof_is_of_a_subgradient(solved):
    """Lagrangian values around the witness lie above the plane of the fitted subgradient."""
    problem, x = solved
    near = near_kinks(problem, x, TOL)
    lam = np.concatenate(([1.0], near.multipliers))
    rng, value = np.random.default_rng(0), problem.at(near.witness).values @ lam
    for _ in range(200):
        step = 1e-4 * rng.normal(size=problem.dim)
        ahead = problem.at(near.witness + step).values @ lam
        curved = 0.5 * problem.facts.weak_convexity * lam.sum() * (step @ step)
        assert ahead >= value - near.residual * np.linalg.norm(step) - curved


@pytest.mark.parametrize("size", [1e-3, 1e-1])
def test_no_proof_next_to_the_solution(solved, size):
    problem, x = solved
    rng = np.random.default_rng(1)
    for _ in range(10):
        v = rng.normal(size=problem.dim)
        assert near_kinks(problem, x + size * v / np.linalg.norm(v), TOL) is None


def test_no_proof_on_kinks_that_are_no_solution():
    """A point with as many scores on the kink as there are parameters, but downhill from it."""
    problem = hinge_problem(4)
    rows = problem.rows.model.jacobian()
    sign = signs(problem)
    optimum, _ = epigraph(problem)
    examined, rng = 0, np.random.default_rng(0)
    for _ in range(200):
        chosen = rng.choice(60, 4, replace=False)
        x = np.linalg.solve(rows[chosen], sign[chosen].astype(float))
        if np.linalg.norm(x - optimum) < 1e-2 or problem.at(x).violation > 0:
            continue
        examined += 1
        assert problem.kinks(x, 1e-9) is not None
        assert near_kinks(problem, x, TOL) is None
    assert examined >= 10


def test_the_gradients_on_either_side_are_the_ends_of_the_shares(solved):
    problem, x = solved
    kinks = problem.kinks(x, 1e-6)
    count, h = kinks.used.size, 1e-7

    def beside(sides):
        move = np.linalg.lstsq(kinks.jumps, h * np.asarray(sides, float), rcond=None)[0]
        return problem.at(kinks.x + move)

    right = beside(-np.ones(count))
    for j in range(count):
        left = beside(2 * np.eye(count)[j] - 1)
        jump = left.gradient(0) - right.gradient(0)
        np.testing.assert_allclose(jump, kinks.masses[j, 0] * kinks.jumps[j], atol=1e-6)
        np.testing.assert_allclose(left.gradient(1), right.gradient(1), atol=1e-6)
    used = right.gradient(0) + (kinks.used * kinks.masses[:, 0]) @ kinks.jumps
    np.testing.assert_allclose(problem.at(kinks.x).gradient(0), used, atol=1e-6)
    assert set(kinks.used) <= {0.0, 1.0}


def test_no_claim_for_concave_kinks():
    """The hinge loss with a negative weight: between the two slopes there is no subgradient."""
    problem = hinge_problem()
    other = LearningProblem(problem.rows, Combination([[-1, 0], [0, 1]], [0.0, -0.3]), l2=0.02)
    assert other.facts.weak_convexity is None
    assert other.kinks(np.zeros(4), 1.5) is None
    assert problem.kinks(np.zeros(4), 1.5) is None  # all rows: no point is on all these kinks
    assert problem.kinks(solve(problem, tol=1e-6).x, 1e-6) is not None


def test_hinge_losses_in_a_constraint():
    """Minimise the hinge loss of one class under a bound on the other's."""
    n, rng = 80, np.random.default_rng(5)
    X, sign = rng.normal(size=(n, 2)), np.where(np.arange(n) < n // 2, 1, -1)
    X[:, 0] += 0.7 * sign
    halves = np.stack([sign > 0, sign < 0], axis=1) / (n // 2)
    terms = Terms(Rates(Hinge(), halves, sign), Combination(np.eye(2), [0.0, -0.5]))
    problem = LearningProblem.of(LinearModel(X), terms, l2=0.05)
    assert problem.facts.convex
    result = solve(problem, tol=1e-6, max_steps=2000)
    assert result.success
    assert result.maxcv <= 1e-6
    assert result.multipliers[0] > 0.1
    worse = problem.at(result.x + 1e-3 * rng.normal(size=(200, 3))[0])
    lagrangian = np.concatenate(([1.0], result.multipliers))
    assert worse.values @ lagrangian >= problem.at(result.x).values @ lagrangian - 1e-8


def test_joined_terms_know_the_kinks_of_their_parts():
    problem = hinge_problem()
    own = Terms(problem.rows.sums, problem.combination)

    def joined(smooth):
        mean = FunctionOfScores(
            lambda s, y, g: (s.mean(), np.full(60, 1 / 60)), np.zeros(60), smooth=smooth
        )
        return Terms.joined([Terms(mean, Combination([[0.0], [1.0]])), own])

    scores = np.where(np.arange(60) < 3, 1.0, 5.0) * signs(problem)
    found = joined(True).kinks(scores, 1e-9)
    np.testing.assert_array_equal(found.rows, [0, 1, 2])
    np.testing.assert_allclose(found.masses, [[1 / 60, 0, 0]] * 3)
    assert joined(True).smoothed(0.1).smooth
    assert joined(False).kinks(scores, 1e-9) is None
    assert not joined(False).smoothed(0.1).smooth


def test_no_claim_in_single_precision(solved):
    problem, _ = solved
    changed = hinge_problem(3, facts=replace(problem.facts, rounding=1e-7))
    assert not solve(changed, "smoothing", tol=1e-6).success


@pytest.mark.parametrize("seed", range(60))
def test_bounded_least_squares_agree_with_scipy(seed):
    """Columns of very different length, dependent ones, more of them than rows, bounds of 0 and none."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(1, 40, size=2)
    matrix = rng.normal(size=(n, k)) * 10 ** rng.uniform(-3, 1, k)
    if seed % 3 == 0:
        matrix[:, -1], matrix[:, k // 2] = 2 * matrix[:, 0], matrix[:, 0]
    high = np.where(rng.random(k) < 0.2, np.inf, 10 ** rng.uniform(-5, 1, k))
    high[rng.random(k) < 0.1] = 1e-300
    inside = matrix @ np.clip(rng.normal(0.4, 0.5, k), 0.0, 1.0) * (rng.random() < 0.5)
    target = inside + rng.normal(size=n) * 10 ** rng.uniform(-8, 0)
    fit = bounded_least_squares(matrix, target, high)
    best = lsq_linear(matrix, target, (0.0, high), method="bvls", max_iter=2000).x
    assert (fit >= 0).all()
    assert (fit <= high).all()
    ours, theirs = (np.linalg.norm(matrix @ w - target) for w in (fit, best))
    assert ours <= theirs + 1e-6 * np.linalg.norm(target)
