"""Step rules, constants and backtracking, each against its formula."""

import math

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise._errors import NonFiniteError
from equipoise.certificate import Residuals
from equipoise.solvers._parts import backtracking as steps_module
from equipoise.solvers._parts.backtracking import Backtracking
from equipoise.solvers._parts.estimates import (
    DOUBT,
    Constants,
    constants,
    constraint_slope,
    curvature,
    first_penalty,
)
from equipoise.solvers._parts.steps import (
    Constant,
    Inverse,
    InverseSqrt,
    Normalised,
    Polyak,
    SquareRoot,
)
from equipoise.solvers._parts.stopping import GapAndViolationAtMost, ResidualAtMost, gap_bound
from equipoise.solvers._parts.warm_start import Guess, first_multipliers, known_multipliers

from .lines import line

# ------------------------------------------------------------------ step rules


def test_rules_by_their_formulas():
    assert Constant(0.3)(7) == 0.3
    assert InverseSqrt(0.3)(8) == pytest.approx(0.1)
    assert SquareRoot(0.3)(8) == pytest.approx(0.9)
    assert Inverse(0.3)(2) == pytest.approx(0.1)
    g = np.array([3.0, 4.0])
    assert Normalised(2.0)(3, g=g) == pytest.approx(0.2)
    assert Normalised(2.0)(3) == 1.0
    assert Normalised(2.0)(3, g=0 * g) == 0.0
    assert Polyak()(0, 50.0, g) == 2.0
    assert Polyak()(0, 50.0, 0 * g) == 0.0
    assert Polyak(Constant(0.7))(0, None, g) == 0.7
    assert Polyak(Constant(0.7))(0, 50.0, None) == 0.7
    assert Polyak(Normalised(0.6))(3, None, g) == Normalised(0.6)(3, None, g) != Normalised(0.6)(3)
    for rule in (Constant, InverseSqrt, Normalised):
        assert rule(0.0)(0, g=g) == 0.0
        with pytest.raises(ValueError, match="non-negative"):
            rule(-1.0)
    for rule in (SquareRoot, Inverse):
        with pytest.raises(ValueError, match="positive"):
            rule(0.0)


def test_when_methods_of_multipliers_stop():
    own, oracle = ResidualAtMost(1e-3), GapAndViolationAtMost(0.5, 2.0)
    box, space = sets.Box(-1, 1, dim=1), sets.WholeSpace()
    assert [own.tolerance(box, j) for j in (0, 1)] == pytest.approx([0.1, 0.01])
    assert own.tolerance(box, 9) == 0.5e-3
    assert own.reached(Residuals(1e-3, 0.0, 0.0), math.inf)
    assert not own.reached(Residuals(1.1e-3, 0.0, 0.0), 0.0)
    assert oracle.tolerance(box, 3) == pytest.approx(0.5 / 20)
    assert oracle.tolerance(sets.Box(-0.1, 0.1, dim=1), 3) == pytest.approx(0.05)
    assert oracle.tolerance(space, 3) == pytest.approx(math.sqrt(0.2))
    assert oracle.reached(Residuals(9.0, 0.5, 9.0), 0.5)
    assert not oracle.reached(Residuals(0.0, 0.51, 0.0), 0.0)
    assert not oracle.reached(Residuals(0.0, 0.0, 0.0), 0.51)
    lam, f = np.array([2.0, 3.0]), np.array([-0.5, 0.25])
    assert gap_bound(box, 0.0, lam, f, 0.3) == pytest.approx(1.75 + 0.6)
    assert gap_bound(box, 0.5, lam, f, 0.3) == pytest.approx(1.75 + 0.09)
    assert gap_bound(box, 0.01, lam, f, 0.3) == pytest.approx(1.75 + 0.6)
    assert gap_bound(space, 0.5, lam, f, 0.3) == pytest.approx(1.75 + 0.09)


def test_guesses_fit_or_are_left_out():
    problem = line([1.0], [[1.0], [1.0]], [0.0, 0.0])
    assert known_multipliers("it", problem, None) is None
    assert first_multipliers("it", problem, None).tolist() == [0.0, 0.0]
    assert known_multipliers("it", problem, Guess(np.array([1.0, -2.0]))).tolist() == [1.0, 0.0]
    for other in ([1.0], [1.0, 2.0, 3.0], [1.0, np.nan], [1.0, np.inf]):
        assert known_multipliers("it", problem, Guess(np.array(other))) is None
    assert first_multipliers("it", problem, (3.0, 4.0)).tolist() == [3.0, 4.0]


