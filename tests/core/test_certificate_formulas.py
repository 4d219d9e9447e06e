"""Scales, signs and early ends inside the certificates, each against a value by hand."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise._problem import Kinks, Point
from equipoise.certificate import _smooth as smooth
from equipoise.certificate import diagnose
from equipoise.certificate._curvature import violation_curvature
from equipoise.certificate._infeasibility import _least
from equipoise.certificate._kinks import _certified
from equipoise.certificate._multipliers import _Fit
from equipoise.certificate._products import HessianProducts
from equipoise.certificate._proof import STEP_LENGTHS, _fall
from equipoise.certificate._proving import _Bundle
from equipoise.certificate._residuals import Residuals
from equipoise.certificate._rounding import with_rounding
from equipoise.problems import ProximalProblem

from .affine import affine


@pytest.mark.parametrize(("row", "second"), [(-3.0, 2.0), (-0.5, 0.0)])
def test_a_bound_that_the_multipliers_free_counts_in_the_fit_of_shares(row, second):
    """Alone x_1 is held at 0; the first constraint frees it or not, and the second must balance it."""
    problem = affine(
        [[-1.0, row, 0.0], [0.0, 1.0, 0.0]],
        np.zeros(2),
        slope=[1.0, 1.0, -0.5],
        domain=sets.Box([-1, 0, -1], [1, 1, 1]),
    )
    kinks = Kinks(
        np.zeros(3), np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 2.0, 0.0]]), np.zeros(1)
    )
    certificate = _certified(problem, kinks)
    np.testing.assert_allclose(certificate.multipliers, [1.0, second], rtol=1e-6, atol=1e-6)
    assert certificate.residual <= 1e-6


@pytest.mark.parametrize("least", [0.0, 1e-3])
def test_slopes_of_any_size_cancel_with_weights_that_sum_to_one(least):
    problem = affine([[1e12], [-1e12], [least]], np.ones(3), facts=Facts(convex_constraints=True))
    bundle = _Bundle(problem, np.zeros(1), 0.0)
    bundle.weights = np.array([0.6, 0.5, 0.0])
    np.testing.assert_allclose(bundle._cancelled(np.zeros(1)), [0.5, 0.5, 0.0], rtol=1e-9)


def test_weights_that_are_zero_but_for_rounding_do_not_cancel_slopes():
    problem = affine([[1.0], [-1.0], [1.0]], np.ones(3), facts=Facts(convex_constraints=True))
    bundle = _Bundle(problem, np.zeros(1), 0.0)
    bundle.weights = np.array([0.6, 0.5, 1e-10])
    assert bundle._cancelled(np.zeros(1)).tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-15)
    bundle.weights = np.array([0.4, 0.6, 1e-5])
    exact = [0.449995, 0.5, 0.050005]  # the nearest weights whose slopes cancel
    assert bundle._cancelled(np.zeros(1)).tolist() == pytest.approx(exact, abs=1e-12)


def test_the_highest_plane_says_what_a_step_can_win():
    """At 0.5 the planes ``1 + x`` and ``1 - x`` promise 1.5, no less than the 1 there is."""
    problem = affine([[1.0], [-1.0]], np.ones(2), facts=Facts(convex_constraints=True))
    assert not _Bundle(problem, np.zeros(1), 0.0).advance(np.array([0.5]))
    assert _Bundle(problem, np.ones(1), 0.0).advance(np.array([0.5]))


def test_a_bound_that_holds_the_violation_is_not_in_doubt():
    """``1 + x_0 - 5 x_0^2 + x_1^2/2`` is held at x_0 = 0: what bends is x_1."""
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [
            lambda x: (
                1.0 + x[0] - 5.0 * x[0] ** 2 + 0.5 * x[1] ** 2,
                np.array([1.0 - 10.0 * x[0], x[1]]),
            )
        ],
        domain=sets.Box([0, -1], [1, 1]),
        facts=Facts(smooth=True),
    )
    found = violation_curvature(problem, problem.at(np.zeros(2)))
    assert found.along == pytest.approx(1.0, rel=1e-3)
    assert found.non_negative


def test_squares_of_violations_bend_by_their_slopes():
    """``((1 + x)^2 + (1 - x)^2) / 2`` bends by 2; the third constraint is met."""
    problem = affine([[1.0], [-1.0], [9.0]], [1.0, 1.0, -1.0], facts=Facts(smooth=True))
    found = violation_curvature(problem, problem.at(np.zeros(1)))
    assert found.along == pytest.approx(2.0, rel=1e-6)


def test_shares_of_blocking_constraints_meet_their_equation():
    problem = affine(np.eye(2), np.ones(2))
    alpha, slope = _least(problem, np.zeros(2), np.eye(2), np.ones(2))
    assert alpha.sum() == pytest.approx(1.0, rel=1e-13)
    assert slope == pytest.approx(math.sqrt(0.5), rel=1e-10)


def test_a_share_is_tiny_relative_to_all_of_them():
    """Of ``1 + x`` and ``1e-3 - 1e-8 x`` the shares are 1e-5 and 1000."""
    problem = affine([[1.0], [-1e-8]], [1.0, 1e-3], facts=Facts(smooth=True))
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert found.weights == {problem.names[1]: pytest.approx(1.0)}


@pytest.mark.parametrize(("scale", "left"), [(1e6, 1e-8), (1e-3, 1e-14)])
def test_a_residual_that_is_rounding_has_no_prices(scale, left):
    problem = affine([[-1.0], [1.0]], [0.0, 0.0], slope=[scale])
    fit = _Fit(problem, problem.at(np.zeros(1)))
    fit.add(np.array([1]))
    lam = np.array([scale - left])
    assert 0 < np.linalg.norm(fit.residual(lam)) < 2 * left
    assert fit.prices(lam, np.array([2])).tolist() == [0.0]
    assert fit.prices(lam - 1e-9 * max(1.0, scale), np.array([2]))[0] == pytest.approx(-1.0)


@pytest.mark.parametrize("x", [0.0, 3.0])
def test_prices_are_differences_over_a_millionth_of_the_point(x):
    """The constraint ``50 (y - x)^2 + y`` has the price 1 and bends by 100."""
    problem = FunctionProblem(
        lambda y: (-10.0 * y[0], -10.0 * np.ones(1)),
        [lambda y: (50.0 * (y[0] - x) ** 2 + y[0], 100.0 * (y - x) + 1.0)],
        dim=1,
    )
    fit = _Fit(problem, problem.at(np.array([x])))
    step = 1e-6 * max(1.0, x)
    assert fit.prices(np.zeros(0), np.array([1]))[0] == pytest.approx(1.0 + 50.0 * step, abs=1e-8)


@pytest.mark.parametrize(
    ("rounding", "x", "step"), [(1e-8, 0.0, 1e-2), (0.0, 0.0, 1e-4), (1e-8, 20.0, 0.2)]
)
def test_coarse_functions_take_long_differences(rounding, x, step):
    """One-sided differences of ``(y - x)^3 + y^2/2`` err by three steps."""
    problem = FunctionProblem(
        lambda y: ((y[0] - x) ** 3 + 0.5 * y[0] ** 2, 3 * (y - x) ** 2 + y),
        dim=1,
        facts=Facts(rounding=rounding),
    )
    products = HessianProducts(problem, problem.at(np.array([x])), np.ones(1), central=False)
    assert products(np.ones(1))[0][0] == pytest.approx(1.0 + 3 * step, rel=1e-6)


def test_rounding_that_cannot_matter_takes_no_gradients():
    def forbidden(_):
        raise AssertionError("a gradient was formed")

    problem = affine(np.eye(2), np.zeros(2))
    point = Point(np.ones(2), np.zeros(3), forbidden, jacobian=forbidden)
    residuals = Residuals(0.1, 0.2, 0.3)
    assert with_rounding(problem, point, np.ones(2), residuals, None) == residuals
    with pytest.raises(AssertionError):  # errors of 9.4e-10, were gradients as long as `LONG`
        with_rounding(problem, point, np.ones(2), Residuals(5e-9, 0.0, 0.0), None)


@pytest.mark.parametrize(
    ("half", "c", "longest"), [(0.05, 0.0, 0.1), (500.0, 3.0, 3.0), (500.0, 0.2, 1.0)]
)
def test_the_longest_step_of_a_bound_fits_the_domain_and_the_point(half, c, longest):
    """Steps beyond the box end at ``-half``, shorter ones where they lead."""
    unit, found = 1e-6, []
    for s in 2.0 / longest / STEP_LENGTHS:
        step = max(-2.0 / s, -half - c)
        normal = -2.0 - s * step
        found.append(normal * step - s * step * 2 * half + unit * abs(normal) * (c + 2.0 / s))
    fall = _fall(sets.Box(-half, half, dim=1), np.array([c]), np.array([2.0]), 2 * half, unit)
    assert fall == pytest.approx(min(found), rel=1e-9)


class _EnoughSeen(Exception):
    pass


def test_accelerated_steps_follow_the_sequence_of_fista():
    """Along a linear function every step has the momentum that its number says."""
    seen = []

    def linear(z):
        seen.append(float(z[0]))
        if len(seen) == 9:
            raise _EnoughSeen
        return float(z[0]), np.ones(1)

    with pytest.raises(_EnoughSeen):
        smooth.accelerated(linear, sets.Box(-1e9, 1e9, dim=1), np.zeros(1), 1e-9)
    x = z = 0.0
    momentum, curvature, expected = 1.0, 1.0, [0.0]
    for _ in range(4):
        new = z - 1.0 / curvature
        ahead = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        z, x, momentum = new + (momentum - 1) / ahead * (new - x), new, ahead
        expected += [new, z]
        curvature *= smooth.CURVATURE_DECAY
    assert seen == pytest.approx(expected, rel=1e-12)


def minimised(monkeypatch, ends):
    """Let the subproblems of ``min y s.t. y <= 0`` end at these points; return the penalties."""
    sub = ProximalProblem(affine([[1.0]], [0.0], slope=[1.0]), np.zeros(1), 1e-9)
    penalties = []

    def ended(function, domain, y, tol):
        near, far = (function(np.array([t]))[1][0] for t in (1.0, 2.0))
        penalties.append(round(far - near, 3))
        return np.array([ends[min(len(penalties), len(ends)) - 1]])

    monkeypatch.setattr(smooth, "accelerated", ended)
    smooth.minimise_smooth(sub, 1e-9, 1e-30)
    return penalties


def test_the_penalty_grows_where_the_violation_stays_above_a_quarter(monkeypatch):
    penalties = minimised(monkeypatch, [1.0, 0.5, 0.1, 0.03, 0.03])
    assert penalties[:5] == [10.0, 10.0, 30.0, 30.0, 90.0]


def test_violations_that_stay_end_the_search_unless_they_are_tiny(monkeypatch):
    assert len(minimised(monkeypatch, [1.0])) == smooth.PATIENCE + 2
    assert len(minimised(monkeypatch, [1e-5])) == smooth.PATIENCE + 2
    assert len(minimised(monkeypatch, [1.0, 0.95, 0.5, 0.5])) == smooth.PATIENCE + 4
    assert len(minimised(monkeypatch, [5e-7])) == smooth.MAX_LOOPS
