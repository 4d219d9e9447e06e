"""What the examiner concludes: doubts, bounds and thresholds, each from both sides."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, certify, sets
from equipoise.certificate import NearStationarity, diagnose
from equipoise.certificate import _curvature as curvature_module
from equipoise.certificate import _infeasibility as infeasibility
from equipoise.certificate import _near_stationarity as near_module
from equipoise.certificate._curvature import DOUBTED_RESIDUALS, _doubted, _within
from equipoise.certificate._curvature_bounds import Curvature
from equipoise.certificate._infeasibility import ALLOWED_FALL, Infeasibility
from equipoise.certificate._lanczos import LeastCurvature
from equipoise.certificate._near_stationarity import near_within
from equipoise.certificate._proof import InfeasibilityProof, _fall, lower_bound

from .affine import affine

# ------------------------------------------------------------------ the examiner


def test_one_violated_constraint_among_others_is_the_worst():
    problem = affine(np.eye(3), [-1.0, 0.5, -2.0])
    assert certify(problem, np.zeros(3)).worst == problem.names[1]


# ------------------------------------------------------------------ curvature


@pytest.mark.parametrize(
    ("residual", "slope", "share"), [(0.01, 5.0, 0.02), (9.0, 5.0, 1.0), (0.01, 0.0, 0.0)]
)
def test_what_multipliers_add_to_the_curvature_is_in_doubt(residual, slope, share):
    assert DOUBTED_RESIDUALS == 10.0
    v = np.array([0.6, 0.8])
    H = np.diag([1.0, -3.0])
    own = v @ H @ v
    point = SimpleNamespace(gradient=lambda i: slope * v)
    for value in (2.0, -9.0):
        found = LeastCurvature(value, 0.25, 0.5, 1.5, v, 7)
        after = _doubted(found, lambda w: (H @ w, 0.0), point, residual)
        assert after.error == pytest.approx(0.25 + abs(value - own) * share)
        assert after.largest == pytest.approx(max(1.5, abs(own), abs(value - own)))
        assert (after.value, after.missing, after.products) == (value, 0.5, 7)


def within(monkeypatch, found_inside, nearest, curvatures, upper=-1.0, along=-1.5):
    """Look for a direction where the cone has these; curvature and error by the first coordinate."""
    monkeypatch.setattr(
        curvature_module,
        "least_curvature",
        lambda *_, **__: SimpleNamespace(direction=found_inside),
    )

    def product(w):
        value, error = curvatures[float(w[0])]
        return value * w / (w @ w), error

    bounds = Curvature(-2.0, upper, 3.0, np.array([1.0]), along)
    cone = SimpleNamespace(project_inside=None, nearest=nearest)
    return _within(bounds, cone, product, 0)


def test_the_direction_of_the_cone_that_bends_down_the_most_counts(monkeypatch):
    """Of the nearest directions 2 and -2 to what bends least, and 3 and -3 to what does inside."""
    found = within(
        monkeypatch,
        np.array([3.0]),
        lambda v: {1.0: np.array([2.0]), -1.0: np.array([-2.0])}.get(float(v[0]), v),
        {2.0: (-1.0, 0.0), -2.0: (-4.0, 0.0), 3.0: (-6.0, 3.0), -3.0: (5.0, 0.0)},
    )
    assert (found.direction[0], found.along, found.upper) == (-2.0, -4.0, -3.5)
    surer = within(
        monkeypatch,
        np.array([3.0]),
        lambda v: v if abs(v[0]) == 3.0 else None,
        {3.0: (-6.0, 3.0), -3.0: (5.0, 0.0)},
    )
    assert (surer.direction[0], surer.along, surer.upper) == (3.0, -6.0, -3.0)


def test_a_cone_without_such_a_direction_has_no_upper_bound(monkeypatch):
    none = within(monkeypatch, None, lambda v: v, {1.0: (-0.5, 0.1), -1.0: (0.0, 0.0)})
    assert none.upper == math.inf  # -0.5 is known to 0.5
    assert none.direction[0] == 1.0
    some = within(monkeypatch, None, lambda v: v, {1.0: (-0.51, 0.1), -1.0: (0.0, 0.0)})
    assert some.upper == pytest.approx(-0.01)


# ------------------------------------------------------------------ near-stationarity


def test_the_residual_of_near_stationarity():
    near = NearStationarity(np.zeros(1), 0.3, 0.1, np.array([1.0, 2.0]), 2.0, True)
    assert near.bound == pytest.approx(0.4)
    assert near.residual == pytest.approx(4.0 * 2.0 * 0.4)
    assert replace(near, rho_hat=0.1).residual == pytest.approx(0.4)
    assert replace(near, solvable=False).residual == math.inf


def test_what_is_asked_of_cutting_planes_for_a_verdict(monkeypatch):
    asked = []

    def solved(problem, rho, tol, *, rounds, goal):
        asked.append((problem.rho_hat, rho, tol, rounds, goal(np.array([2.0]))))
        return problem.center + 1e-4, np.array([2.0]), 0.0

    monkeypatch.setattr(near_module, "minimise_with_kinks", solved)
    problem = affine([[-1.0]], [-5.0], facts=Facts(weak_convexity=1.5))
    tol = 9.001e-4
    near = near_within(problem, np.zeros(1), tol, 7)
    assert asked == [(3.0, 1.5, pytest.approx(1e-3 * tol), 7, pytest.approx(tol / 9))]
    assert near.residual == pytest.approx(9e-4)
    assert near_within(problem, np.zeros(1), 8.9e-4, 10**6) is None
    assert asked[1][3] == near_module.MAX_ROUNDS
    convex = affine([[-1.0]], [-5.0], facts=Facts(convex=True))
    near_within(convex, np.zeros(1), 1e-3, 7)
    assert asked[2][:2] == (1.0, 0.0)
    assert near_within(affine([[-1.0]], [-5.0]), np.zeros(1), 1e-3, 7) is None
    monkeypatch.setattr(near_module, "MAX_DIM", 0)
    assert near_within(problem, np.zeros(1), 9e-4, 7) is None


# ------------------------------------------------------------------ infeasibility


@pytest.mark.parametrize(
    ("violation", "stationarity", "reach", "is_stationary"),
    [
        (1.0, ALLOWED_FALL / 4, 4.0, True),
        (1.0, 1.01 * ALLOWED_FALL / 4, 4.0, False),
        (0.0, 0.0, 4.0, False),
    ],
)
def test_a_point_is_stationary_for_the_violation(violation, stationarity, reach, is_stationary):
    assert Infeasibility(violation, stationarity, {}, reach).is_stationary is is_stationary


@pytest.mark.parametrize(("convex", "counts"), [(True, True), (False, False)])
def test_satisfied_constraints_block_where_all_are_convex(convex, counts):
    """``1 + x <= 0`` against ``-0.5 - x <= 0``, which is met at 0."""
    problem = affine(
        [[1.0], [-1.0]],
        [1.0, -0.5],
        domain=sets.Box(-9, 9, dim=1),
        facts=Facts(smooth=True, convex_constraints=convex),
    )
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert (len(found.weights) == 2) is counts
    assert found.violation == 1.0
    if counts:  # alpha = (2, 2): the shares of 1 + x and -0.5 - x in a sum of 1
        assert found.weights == {name: pytest.approx(0.5) for name in problem.names}
        assert found.stationarity == pytest.approx(0.0, abs=1e-6)
    else:
        assert found.stationarity == pytest.approx(1.0)


def test_only_the_largest_constraints_are_looked_at(monkeypatch):
    monkeypatch.setattr(infeasibility, "MAX_CONSTRAINTS", 2)
    problem = affine([[1.0], [-1.0], [-1.0], [1.0]], [1.0, 0.4, 0.9, 0.5], facts=Facts(smooth=True))
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert set(found.weights) == {problem.names[0], problem.names[2]}


def test_what_is_not_finite_blocks_nothing():
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x), [lambda x: (1.0, np.full(1, np.inf))], dim=1
    )
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert (found.violation, found.stationarity, found.weights) == (1.0, math.inf, {})


@pytest.mark.parametrize(("smooth_", "slope"), [(True, 3.0), (None, 0.5)])
def test_kinks_are_judged_by_their_envelope(smooth_, slope, monkeypatch):
    monkeypatch.setattr(infeasibility, "_envelope_slope", lambda *_: 1.0)
    problem = affine([[6.0]], [2.0], domain=sets.Box(-9, 9, dim=1), facts=Facts(smooth=smooth_))
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert found.stationarity == pytest.approx(slope)


# ------------------------------------------------------------------ proofs


def test_a_lower_bound_term_by_term():
    """Two planes on the box [-1, 3], seen from 0.5: the bound is 1/2 (|values| ...) by hand."""
    unit = 1e-5
    problem = affine(
        [[2.0], [-1.0]],
        [3.0, 2.0],
        domain=sets.Box(-1, 3, dim=1),
        facts=Facts(convex_constraints=True, rounding=unit),
    )
    points, w, c = np.array([[1.0], [-1.0]]), np.array([0.25, 0.75]), np.array([0.5])
    proof = InfeasibilityProof(np.array([1, 2]), points, w, c)
    values, rows = np.array([5.0, 3.0]), np.array([[2.0], [-1.0]])
    bound, radius = lower_bound(problem, proof, values, rows)
    u = 8 * unit
    height = 0.25 * (5 - 1.0) + 0.75 * (3 - 1.5)
    scale = 0.25 * (5 + 2 * 1.5) + 0.75 * (3 + 1.5)
    blurred = u * (0.25 * 2 + 0.75) * 4.0
    fall = _fall(problem.domain, c, np.array([0.25 * 2 - 0.75]), 4.0, u)
    assert 0.25 * 2.5 <= fall <= 1.1 * 0.25 * 2.5  # at the end of the box
    assert radius == 4.0
    assert bound == pytest.approx(height - u * scale - blurred - fall, rel=1e-12)


def test_all_weight_is_on_the_most_violated_constraint_where_no_better_is_found(monkeypatch):
    monkeypatch.setattr(infeasibility, "nnls", lambda matrix, _: (np.zeros(matrix.shape[1]), 0.0))
    problem = affine(np.eye(2), np.ones(2))
    rows = np.array([[3.0, 4.0], [1.0, 0.0]])
    alpha, slope = infeasibility._least(problem, np.zeros(2), rows, np.array([2.0, 1.0]))
    assert (alpha.tolist(), slope) == ([0.5, 0.0], 2.5)
