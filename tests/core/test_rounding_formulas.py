"""Rounding errors in certificates: each term against a value by hand, and what is not looked at."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, sets
from equipoise.certificate import _rounding as rounding
from equipoise.certificate._residuals import Residuals
from equipoise.certificate._rounding import FEW, NEGLIGIBLE, TermSizes, with_rounding

from .affine import affine

FORBIDDEN = "a gradient was formed"


def unlooked(x, values):
    """Return a point whose gradients nobody may ask for."""

    def forbidden(_):
        raise AssertionError(FORBIDDEN)

    return Point(np.array(x), np.array(values), forbidden, jacobian=forbidden)


@pytest.mark.parametrize(
    ("x", "multipliers", "weight"),
    [([0.0, 0.0], [0.0, 0.0], 1.0), ([0.0, 0.5], [2.0, 3.0], 6.0), ([3.0, 4.0], [0.0, 0.0], 5.0)],
)
@pytest.mark.parametrize("lipschitz", [None, 1e3])
def test_gradients_are_formed_where_the_error_may_be_a_tenth_of_the_residual(
    x, multipliers, weight, lipschitz
):
    problem = affine(np.eye(2), np.zeros(2), facts=Facts(rounding=1e-10, lipschitz=lipschitz))
    longest = rounding.LONG if lipschitz is None else lipschitz
    least = 1e-10 * longest * weight / NEGLIGIBLE
    point, lam = unlooked(x, np.zeros(3)), np.array(multipliers)
    for largest in (Residuals(1.05 * least, 0, 0), Residuals(0, 1.05 * least, 0)):
        assert with_rounding(problem, point, lam, largest, None) == largest
    with pytest.raises(AssertionError, match=FORBIDDEN):
        with_rounding(problem, point, lam, Residuals(0.95 * least, 0, 0), None)


def test_each_term_counts_with_its_own_size():
    unit = 1e-3
    problem = affine(np.eye(2), np.zeros(2), facts=Facts(rounding=unit))
    point = unlooked([1.0, 2.0], [9.0, -3.0, 5.0])
    residuals, terms = Residuals(0.1, 0.2, 0.3), TermSizes(length=7.0, linear=11.0)
    found = with_rounding(problem, point, np.array([2.0, 4.0]), residuals, terms)
    assert found.stationarity == pytest.approx(0.1 + unit * 7.0, rel=1e-12)
    assert found.violation == 0.2
    assert found.complementarity == pytest.approx(0.3 + unit * (6.0 + 20.0 + 11.0), rel=1e-12)


def test_an_objective_that_does_not_depend_on_a_variable_has_a_length():
    problem = affine(np.eye(FEW + 1), np.zeros(FEW + 1), slope=np.append(3.0, np.zeros(FEW)))
    found = TermSizes.at(problem.at(np.ones(FEW + 1)), np.full(FEW + 1, 1e-30))
    assert found.length == pytest.approx(3.0)


def noisy(facts=None):
    """A function whose gradient is (1, 0, 0) at one point and (4, 4, 0) at all others."""
    seen = []

    def objective(x):
        seen.append(x)
        there = np.array_equal(x, seen[0])
        return 0.0, np.array([1.0, 0.0, 0.0] if there else [4.0, 4.0, 0.0])

    return FunctionProblem(objective, dim=3, facts=facts), seen


@pytest.mark.parametrize("largest", [2e8, -2e8])
def test_huge_points_are_looked_at_one_rounding_error_away(largest):
    problem, seen = noisy()
    x = np.array([3.0, largest, -5.0])
    assert rounding._noise(problem, problem.at(x), np.zeros(0)) == 5.0
    beside = seen[1:]
    assert len(beside) == rounding.NEIGHBOURS
    for y in beside:
        signs = np.sign(y - x) * np.sign(x)
        np.testing.assert_array_equal(y, x * (1 + rounding.UNIT * signs))
        assert (y != x).all()
    assert len({tuple(y) for y in beside}) > 1


def test_the_largest_difference_to_a_neighbour_counts():
    """At one neighbour alone the gradient is another one; it is neither missed nor averaged."""
    calls = []

    def objective(x):
        calls.append(x)
        return 0.0, np.array([7.0, 0.0] if len(calls) == 4 else [1.0, 0.0])

    problem = FunctionProblem(objective, dim=2)
    point = problem.at(np.array([2e8, 1.0]))
    assert rounding._noise(problem, point, np.zeros(0)) == 6.0
    constant = FunctionProblem(lambda x: (0.0, np.array([1.0, 0.0])), dim=2)
    assert rounding._noise(constant, constant.at(point.x), np.zeros(0)) == 0.0


@pytest.mark.parametrize(
    ("x", "facts", "noise"),
    [
        ([0.0, 0.6 * rounding.HUGE, 0.6 * rounding.HUGE], None, 0.0),
        ([0.0, 0.8 * rounding.HUGE, 0.8 * rounding.HUGE], None, 5.0),
        ([0.0, 2e8, 0.0], Facts(smooth=False), 0.0),
        ([0.0, 2e8, 0.0], Facts(smooth=True), 5.0),
    ],
)
def test_points_of_ordinary_size_and_kinks_have_no_noise(x, facts, noise):
    problem, _ = noisy(facts)
    assert rounding._noise(problem, problem.at(np.array(x)), np.zeros(0)) == noise


@pytest.mark.parametrize(("value", "noise"), [(-0.9e8, 0.0), (-1.1e8, 5.0), (1.1e8, 5.0)])
def test_huge_values_are_looked_at_too(value, noise):
    problem, _ = noisy()
    point = problem.at(np.ones(3))
    huge = Point(point.x, np.array([value, 0.0]), point.vjp)
    assert rounding._noise(problem, huge, np.zeros(0)) == noise


def test_noise_keeps_to_the_domain_and_may_be_infinite():
    def objective(x):
        assert x[0] <= 1e9
        return 0.0, np.array([np.inf if x[1] != 5.0 else 0.0, 0.0])

    problem = FunctionProblem(objective, domain=sets.Box(-1, [1e9, 1e9]))
    point = problem.at(np.array([1e9, 5.0]))
    assert rounding._noise(problem, point, np.zeros(0)) == math.inf
