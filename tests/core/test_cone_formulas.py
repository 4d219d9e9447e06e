"""The critical cone: which rows are opposite, and which directions are near."""

import numpy as np
import pytest

from equipoise import sets
from equipoise.certificate import _critical_cone as module
from equipoise.certificate._critical_cone import LEAST_SHARE, CriticalCone, _opposite, domain_cone

from .affine import affine

ROWS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("values", "x", "size"),
    [
        ([0.0, 0.0, 0.0], [300.0, 7e9], 600.0),
        ([0.0, 0.0, 0.0], [-300.0, 7e9], 600.0),
        ([40.0, -40.0, 9e9], [0.0, 0.0], 80.0),
        ([-40.0, 40.0, 9e9], [100.0, 0.0], 280.0),
    ],
)
def test_rows_are_opposite_where_rounding_is_all_the_room_there_is(values, x, size):
    """What the numbers are computed from says how much room is rounding: values and ``<|row|, |x|>``."""
    values, x = np.array(values), np.array(x)
    for share, paired in ((0.6, True), (1.5, False), (-1e9, True)):
        shifted = values - np.array([share * LEAST_SHARE * size, 0.0, 0.0])
        assert _opposite(ROWS, shifted, x).tolist() == [paired, paired, False]


def test_rows_are_opposite_only_but_for_rounding():
    for off, paired in ((0.5e-12, True), (2e-12, False)):
        rows = np.array([[1.0, 0.0], [-1.0, off]])
        assert _opposite(rows, np.zeros(2), np.zeros(2)).tolist() == [paired, paired]