# ------------------------------------------------------------------ constants


@pytest.mark.parametrize(
    ("facts", "smoothness", "prox", "expected"),
    [
        ({}, 3.0, 5.0, Constants(3.0, 5.0, 2.0)),
        ({"smoothness": 3.0}, None, 5.0, Constants(3.0, 5.0, 2.0)),
        ({"smoothness": 9.0}, 3.0, None, Constants(3.0, 6.0, 3.0)),
        ({}, None, 5.0, Constants(2.5, 5.0, 2.5)),
        ({"convex": True}, 3.0, None, Constants(3.0, 0.3, 0.3)),
        ({"weak_convexity": 1.0}, 3.0, None, Constants(3.0, 2.0, 1.0)),
        ({"weak_convexity": 0.01}, 3.0, None, Constants(3.0, 0.3, 0.29)),
        ({}, 0.0, None, Constants(0.0, 1.0, 1.0)),
    ],
)
def test_constants_are_given_known_or_chosen(facts, smoothness, prox, expected):
    problem = line([1.0], [[1.0]], [0.0], facts=Facts(**facts))
    found = constants("it", problem, np.zeros(1), smoothness, prox)
    assert (found.L, found.p, found.mu) == pytest.approx((expected.L, expected.p, expected.mu))


def test_a_prox_parameter_must_exceed_the_smoothness():
    with pytest.raises(ValueError, match="must exceed the smoothness L = 5"):
        constants("it", line([1.0]), np.zeros(1), 5.0, 5.0)


def test_smoothness_is_estimated_from_objective_and_worst_constraint():
    def square(c, at=0.0):
        return lambda x: (0.5 * c * float(x @ x) + at, c * x)

    x = np.ones(2)
    for own, met, broken, L in ((7.0, 9.0, 3.0, 7.0), (2.0, 9.0, 3.0, 3.0)):
        problem = FunctionProblem(square(own), [square(met, -99.0), square(broken)], dim=2)
        assert pytest.approx(DOUBT * L, rel=1e-6) == constants("it", problem, x, None, None).L
    free = FunctionProblem(square(4.0), dim=2)
    assert pytest.approx(8.0, rel=1e-6) == constants("it", free, x, None, None).L


def test_curvature_is_found_by_power_iteration_in_the_domain():
    H = np.diag([1.0, -5.0, 2.0])
    problem = FunctionProblem(lambda x: (0.5 * x @ H @ x, H @ x), dim=3)
    assert curvature(problem, np.zeros(3), 0, tries=40) == pytest.approx(5.0, rel=1e-4)
    v = np.cos(np.arange(1.0, 4.0))
    once = np.linalg.norm(H @ v) / np.linalg.norm(v)
    assert curvature(problem, np.zeros(3), 0, tries=1) == pytest.approx(once, rel=1e-6)
    assert curvature(line([1.0]), np.zeros(1), 0) == 0.0
    seen = []
    noted = FunctionProblem(lambda x: (seen.append(x.copy()) or 0.0, x), dim=2)
    for x, size in (([0.3, 0.4], 1.0), ([30.0, 40.0], 50.0)):
        seen.clear()
        curvature(noted, np.array(x), 0, tries=1)
        assert np.linalg.norm(seen[-1] - x) == pytest.approx(1e-5 * size, rel=1e-6)
    corner = FunctionProblem(
        lambda x: (1.5 * x @ x, 3 * x), domain=sets.Box([-9, 0], [0, 9], dim=2)
    )
    assert np.cos(1.0) > 0 > np.cos(2.0)  # so the first probe from the corner does not move
    assert curvature(corner, np.zeros(2), 0) == pytest.approx(3.0)


def test_the_first_penalty_falls_with_the_square_of_the_slope():
    assert first_penalty(line([1.0]).at(np.zeros(1))) == 10.0
    for slope, b in ((5.0, 10.0), (10.0, 10.0), (20.0, 2.5), (1e200, 1e-200)):
        problem = line([1.0], [[slope], [900.0]], [1.0, 0.0])
        assert first_penalty(problem.at(np.zeros(1))) == pytest.approx(b)


