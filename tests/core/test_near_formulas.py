"""Error bounds of near-stationarity, against the inequalities they solve."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, near_stationarity, sets
from equipoise.certificate import _cutting_planes as planes
from equipoise.certificate import _near_stationarity as module
from equipoise.certificate._bounded import bounded_least_squares
from equipoise.certificate._cutting_planes import _PlaneModel
from equipoise.certificate._near_stationarity import _is_solvable, near_within
from equipoise.certificate._smooth import _error
from equipoise.problems import ProximalProblem

from .affine import affine


def proximal(A, b, slope, center, rho_hat, domain=None, facts=None):
    problem = affine(A, b, slope=slope, domain=domain, facts=facts)
    return ProximalProblem(problem, np.asarray(center, float), rho_hat)


def test_the_error_of_a_smooth_solution_is_the_root_of_its_inequality():
    """``mu (2 + |lam|) / 2 d^2 = s d + gap``, or ``d^2 = 2 v / mu``: the larger one."""
    sub = proximal([[1.0, 0.0]], [-1.0], [1.0, 1.0], np.zeros(2), 2.0)
    y, lam, mu = np.array([0.3, -0.2]), np.array([0.7]), 2.0
    point = sub.at(y)
    s = np.linalg.norm(point.lagrangian_gradient(lam))
    gap = -float(lam @ point.constraints)
    d = _error(sub, y, lam, mu)
    assert gap > 0
    assert mu * (2 + 0.7) / 2 * d**2 == pytest.approx(s * d + gap)
    far = np.array([9.0, 0.0])
    assert _error(sub, far, np.zeros(1), 0.01) >= math.sqrt(2 * sub.at(far).violation / 0.01)
    minimiser = np.array([-0.5, -0.5])
    assert _error(sub, minimiser, np.zeros(1), mu) == pytest.approx(0.0, abs=1e-12)
    violated = proximal([[1.0, 0.0]], [1.0], [1.0, 1.0], np.zeros(2), 2.0)
    assert _error(violated, minimiser, np.zeros(1), mu) == pytest.approx(
        math.sqrt(2 * violated.at(minimiser).violation / mu)
    )


def test_the_error_of_a_plane_model_is_the_root_of_its_gap():
    sub = proximal([[1.0, 0.0]], [-1.0], [1.0, 1.0], np.zeros(2), 2.0)
    model = _PlaneModel(sub, 0.5)
    y, lam = np.zeros(2), np.array([0.7])
    lower = sub.at(y).objective - 0.6
    assert model.error(y, lam, lower) == pytest.approx(math.sqrt(2 * 0.6 / (1.5 * 2.7)))
    assert model.error(y, lam, lower + 9.0) == 0.0
    outside = np.array([1.3, 0.0])
    violation = sub.at(outside).violation
    assert model.error(outside, lam, math.inf) == pytest.approx(math.sqrt(2 * violation / 1.5))


def test_the_strong_convexity_is_what_the_prox_parameter_exceeds_the_weak_by(monkeypatch):
    """An error bound divides by it: more than there is would claim too much."""
    asked = []

    def solved(sub, mu, tol):
        asked.append((mu, tol))
        return sub.center, np.zeros(1), 0.0

    monkeypatch.setattr(module, "minimise_smooth", solved)
    problem = affine([[1.0]], [-1.0], facts=Facts(smooth=True))
    near_stationarity(problem, np.zeros(1), 5.0, rho=2.0, tol=1e-5)
    assert asked == [(3.0, 1e-5)]
    with pytest.raises(
        ValueError, match="`rho_hat` must exceed the weak-convexity constant 5, got 5"
    ):
        near_stationarity(problem, np.zeros(1), 5.0, rho=5.0)


def test_steps_that_overflow_reach_no_feasible_point():
    """A value of 1e300 on a slope of 1e-9 asks for a step of 1e309."""
    problem = FunctionProblem(lambda x: (0.0, 0 * x), [lambda x: (1e300, np.array([1e-9]))], dim=1)
    with np.errstate(over="ignore"):
        assert not _is_solvable(ProximalProblem(problem, np.ones(1), 1e-12), np.zeros(1))


def test_planes_touch_the_functions_they_belong_to():
    problem = FunctionProblem(
        lambda x: (np.sin(x[0]), np.cos(x)), [lambda x: (x[0] ** 2 - 1, 2 * x)], dim=1
    )
    model = _PlaneModel(ProximalProblem(problem, np.array([0.2]), 4.0), 1.0)
    y = np.array([0.9])
    model.cut(y)
    assert model.owner.tolist() == [0, 1]
    values = model.offsets + (model.slopes * (y - 0.2)).sum(axis=1)
    np.testing.assert_allclose(values, problem.at(y).values + 0.5 * 0.7**2)
    assert model.weights.tolist() == [1.0, 0.0]
    _, multipliers, lower = model.solve()
    assert multipliers.shape == (1,)
    assert lower <= min(
        model.problem.at(np.array([t])).objective for t in np.linspace(-1, 1, 201) if abs(t) <= 1
    )


@pytest.mark.parametrize("smooth", [None, False, True])
def test_kinks_are_looked_for_where_nobody_denies_them(smooth, monkeypatch):
    """A method for smooth functions that comes to nothing is the last word for smooth functions only."""
    problem = FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)),
        [lambda x: (abs(x[0] - 1.0) - 0.5, np.array([np.sign(x[0] - 1.0), 0.0]))],
        domain=sets.Box(-3, 3, dim=2),
        facts=Facts(smooth=smooth, convex=True, convex_constraints=True),
    )
    rough = np.zeros(2), np.zeros(1), 5.0
    monkeypatch.setattr(module, "minimise_smooth", lambda *_: rough)
    near = near_stationarity(problem, np.array([0.9, 0.3]), 1.0, tol=1e-3)
    assert (near.error <= 1e-3) == (smooth is not True)
    assert near.multipliers.shape == (1,)


@pytest.mark.parametrize(("rho", "rho_hat"), [(0.0, 1.0), (0.3, 1.0), (3.0, 6.0)])
def test_the_prox_parameter_is_twice_the_weak_convexity_or_one(rho, rho_hat):
    problem = affine([[-1.0, 0.0]], [0.0], slope=[1.0, 0.0], facts=Facts(weak_convexity=rho))
    near = near_within(problem, np.zeros(2), 1e-3, 100)
    assert near.rho_hat == rho_hat


def test_dropping_planes_leaves_weights_that_sum_to_one(monkeypatch):
    monkeypatch.setattr(planes, "MAX_PLANES", 4)
    monkeypatch.setattr(planes, "NEWEST_KEPT", 2)
    problem = FunctionProblem(lambda x: (x @ x, 2 * x), [lambda x: (x[0] ** 2 - 1, 2 * x)], dim=1)
    model = _PlaneModel(ProximalProblem(problem, np.zeros(1), 1.0), 0.0)
    model.cut(np.array([1.0]))
    model.cut(np.array([2.0]))
    model.weights = np.array([0.5, 0.2, 0.25, 0.0])
    model.cut(np.array([3.0]))
    assert model.owner.tolist() == [0, 1, 0, 0, 1]  # the plane without weight is gone
    np.testing.assert_allclose(model.weights, [2 / 3, 0.2, 1 / 3, 0.0, 0.0])
    np.testing.assert_allclose(model.slopes[:, 0], [2.0, 2.0, 4.0, 6.0, 6.0])


@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4])
def test_shares_are_fitted_to_the_last_digits_where_columns_nearly_depend(near):
    matrix = np.array([[1.0, 1.0], [0.0, near]])
    exact = np.array([1.0, 2.0])
    np.testing.assert_allclose(
        bounded_least_squares(matrix, matrix @ exact, np.full(2, np.inf)), exact, rtol=1e-9
    )
    bounded = bounded_least_squares(matrix, matrix @ exact, np.array([np.inf, 1.0]))
    np.testing.assert_allclose(bounded, [2.0, 1.0], rtol=1e-6)
    assert bounded_least_squares(matrix, -matrix @ exact, np.full(2, np.inf)).tolist() == [0.0, 0.0]


def test_a_feasible_point_near_the_witness_shows_that_a_subproblem_is_solvable():
    sub = proximal([[1.0]], [-0.9], [1.0], [1.0], 1.0)
    assert sub.at(sub.center).violation > 0
    assert sub.at(np.array([0.9])).violation > 0
    assert _is_solvable(sub, np.array([0.9]))
    assert _is_solvable(proximal([[1.0]], [-2.0], [1.0], [1.0], 1.0), np.array([9.0]))  # the centre
    never = proximal([[0.0]], [1.0], [1.0], [1.0], 1.0)
    assert not _is_solvable(never, np.array([1.0]))
    assert not _is_solvable(never, np.array([0.5]))