def test_opposite_rows_are_not_looked_for_among_too_many(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS_OF_PAIRS", 3)
    assert _opposite(ROWS, np.zeros(3), np.zeros(2)).any()
    monkeypatch.setattr(module, "MAX_ROWS_OF_PAIRS", 2)
    assert not _opposite(ROWS, np.zeros(3), np.zeros(2)).any()


def test_an_equality_in_two_inequalities_is_strongly_active():
    """``3 x_0 + 1 <= 0`` and ``-2 x_0 - 2/3 <= 0``, of which only the first has a multiplier."""
    problem = affine([[3.0, 0.0], [-2.0, 0.0]], [1.0, -2 / 3], slope=[-6.0, 0.0])
    point, lam = problem.at(np.array([-1 / 3, 0.0])), np.array([2.0, 0.0])
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert cone.is_space
    np.testing.assert_allclose(cone.project(np.array([5.0, 7.0])), [0.0, 7.0], atol=1e-12)
    without = affine([[3.0, 0.0], [-2.0, 0.0]], [1.0, -2 / 3], slope=[0.0, 0.0])
    point, lam = without.at(np.array([-1 / 3, 0.0])), np.zeros(2)
    cone = CriticalCone.at(without, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert cone.is_space
    np.testing.assert_allclose(cone.project(np.array([5.0, 7.0])), [0.0, 7.0], atol=1e-12)


@pytest.mark.parametrize(("left", "is_space"), [(8e-10, True), (2e-9, False)])
def test_room_is_measured_along_gradients_of_length_one(left, is_space):
    """Between the planes ``4 x_0 = 1200 +- left`` there is ``left / 2``, where 6e-10 is rounding."""
    problem = affine([[4.0, 0.0], [-4.0, 0.0]], [-1200.0 - left, 1200.0 - left], slope=[0.0, 0.0])
    point, lam = problem.at(np.array([300.0, 0.0])), np.zeros(2)
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert cone.is_space is is_space


@pytest.mark.parametrize(("length", "nearest"), [(1e-140, [0.0, 1.0]), (1e-200, [0.6, 0.8])])
def test_gradients_are_weakly_active_unless_they_are_0_but_for_underflow(length, nearest):
    problem = affine([[length, 0.0], [0.0, 0.0]], np.zeros(2), slope=np.zeros(2))
    point, lam = problem.at(np.zeros(2)), np.zeros(2)
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    np.testing.assert_allclose(cone.nearest(np.array([3.0, 4.0])), nearest, atol=1e-15)


def test_only_what_rises_along_a_weakly_active_constraint_is_taken_off():
    """One projection on each half-space in turn: a step to the wedge between two constraints."""
    wedge = np.array([[0.6, 0.8, 0.0], [-1.0, 0.0, 0.0]])
    problem = affine(wedge, np.zeros(2), slope=np.zeros(3))
    point, lam = problem.at(np.zeros(3)), np.zeros(2)
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert not cone.is_space
    np.testing.assert_allclose(cone.project(np.array([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0])
    inside = np.array([0.6, -0.8, 0.0])
    np.testing.assert_allclose(cone.nearest(5 * inside), inside, rtol=1e-12)
    v = np.array([1.0, 1.0, 1.0])
    once = v - 1.4 * wedge[0]
    np.testing.assert_allclose(cone.nearest(v), once / np.linalg.norm(once), rtol=1e-12)


def test_the_cone_of_a_domain_is_a_space_where_no_bound_is_weak():
    problem = affine([[1.0, 1.0]], [-9.0], slope=[1.0, 0.0], domain=sets.Box(0, 1, dim=2))
    point = problem.at(np.array([0.0, 0.5]))
    strict = domain_cone(problem.domain, point, np.array([1.0, 0.0]), 0.0)
    assert (strict.holds, strict.is_space) == (True, True)
    assert strict._weak.shape == (0, 2)  # there are no constraints
    np.testing.assert_allclose(strict.project(np.array([3.0, 4.0])), [0.0, 4.0])
    weak = domain_cone(problem.domain, point, np.zeros(2), 0.0)
    assert (weak.holds, weak.is_space) == (True, False)
    np.testing.assert_allclose(weak.project(np.array([3.0, 4.0])), [3.0, 4.0])
    np.testing.assert_allclose(weak.nearest(np.array([-3.0, 4.0])), [0.0, 1.0])


def test_bounds_on_either_side_are_weak_where_the_gradient_is_zero():
    problem = affine([[1.0, 1.0]], [-9.0], domain=sets.Box(0, 1, dim=2))
    for x in ([0.0, 1.0], [1.0, 0.0], [1.0, 1.0]):
        cone = domain_cone(problem.domain, problem.at(np.array(x)), np.zeros(2), 0.0)
        assert not cone.is_space
        np.testing.assert_allclose(cone.project(np.array([3.0, 4.0])), [3.0, 4.0])


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
def test_the_share_of_a_constraint_is_its_multiplier_times_its_slope(length):
    """One constraint has the share 1e-6 of the whole, the other one 1e-10."""
    problem = affine(
        [[length, 0.0, 0.0], [0.0, length, 0.0]], np.zeros(2), slope=[-1e-6, -1e-10, 1.0]
    )
    point, lam = problem.at(np.zeros(3)), np.array([1e-6, 1e-10]) / length
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert not cone.is_space
    np.testing.assert_allclose(cone.project(np.ones(3)), [0.0, 1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(cone.project_inside(np.ones(3)), [0.0, 0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(("left", "is_space"), [(8e-10, True), (2e-9, False)])
def test_room_beside_a_constraint_with_a_multiplier_is_measured_alike(left, is_space):
    """As above, but that the first of the two planes holds the objective back."""
    problem = affine([[4.0, 0.0], [-4.0, 0.0]], [-1200.0 - left, 1200.0 - left], slope=[-4.0, 0.0])
    point, lam = problem.at(np.array([300.0, 0.0])), np.array([1.0, 0.0])
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    assert cone.is_space is is_space


def test_the_nearest_direction_does_not_depend_on_the_length():
    """In a narrow wedge, to which projections on its two sides in turn come slowly."""
    wedge = np.array([[1.0, 0.3], [-1.0, 0.3]]) / np.hypot(1.0, 0.3)
    problem = affine(wedge, np.zeros(2), slope=np.zeros(2))
    point, lam = problem.at(np.zeros(2)), np.zeros(2)
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    v = np.array([0.2, -1.0])
    whole = cone.nearest(v)
    assert (wedge @ whole <= 1e-9).all()
    for length in (1e-4, 1e4):
        np.testing.assert_allclose(cone.nearest(length * v), whole, rtol=0, atol=1e-13)
    beside = np.array([1.0, -0.4])
    whole = cone.nearest(beside)
    for length in (1e-4, 1e4):
        np.testing.assert_allclose(cone.nearest(length * beside), whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4])
def test_projections_in_turn_end_at_the_same_error_whatever_the_length(length):
    """A plane and a slanted half-space: each round leaves 0.36 of what is off their common line."""
    problem = affine([[0.0, 0.0, 1.0], [0.8, 0.0, 0.6]], np.zeros(2), slope=[0.0, 0.0, -1.0])
    point, lam = problem.at(np.zeros(3)), np.array([1.0, 0.0])
    cone = CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), 0.0)
    off = 0.8 / 0.36  # so that it is 0.8 * 0.36 ** k after k + 1 rounds
    rounds = next(k for k in range(50) if 0.8 * 0.36**k * 0.64 / 0.36 <= 1e-9)
    found = cone.nearest(length * np.array([off, 1.0, 0.0]))
    assert found[0] == pytest.approx(0.8 * 0.36**rounds, rel=1e-5)
    np.testing.assert_allclose(found[1:], [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(("most", "holds"), [(3, True), (2, False)])
def test_weak_bounds_of_many_variables_are_not_resolved(most, holds, monkeypatch):
    monkeypatch.setattr(module, "MAX_DIM_OF_PIECES", most)
    problem = affine([[1.0, 1.0, 1.0]], [-9.0], domain=sets.Box(0, 1, dim=3))
    point = problem.at(np.zeros(3))
    cone = domain_cone(problem.domain, point, np.array([1.0, 0.0, 2.0]), 0.0)
    assert (cone.holds, cone.is_space) == (holds, False)
    if holds:
        np.testing.assert_allclose(cone.project(np.ones(3)), [0.0, 1.0, 0.0], atol=1e-12)


def test_the_doubt_says_which_bounds_are_weak():
    problem = affine([[1.0, 1.0]], [-9.0], domain=sets.Box(0, 1, dim=2))
    point = problem.at(np.zeros(2))
    for doubt, is_space in ((0.5e-3, True), (2e-3, False)):
        cone = domain_cone(problem.domain, point, np.array([1.0, 1e-3]), doubt)
        assert cone.is_space is is_space
    for share, is_space in ((0.5e-8, False), (2e-8, True)):
        cone = domain_cone(problem.domain, point, np.array([1.0, share]), 0.0)
        assert cone.is_space is is_space
