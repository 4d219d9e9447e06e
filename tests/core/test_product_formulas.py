"""Hessian products and secants: steps, errors and refusals, each against a value by hand."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem
from equipoise.certificate._products import OTHER_DIRECTIONS, HessianProducts
from equipoise.certificate._secants import LEAST_CHANGE, _secants, secant_curvature
from equipoise.problems import QuadraticProblem
from equipoise.sets import WholeSpace

from .affine import affine

WEIGHTS = np.array([1.0, 2.0])


def curved(rounding=0.0):
    """An objective with third derivatives, and a constraint."""
    return FunctionProblem(
        lambda x: (x[0] ** 3 + x[0] * x[1], np.array([3 * x[0] ** 2 + x[1], x[0]])),
        [lambda x: (x[1] ** 4, np.array([0.0, 4 * x[1] ** 3]))],
        dim=2,
        facts=Facts(rounding=rounding),
    )


def test_products_of_the_problem_are_wrong_by_rounding():
    H = np.array([[3.0, 1.0], [1.0, 4.0]])
    problem = QuadraticProblem([H, np.eye(2)], np.zeros((2, 2)), np.zeros(2), WholeSpace())
    problem.facts = Facts(rounding=1e-5)
    products = HessianProducts(problem, problem.at(np.ones(2)), WEIGHTS)
    product, error = products(np.array([0.6, 0.8]))
    exact = (H + 2 * np.eye(2)) @ [0.6, 0.8]
    assert products.exact
    np.testing.assert_allclose(product, exact, rtol=1e-14)
    assert error == pytest.approx(1e-3 * np.linalg.norm(exact), rel=1e-12)


@pytest.mark.parametrize("central", [True, False])
@pytest.mark.parametrize(("x", "size"), [([0.3, 0.4], 1.0), ([6.0, 8.0], 10.0)])
def test_differences_are_wrong_by_rounding_over_their_step(central, x, size):
    """The gradient (1, 1) + 2 (3, 4) is known to 1e-4, and the step is a tenth of the point."""
    problem = affine([[3.0, 4.0]], [0.0], facts=Facts(rounding=1e-4))
    products = HessianProducts(problem, problem.at(np.array(x)), WEIGHTS, central)
    error = products(np.array([0.6, 0.8]))[1]
    steps = (0.1 * size, 1e-3 * size) if central else (0.1 * size,)
    assert error == pytest.approx(1e-4 * math.hypot(7.0, 9.0) / max(steps), rel=1e-6)


def naive(problem, x, v, h, central):
    """The product and its error by differences, from the values and gradients of the weighted sum."""

    def at(y):
        point = problem.at(y)
        return WEIGHTS @ point.values, point.vjp(WEIGHTS)

    (here, g), (ahead, slope), (behind, other) = at(x), at(x + h * v), at(x - h * v)
    if central:
        product, bend = (slope - other) / (2 * h), (ahead - 2 * here + behind) / h**2
        error = 2 * abs(v @ product - bend)
    else:
        product, bend = (slope - g) / h, 2 * (ahead - here - h * (v @ g)) / h**2
        error = 3 * OTHER_DIRECTIONS * abs(v @ product - bend)
    return product, error + problem.facts.rounding * np.linalg.norm(slope) / h


@pytest.mark.parametrize("central", [True, False])
def test_differences_and_what_they_disagree_by(central):
    problem, x, v = curved(1e-8), np.array([1.5, -2.0]), np.array([0.6, -0.8])
    products = HessianProducts(problem, problem.at(x), WEIGHTS, central)
    h = 1e-2 * 2.5
    product, error = products._difference(v, h) if central else products(v)
    expected, wrong = naive(problem, x, v, h, central)
    np.testing.assert_allclose(product, expected, rtol=1e-12)
    assert error == pytest.approx(wrong, rel=1e-9)


def test_the_better_of_two_steps_counts():
    """Of a function that is rough on a small scale the longer step says more."""
    problem = FunctionProblem(
        lambda x: (x[0] ** 2 + 1e-5 * np.sin(1e3 * x[0]), 2 * x + 1e-2 * np.cos(1e3 * x)),
        dim=1,
        facts=Facts(rounding=1e-8),
    )
    products = HessianProducts(problem, problem.at(np.array([0.1])), np.ones(1))
    v, h = np.ones(1), 1e-2
    tried = [products._difference(v, step) for step in (h, 1e-2 * h)]
    assert tried[0][1] > 1e-3 * abs(tried[0][0][0])  # so that both are tried
    product, error = products(v)
    assert error == min(tried[0][1], tried[1][1])
    best = tried[0] if tried[0][1] <= tried[1][1] else tried[1]
    assert product == pytest.approx(best[0])


@pytest.mark.parametrize("error", [ValueError, FloatingPointError])
def test_a_function_may_refuse_points_beside(error):
    """The first step leaves the domain of the logarithm, the second does not."""

    def objective(x):
        if x[0] <= 0:
            raise error
        return -math.log(x[0]), -1 / x

    problem = FunctionProblem(objective, dim=1, facts=Facts(rounding=1e-16))
    near = HessianProducts(problem, problem.at(np.array([0.5e-4])), np.ones(1))
    product, wrong = near(np.ones(1))
    assert product[0] == pytest.approx(4e8, rel=1e-2)
    assert wrong < math.inf
    nearer = HessianProducts(problem, problem.at(np.array([1e-7])), np.ones(1))
    product, wrong = nearer(np.ones(1))
    assert np.isnan(product).all()
    assert wrong == math.inf


def test_secants_know_their_errors():
    """Against the formulas of the docstring, for two points; others are too near or too far."""
    problem, x = curved(), np.array([3.0, 4.0])
    point = problem.at(x)
    used = [x + np.array([0.3, 0.05]), x + np.array([-1e-3, 2e-3])]
    away = np.array([0.6, 0.8])
    unused = [x + 4.9e-7 * away, x + 0.51 * away]
    border = [x + 5.1e-7 * away, x + 0.49 * away]
    earlier = [problem.at(y) for y in (*used, *unused)]
    found = _secants(point, WEIGHTS, earlier, 1e-9)
    assert len(found) == 2
    assert len(_secants(point, WEIGHTS, [problem.at(y) for y in border], 1e-9)) == 2
    value, gradient = WEIGHTS @ point.values, point.vjp(WEIGHTS)
    for y, step, change, error in zip(used, *zip(*found)):
        h = np.linalg.norm(y - x)
        s, slope = (y - x) / h, problem.at(y).vjp(WEIGHTS)
        np.testing.assert_allclose(step, s, rtol=1e-12)
        np.testing.assert_allclose(change, (slope - gradient) / h, rtol=1e-12)
        bend = 2 * (WEIGHTS @ problem.at(y).values - value - h * (s @ gradient)) / h**2
        wrong = 3 * OTHER_DIRECTIONS * abs(s @ change - bend)
        wrong += 1e-9 * (np.linalg.norm(slope) + np.linalg.norm(gradient)) / h
        least = LEAST_CHANGE * h / 5.0 * np.linalg.norm(change)
        assert error == pytest.approx(max(wrong, least), rel=1e-9)
    assert found[0][2] != pytest.approx(found[1][2], rel=0.1)


@pytest.mark.parametrize("rounding", [1e-3, 0.0])
def test_a_change_is_as_wrong_as_its_step_is_long(rounding):
    """Of ``x^2``, whose differences are exact, the error is rounding, or the length of the step."""
    problem = FunctionProblem(lambda x: (x @ x, 2 * x), dim=1)
    point, there = problem.at(np.array([0.25])), problem.at(np.array([0.3125]))
    ((_, _, error),) = _secants(point, np.ones(1), [there], rounding)
    assert error == pytest.approx(
        max(rounding * (0.5 + 0.625) / 0.0625, LEAST_CHANGE * 0.0625 * 2.0), rel=1e-9
    )


H = np.array([[3.0, 1.0, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, -9.0]])
"""Of a function that misstates its gradient, so that changes are not symmetric."""


def curvature_by_secants(steps, project, bend=(0.5, 0.25, 7.0)):
    problem = FunctionProblem(lambda x: (0.5 * x @ H @ x, H @ x), dim=3)
    earlier = [problem.at(np.array(step)) for step in steps]
    point, bend = problem.at(np.zeros(3)), np.array(bend)
    return secant_curvature(point, np.ones(1), project, bend, earlier, 0.0)


def on_plane(v):
    return v * np.array([1.0, 1.0, 0.0])


def test_curvature_from_secants_is_that_of_the_combined_changes():
    """Two steps make up both directions of a plane, but for a billionth of one step."""
    off = 5e-9
    steps = np.array([[1e-3, 0.0, off * 1e-3], [2e-3, 3e-3, 0.0]])
    found = curvature_by_secants(steps, on_plane)
    M = H[:2, :2] + np.diag([0.5, 0.25])
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    assert found.value == pytest.approx(values[0], rel=1e-7)
    assert found.largest == pytest.approx(values[1], rel=1e-7)
    assert abs(found.direction[:2] @ vectors[:, 0]) == pytest.approx(1.0)
    assert found.missing == 0.0
    assert found.products == 0
    lengths = np.linalg.norm(steps, axis=1)
    units = steps / lengths[:, None]
    changes = np.linalg.norm(units @ H.T, axis=1)
    shares = np.linalg.inv(units[:, :2].T)
    wrong = (lengths * changes) @ np.abs(shares)
    assert found.error == pytest.approx(wrong.sum() + 0.5 * np.linalg.norm(M - M.T), rel=1e-6)


def test_what_steps_miss_counts_with_the_largest_change():
    """Both steps are of 2e-7; the first is off the line by a share of 5e-9, the second across it."""
    H1 = np.diag([2.0, 50.0, 0.0])
    problem = FunctionProblem(lambda x: (0.5 * x @ H1 @ x, H1 @ x), dim=3)
    line = np.array([1.0, 0.0, 0.0])
    steps = 2e-7 * np.array([[1.0, 0.0, 5e-9], [0.0, 1.0, 0.0]])
    found = secant_curvature(
        problem.at(np.zeros(3)),
        np.ones(1),
        lambda v: (line @ v) * line,
        np.zeros(3),
        [problem.at(step) for step in steps],
        0.0,
    )
    assert found.error == pytest.approx(2.0 * 2e-7 + 50.0 * 5e-9, rel=1e-3)


def test_a_function_that_does_not_bend_is_known_exactly():
    still = FunctionProblem(lambda x: (3.0, 0.0 * x), dim=1)
    flat = secant_curvature(
        still.at(np.zeros(1)),
        np.ones(1),
        lambda v: v,
        np.ones(1),
        [still.at(np.full(1, 0.01))],
        0.0,
    )
    assert (flat.value, flat.error < 1e-200) == (1.0, True)


def test_secants_that_miss_a_direction_or_leave_the_sign_open_show_nothing():
    steps = np.array([[0.01, 0.0, 0.0], [0.02, 0.03, 0.0]])
    assert curvature_by_secants(steps, on_plane) is not None
    assert curvature_by_secants(steps[:1], on_plane) is None
    tilted = np.array([[0.01, 0.0, 0.0], [0.0, 0.01, 1e-5]])
    assert curvature_by_secants(tilted, on_plane) is None
    assert curvature_by_secants(steps, lambda v: v) is None
    assert curvature_by_secants(steps, lambda v: 0 * v) is None
    assert curvature_by_secants([], on_plane) is None
    assert curvature_by_secants(steps, on_plane, (-2.0, -2.0, 0.0)) is None


def test_curvature_that_is_no_more_than_its_error_shows_nothing():
    """Along a step of 1/16 the curvature ``3 + bend`` is known to 3/16."""
    line = np.array([1.0, 0.0, 0.0])
    problem = FunctionProblem(lambda x: (1.5 * x @ x, 3.0 * x), dim=3)
    for bend, shown in ((3 / 16 - 3, False), (3 / 16 - 3 + 1e-9, True)):
        found = secant_curvature(
            problem.at(np.zeros(3)),
            np.ones(1),
            lambda v: (line @ v) * line,
            np.full(3, bend),
            [problem.at(line / 16)],
            0.0,
        )
        assert (found is not None) is shown


def test_one_direction_from_secants_to_the_last_digit():
    """Along (0.6, 0.8) alone: the error is that of one step, and what makes the matrix unsymmetric none."""
    problem = FunctionProblem(lambda x: (x[0] ** 2 + 3 * x[1] ** 2, x * [2.0, 6.0]), dim=2)
    v = np.array([0.6, 0.8])
    earlier = [problem.at(0.05 * v)]
    found = secant_curvature(
        problem.at(np.zeros(2)), np.ones(1), lambda w: (v @ w) * v, np.zeros(2), earlier, 0.0
    )
    assert found.value == pytest.approx(0.36 * 2 + 0.64 * 6, rel=1e-9)
    assert found.error == pytest.approx(0.05 * math.hypot(1.2, 4.8), rel=1e-6)
