"""Proofs by planes: what they say, that they can be checked, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise.certificate import NearOptimality, near_planes
from equipoise.certificate._planes import PlanesBelow

from .affine import affine

CONVEX = Facts(smooth=False, convex=True, convex_constraints=True)
UNIT = 8 * np.finfo(float).eps


def norm1(domain=None, facts=CONVEX, size=1.0):
    """min size (|x1| + 2 |x2|)  s.t.  3 - x1 <= 0: the solution is (3, 0), with the multiplier `size`."""

    def objective(x):
        return size * (abs(x[0]) + 2 * abs(x[1])), size * np.array([1.0, 2.0]) * np.sign(x)

    def bound(x):
        return 3.0 - x[0], np.array([-1.0, 0.0])

    return FunctionProblem(objective, [bound], dim=2, domain=domain, facts=facts)


def equation(scale=1.0):
    """min |x1| + |x2|  s.t.  scale (x1 + 2 x2 - 2) = 0, as two inequalities: the solution is (0, 1)."""
    a = scale * np.array([1.0, 2.0])
    return FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)),
        [lambda x: (a @ x - 2 * scale, a), lambda x: (2 * scale - a @ x, -a)],
        dim=2,
        facts=CONVEX,
    )


def proof(problem, x, indices, points, weights):
    empty = np.empty(0)
    bare = NearOptimality(
        np.asarray(x, dtype=float),
        np.asarray(indices),
        np.asarray(points, dtype=float),
        np.asarray(weights, dtype=float),
        empty,
    )
    return bare.measured(problem)


def test_the_three_numbers_are_those_of_their_definitions():
    """At x = (3.5, 0.25) with planes at (3.5, 1), (3.5, -1) and of the constraint at (9, 9)."""
    found = proof(norm1(), [3.5, 0.25], [0, 0, 1], [[3.5, 1], [3.5, -1], [9, 9]], [0.75, 0.25, 0.5])
    slope = 0.75 * np.array([1, 2]) + 0.25 * np.array([1, -2]) + 0.5 * np.array([-1, 0])
    assert found.stationarity == pytest.approx(np.linalg.norm(slope), abs=1e-12)
    # f_0(x) = 4; the first plane is 4 there, the second 3; the constraint is -0.5
    assert found.complementarity == pytest.approx(0.25 * 1.0 + 0.5 * 0.5, abs=1e-12)
    assert found.distance == pytest.approx(np.hypot(5.5, 8.75))
    assert found.residual == found.distance
    np.testing.assert_allclose(found.multipliers, [0.5])
    assert "at most 0.5 above" in str(found)


def test_what_a_proof_says_is_true_of_all_feasible_points():
    rng = np.random.default_rng(0)
    problem = norm1()
    for _ in range(50):
        x = np.array([3.0, 0.0]) + rng.normal(size=2)
        points = rng.normal(size=(4, 2)) * 3
        weights = np.append(rng.dirichlet(np.ones(3)), rng.exponential())
        found = proof(problem, x, [0, 0, 0, 1], points, weights)
        least = problem.at(x).objective - found.complementarity
        for z in rng.normal(size=(50, 2)) * 5:
            if z[0] >= 3.0:
                least_there = least - found.stationarity * np.linalg.norm(z - x)
                assert problem.at(z).objective >= least_there - 1e-12


def test_the_normal_cone_of_the_domain_takes_its_part():
    problem = norm1(sets.Box([3.0, -1.0], [5.0, 1.0]))
    found = proof(problem, [3.0, 0.0], [0, 0], [[3, 1], [3, -1]], [0.5, 0.5])
    assert found.stationarity <= 1e-14  # the slope (1, 0) points out of the box
    inside = proof(problem, [4.0, 0.0], [0, 0], [[4, 1], [4, -1]], [0.5, 0.5])
    assert inside.stationarity == pytest.approx(1.0)


def test_a_violated_constraint_is_counted_with_its_multiplier():
    """A plane from far away may be below 0 where its function is not."""

    def square(x):
        return x[0] ** 2 - 1.0, np.array([2 * x[0]])

    line = FunctionProblem(
        lambda x: (-x[0], np.array([-1.0])), [square], dim=1, facts=replace(CONVEX, smooth=None)
    )
    found = proof(line, [1.5], [0, 1], [[1.5], [0.5]], [1.0, 1.0])
    # the function is 1.25, its plane -1.25 + 1.5 = 0.25
    assert found.complementarity == pytest.approx(1.25 + 1.0)


@pytest.mark.parametrize("weights", [[0.5, 0.4, 1.0], [0.6, 0.6, 1.0], [1.5, -0.5, 1.0]])
def test_weights_that_are_none_prove_nothing(weights):
    found = proof(norm1(), [3.0, 0.0], [0, 0, 1], [[3, 1], [3, -1], [3, 0]], weights)
    assert found.residual == np.inf
    good = proof(norm1(), [3.0, 0.0], [0, 0, 1], [[3, 1], [3, -1], [3, 0]], [0.5, 0.5, 1.0])
    assert good.stationarity <= 1e-13
    assert good.complementarity <= 1e-13
    assert good.distance == 1.0


def test_a_plane_above_its_function_proves_nothing():
    """The facts say convex, and the function is not."""
    bent = FunctionProblem(
        lambda x: (-(x[0] ** 2), np.array([-2 * x[0]])), dim=1, facts=replace(CONVEX, smooth=None)
    )
    assert proof(bent, [0.0], [0], [[0.5]], [1.0]).residual == np.inf
    assert proof(bent, [0.0], [0], [[0.0]], [1.0]).residual == 0.0  # it touches: nothing is seen
    assert proof(bent, [0.0], [0, 0], [[0.0], [0.5]], [0.5, 0.5]).residual == np.inf


def test_rounding_is_counted():
    """Two opposite planes with huge weights cancel; what their rounding errors may hide does not."""
    a = np.array([1.0, 2.0])
    found = proof(equation(), [0.0, 1.0], [0, 0, 2], [[1, 1], [-1, 1], [0, 1]], [0.75, 0.25, 0.5])
    assert found.stationarity == pytest.approx(0.5 * np.sqrt(5) * UNIT + np.sqrt(2) * UNIT, rel=0.5)
    w = 1e17
    huge = proof(equation(), [0.0, 1.0], [0, 1, 2], [[1, 1], [0, 1], [0, 1]], [1.0, w, w])
    assert huge.stationarity >= 2 * w * UNIT * np.linalg.norm(a)
    assert huge.complementarity >= 2 * w * UNIT * 2.0


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_solution_between_kinks_is_proved(scale):
    problem = equation(scale)
    near = near_planes(problem, np.array([0.0, 1.0]), 1e-6, 30)
    assert near is not None
    assert near.residual <= 1e-6
    again = near.measured(problem)
    assert again.residual == pytest.approx(near.residual, rel=1e-9)
    assert again.complementarity == pytest.approx(near.complementarity, rel=1e-6)
    assert near.multipliers[1] - near.multipliers[0] == pytest.approx(0.5 / scale, rel=1e-6)
    assert np.linalg.norm(near.points, axis=1).min() > 0.9


@pytest.mark.parametrize("x", [[0.01, 0.995], [2.0, 0.0], [0.0, 1.0 + 1e-4]])
def test_other_points_are_not(x):
    assert near_planes(equation(), np.array(x), 1e-6, 60) is None


def test_on_the_boundary_of_a_ball_and_in_a_simplex():
    """min |x - c|_1: on the ball the normal carries the slope, in the simplex the sum does."""
    c = np.array([1.0, 0.0, 0.0])

    def objective(x):
        return np.abs(x - c).sum(), np.sign(x - c)

    ball = FunctionProblem(objective, domain=sets.L2Ball(0.5), dim=3, facts=CONVEX)
    assert near_planes(ball, np.array([0.5, 0.0, 0.0]), 1e-6, 40) is not None
    assert near_planes(ball, np.array([0.3, 0.4, 0.0]), 1e-6, 40) is None
    simplex = FunctionProblem(objective, domain=sets.Simplex(2.0), dim=3, facts=CONVEX)
    assert near_planes(simplex, np.array([1.5, 0.25, 0.25]), 1e-6, 40) is not None
    assert near_planes(simplex, np.array([0.5, 0.75, 0.75]), 1e-6, 40) is None


def test_nothing_is_tried_without_convexity_or_with_too_many_variables():
    x = np.array([3.0, 0.0])
    assert near_planes(norm1(), x, 1e-6, 30) is not None
    assert near_planes(norm1(facts=Facts(smooth=False)), x, 1e-6, 30) is None
    assert near_planes(norm1(facts=Facts(smooth=False, weak_convexity=0.1)), x, 1e-6, 30) is None
    weak = Facts(smooth=False, weak_convexity=0.0)
    assert near_planes(norm1(facts=weak), x, 1e-6, 30) is not None
    for dim, proved in ((200, True), (201, False)):
        wide = FunctionProblem(lambda x: (np.abs(x).max(), np.sign(x)), dim=dim, facts=CONVEX)
        assert (near_planes(wide, np.zeros(dim), 1e-6, 5) is not None) == proved


def test_many_kinks_at_once():
    """min max(A x) at 0, where 60 slopes meet in 20 variables and planes without weight are dropped."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(59, 20))
    A = np.vstack((A, -A.sum(axis=0)))

    def objective(x):
        i = int(np.argmax(A @ x))
        return A[i] @ x, A[i]

    problem = FunctionProblem(objective, dim=20, facts=CONVEX)
    near = near_planes(problem, np.zeros(20), 1e-6, 100)
    assert near is not None
    assert near.measured(problem).residual <= 1e-6
    assert near.weights.size >= 2
    assert near_planes(problem, np.full(20, 1e-3), 1e-6, 100) is None


