"""Proofs of infeasibility: what is taken off them, and what is no proof."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, sets
from equipoise.certificate import diagnose
from equipoise.certificate._proof import UNITS, InfeasibilityProof, lower_bound
from equipoise.certificate._proving import MAX_DIM, _Bundle, provable

from .affine import affine


def test_what_can_be_proved_rests_on_facts():
    def problem(dim=2, **facts):
        return FunctionProblem(lambda x: (0.0, 0 * x), dim=dim, facts=Facts(**facts))

    assert provable(problem(convex_constraints=True))
    assert provable(problem(weak_convexity=1.0))
    assert not provable(problem())
    assert not provable(problem(convex_constraints=False))
    assert not provable(problem(convex_constraints=True, stochastic=True))
    assert not provable(problem(dim=MAX_DIM + 1, convex_constraints=True))


def two_planes(rounding, weak=None):
    """x >= 1 and x <= -1 on the line, seen from two points."""
    facts = Facts(convex_constraints=weak is None, weak_convexity=weak, rounding=rounding)
    problem = affine([[1.0], [-1.0]], [1.0, 1.0], domain=sets.Box(-3, 5, dim=1), facts=facts)
    points = np.array([[2.0], [-1.0]])
    return problem, InfeasibilityProof(
        np.array([1, 2]), points, np.array([0.5, 0.5]), np.array([0.5])
    )


@pytest.mark.parametrize("weak", [None, 0.01])
def test_rounding_and_sagging_are_taken_off_a_proof(weak):
    unit = 1e-4
    problem, proof = two_planes(unit, weak)
    found = proof.measured(problem)
    unit *= UNITS
    values = np.array([3.0, 2.0])
    scale = 0.5 * (np.abs(values) + (0.5 + np.array([2.0, 1.0]))).sum()
    sagging = 0.0 if weak is None else 0.5 * weak * 8.0**2
    assert found.radius == 8.0
    assert found.bound == pytest.approx(1.0 - unit * scale - unit * 1.0 * 8.0 - sagging)
    assert found.check(problem) == (found.bound > 0)


def test_an_unbounded_domain_limits_how_far_a_proof_reaches():
    unit = 1e-4
    problem = affine(
        [[1.0], [-1.0]], [1.0, 1.0], facts=Facts(convex_constraints=True, rounding=unit)
    )
    proof = InfeasibilityProof(np.array([1, 2]), np.zeros((2, 1)), np.full(2, 0.5), np.zeros(1))
    bound, radius = lower_bound(problem, proof, np.ones(2), np.array([[1.0], [-1.0]]))
    height = 1.0 - UNITS * unit
    assert radius == pytest.approx(height / (4 * UNITS * unit))
    assert bound == pytest.approx(0.75 * height)
    weak = affine([[1.0], [-1.0]], [1.0, 1.0], facts=Facts(weak_convexity=0.1))
    assert lower_bound(weak, proof, np.ones(2), np.array([[1.0], [-1.0]])) == (-math.inf, 0.0)
    unknown = affine([[1.0], [-1.0]], [1.0, 1.0])
    assert lower_bound(unknown, proof, np.ones(2), np.array([[1.0], [-1.0]])) == (-math.inf, 0.0)


def test_a_plane_may_have_no_weight():
    problem, proof = two_planes(1e-16)
    more = InfeasibilityProof(
        np.append(proof.indices, 1),
        np.vstack((proof.points, [[0.0]])),
        np.append(proof.weights, 0.0),
        proof.center,
    )
    assert more.check(problem)


def test_a_sum_that_is_zero_proves_nothing():
    for value, proved in ((0.0, False), (1e-9, True)):
        problem = affine(
            [[0.0]], [value], domain=sets.Box(0, 1, dim=1), facts=Facts(convex_constraints=True)
        )
        proof = InfeasibilityProof(np.array([1]), np.zeros((1, 1)), np.ones(1), np.zeros(1))
        assert proof.check(problem) == proved


@pytest.mark.parametrize("weights", [[0.6, 0.6], [1.5, -0.5], [0.4, 0.4]])
def test_weights_that_are_no_combination_prove_nothing(weights):
    problem, proof = two_planes(1e-16)
    assert proof.check(problem)
    bad = InfeasibilityProof(proof.indices, proof.points, np.array(weights), proof.center)
    assert not bad.check(problem)
    outside = InfeasibilityProof(proof.indices, proof.points, proof.weights, np.array([6.0]))
    assert not outside.check(problem)


def test_the_constraints_in_the_way_are_listed_by_weight():
    problem = affine(np.eye(3), np.zeros(3))
    proof = InfeasibilityProof(
        np.array([2, 1, 2, 3]),
        np.zeros((4, 3)),
        np.array([0.5, 0.3, 0.2 - 1e-7, 1e-7]),
        np.zeros(3),
    )
    shares = proof.shares(problem)
    assert list(shares) == [problem.names[1], problem.names[0]]
    assert shares[problem.names[1]] == pytest.approx(0.7)


@pytest.mark.parametrize(("ratio", "both"), [(1e4, True), (1e8, False)])
def test_a_small_share_blocks_and_a_tiny_one_does_not(ratio, both):
    """``1 + x <= 0`` and ``1 - ratio x <= 0``: the second balances the first with a share 1 / ratio."""
    problem = affine(
        [[1.0], [-ratio]], [1.0, 1.0], domain=sets.Box(-1, 1, dim=1), facts=Facts(smooth=True)
    )
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert found.is_stationary
    assert found.stationarity == pytest.approx(0.0, abs=1e-3)
    assert len(found.weights) == 1 + both
    assert sum(found.weights.values()) == pytest.approx(1.0, abs=1e-6)
    assert found.reach == 2.0


def test_the_reach_of_an_unbounded_domain_grows_with_the_point():
    problem = affine([[1.0, 0.0]], [1.0])
    assert diagnose(problem, problem.at(np.zeros(2))).reach == 100.0
    assert diagnose(problem, problem.at(np.array([3.0, 4.0]))).reach == 500.0
    feasible = diagnose(problem, problem.at(np.array([-2.0, 0.0])))
    assert (feasible.violation, feasible.stationarity, feasible.weights) == (0.0, math.inf, {})
    assert not feasible.is_stationary


def test_kinks_are_looked_at_where_a_move_across_the_domain_would_lower_the_violation():
    """``1 + slope |x| <= 0``, whose subgradient at 0 is `slope`, on a domain four times as long."""
    for slope in (0.2, 0.02):
        problem = FunctionProblem(
            lambda x: (0.0, 0 * x),
            [lambda x, s=slope: (1.0 + s * abs(x[0]), np.array([s if x[0] >= 0 else -s]))],
            domain=sets.Box(-2, 2, dim=1),
            facts=Facts(smooth=False, convex_constraints=True),
        )
        found = diagnose(problem, problem.at(np.zeros(1)))
        assert found.is_stationary
        assert found.stationarity == pytest.approx(slope if slope < 0.1 else 0.0, abs=1e-4)


def test_a_violated_constraint_whose_gradient_is_not_finite_is_no_proof():
    problem = affine(np.array([[1.0, 0.0], [0.0, 1.0]]), [1.0, 1.0], facts=Facts(smooth=True))
    point = problem.at(np.zeros(2))
    for bad in (math.nan, math.inf):
        rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, bad]])
        broken = Point(point.x, point.values, point.vjp, jacobian=lambda i, r=rows: r[i])
        found = diagnose(problem, broken)
        assert (found.violation, found.stationarity, found.weights) == (1.0, math.inf, {})


def test_planes_from_all_sides_are_a_proof_with_fair_weights():
    """``|x|^2 + 1 <= 0`` on the plane, looked at from a point off its centre."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (x @ x + 1.0, 2 * x)],
        dim=2,
        facts=Facts(convex_constraints=True),
    )
    bundle = _Bundle(problem, np.full(2, 1e-5), 0.0)
    assert bundle.weights.tolist() == [1.0]
    proof = bundle.surrounded()
    assert bundle.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (bundle.weights > 0).all()
    assert proof.check(problem)


@pytest.mark.parametrize("weak", [0.0, 0.01])
def test_constraints_without_slope_sag_too(weak):
    facts = Facts(weak_convexity=weak, rounding=1e-16)
    problem = affine([[0.0]], [1.0], domain=sets.Box(-2, 2, dim=1), facts=facts)
    proof = InfeasibilityProof(np.array([1]), np.zeros((1, 1)), np.ones(1), np.zeros(1))
    bound, radius = lower_bound(problem, proof, np.ones(1), np.zeros((1, 1)))
    assert bound == pytest.approx(1.0 - 0.5 * weak * 16.0)
    assert radius == 4.0