def test_the_slope_of_constraints_in_play():
    rows = np.array([[3.0, 4.0], [-3.0, -4.0], [100.0, 0.0]])
    problem = line([1.0, 0.0], rows, [0.0, -1.0, -1.0])
    point = problem.at(np.zeros(2))
    assert constraint_slope(point, np.zeros(3)) == 0.0
    assert constraint_slope(point, np.array([2.0, 0.0, 0.0])) == pytest.approx(5.0)
    both = np.array([1.0, 1.0, 0.0])
    mixed = both * np.cos([1.0, 2.0, 3.0])
    expected = np.linalg.norm(mixed @ rows) / np.linalg.norm(mixed)
    assert constraint_slope(point, both) == pytest.approx(expected)
    broken = line([1.0, 0.0], rows, [2.0, -1.0, -1.0]).at(np.zeros(2))
    assert constraint_slope(broken, np.zeros(3)) == pytest.approx(5.0)
    weights = np.array([2.0, 1.0, 0.0])
    mixed = weights * np.cos([1.0, 2.0, 3.0])
    expected = max(np.linalg.norm(w @ rows) / np.linalg.norm(w) for w in (weights, mixed))
    assert constraint_slope(broken, np.array([0.0, 1.0, 0.0])) == pytest.approx(expected)


# ------------------------------------------------------------------ backtracking


def test_the_first_step_size_is_the_inverse_curvature():
    rule, seen = Backtracking(), []
    problem = FunctionProblem(lambda y: (seen.append(y.copy()) or float(1.5 * y @ y), 3 * y), dim=2)
    for x, size in (([0.3, 0.4], 1.0), ([30.0, 40.0], 50.0)):
        seen.clear()
        assert rule.start(problem, problem.at(np.array(x))) == pytest.approx(1 / 3.0, rel=1e-6)
        assert np.linalg.norm(seen[-1] - x) == pytest.approx(steps_module.PROBE * size, rel=1e-6)
    assert Backtracking(0.7).start(None, None) == 0.7
    flat = line([0.0])
    assert rule.start(flat, flat.at(np.zeros(1))) == 1.0
    steep = line([4.0])
    longest = steps_module.LONGEST_FIRST_STEP
    assert rule.start(steep, steep.at(np.array([5.0]))) == pytest.approx(longest * 5.0 / 4.0)
    held = line([4.0], domain=sets.Box(-1, 1, dim=1))
    assert rule.start(held, held.at(np.zeros(1))) == pytest.approx(min(2.0, longest) / 4.0)
    assert rule.start(held, held.at(-np.ones(1))) == pytest.approx(min(2.0, longest) / 4.0)


def parabola(c):
    return FunctionProblem(lambda x: (0.5 * c * float(x @ x), c * x), dim=1)


@pytest.mark.parametrize(
    ("c", "n", "to", "after"),
    [
        (2.0, 0.5, 0.0, 0.5),
        (2.0, 0.26, 0.48, 0.26),
        (2.0, 0.25, 0.5, 0.25 * steps_module.GROWTH),
        (-2.0, 0.5, 2.0, 0.5 * steps_module.GROWTH),
    ],
)
def test_steps_that_are_short_enough_are_kept_and_may_grow(c, n, to, after):
    problem = parabola(c)
    at, used, later = Backtracking().descend(problem, problem.at(np.ones(1)), n)
    assert (at.x[0], used, later) == pytest.approx((to, n, after))


@pytest.mark.parametrize("n", [0.6, 3.0, 1e4])
def test_steps_that_are_too_long_are_cut_to_the_curvature(n):
    """Of ``x^2`` the curvature 2 is seen at once."""
    problem = parabola(2.0)
    cut = max(
        steps_module.SMALLEST_CUT * n, min(steps_module.LEAST_CUT * n, steps_module.SAFETY / 2.0)
    )
    while cut > 0.5:
        cut = max(
            steps_module.SMALLEST_CUT * cut,
            min(steps_module.LEAST_CUT * cut, steps_module.SAFETY / 2.0),
        )
    at, used, _ = Backtracking().descend(problem, problem.at(np.ones(1)), n)
    assert used == pytest.approx(cut)
    assert at.x[0] == pytest.approx(1 - 2 * cut)


def test_points_that_are_not_finite_cut_the_most():
    def objective(x):
        if x[0] < 0.9:
            raise NonFiniteError("It is not finite.")
        return float(x[0]), np.ones(1)

    problem = FunctionProblem(objective, dim=1)
    _, used, _ = Backtracking().descend(problem, problem.at(np.ones(1)), 1.0)
    cut = 1.0
    while cut > 0.1:
        cut *= steps_module.SMALLEST_CUT
    assert used == pytest.approx(cut)


def test_a_step_that_does_not_move_is_kept():
    problem = line([1.0], domain=sets.Box(0, 1, dim=1))
    at, used, later = Backtracking().descend(problem, problem.at(np.zeros(1)), 0.25)
    assert (at.x[0], used, later) == (0.0, 0.25, 0.25)