def test_planes_that_are_known_are_not_added_again():
    problem, x = norm1(), np.array([3.0, 0.0])
    planes = PlanesBelow(problem, x)
    planes.add(x, np.array([0, 1]), known=False)
    planes.add(np.array([3.0, 1e-7]), np.array([0, 1]), known=False)  # the constraint's is the same
    assert planes.indices.tolist() == [0, 1, 0]
    planes.add(np.array([3.0, 1e-7]), np.array([0, 1]))
    assert planes.indices.tolist() == [0, 1, 0, 0, 1]
    assert planes.largest(np.array([3.05, 0.0])).tolist() == [0, 1]
    assert planes.largest(np.array([3.2, 0.0])).tolist() == [0]
    w = np.array([0.5, 1.0, 0.5, 0.0, 0.0])
    np.testing.assert_array_equal(planes.without_idle(w), w)  # few are all kept
    many, rest = np.zeros(41), np.arange(36)
    for _ in rest:
        planes.add(x, np.array([1]))
    many[:3] = [0.5, 1.0, 0.5]
    np.testing.assert_array_equal(planes.without_idle(many), [0.5, 1.0, 0.5])
    assert planes.indices.tolist() == [0, 1, 0]
    assert planes.slopes.shape == planes.points.shape == (3, 2)
    assert planes.below.shape == planes.errors.shape == (3,)


def test_planes_without_weight_are_dropped_where_there_are_many_for_each_variable():
    for dim, most in ((2, 40), (20, 60)):
        flat = FunctionProblem(lambda x: (0.0, 0 * x), dim=dim, facts=CONVEX)
        planes, w = PlanesBelow(flat, np.zeros(dim)), np.eye(most)[0]
        for _ in w:
            planes.add(np.zeros(dim), np.array([0]))
        assert planes.without_idle(w).size == most
        planes.add(np.zeros(dim), np.array([0]))
        assert planes.without_idle(np.append(w, 0.0)).tolist() == [1.0]


def test_a_fit_starts_from_the_weights_that_are_known(monkeypatch):
    planes = PlanesBelow(norm1(), np.array([3.0, 0.0]))
    planes.add(np.array([3.0, 1.0]), np.array([0, 1]))
    monkeypatch.setattr(planes, "_fit_piece", lambda w: w)
    assert planes.fit(np.array([1.0, 0.0])).tolist() == [1.0, 0.0]
    assert planes.fit(np.array([0.75, 0.0])).tolist() == [0.75, 0.0]
    assert planes.fit(np.zeros(2)).tolist() == [1.0, 0.0]


def test_a_proof_is_measured_on_problems_only():
    found = proof(norm1(), [3.0, 0.0], [0], [[3, 1]], [1.0])
    with pytest.raises(ValueError, match=r"NearOptimality.measured: `problem`"):
        found.measured(3)


@pytest.mark.parametrize(("x", "value"), [(1e8, 1.0), (1.0, 1e8)])
def test_huge_numbers_prove_nothing(x, value):
    """Their gradients may be nothing but rounding errors."""

    def flat(share):
        facts = replace(CONVEX, smooth=None)
        return FunctionProblem(lambda z: (share * value, np.zeros(1)), dim=1, facts=facts)

    assert near_planes(flat(1.0), np.array([x]), 1e-6, 5) is None
    assert near_planes(flat(0.9), np.array([0.9 * x]), 1.0, 5) is not None
    one_huge = affine([[0.0]], [-x * value])
    assert PlanesBelow(one_huge, np.zeros(1)).huge
