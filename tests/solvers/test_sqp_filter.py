"""The filter and the units of `SQP`, each against its rule."""

import math

import numpy as np
import pytest

from equipoise.sets import LinearRows
from equipoise.solvers._sqp.filter import (
    LARGEST_VIOLATION,
    LESS_OBJECTIVE,
    LESS_VIOLATION,
    SMALL_VIOLATION,
    SUFFICIENT_DECREASE,
    Filter,
)
from equipoise.solvers._sqp.merit import ScaledMerit, units

# ------------------------------------------------------------------ the filter


def test_a_filter_admits_what_is_better_than_every_pair_in_one_of_the_two():
    known = Filter(2.0, np.array([[1.0, 5.0], [0.5, 7.0]]))
    assert known.most == 2.0 * LARGEST_VIOLATION
    assert known.admits(0.9, 6.0)
    assert known.admits(0.4, 9.0)
    assert known.admits(2.0 * LARGEST_VIOLATION, 4.0)
    assert not known.admits(np.nextafter(2.0 * LARGEST_VIOLATION, np.inf), 4.0)
    assert not known.admits(1.0, 5.0)
    assert not known.admits(0.5, 7.0)
    assert not known.admits(0.9, 7.0)
    assert not known.admits(math.nan, 0.0)


def test_armijos_rule_is_for_steps_along_which_the_objective_falls_enough():
    known = Filter(1e4)  # so that violations up to 1 are small
    assert SMALL_VIOLATION * 1e4 == 1.0
    assert known.armijo(1.0, -1.1, 1.0)
    assert not known.armijo(np.nextafter(1.0, 2), -1.1, 1.0)
    assert not known.armijo(1.0, -1.0, 1.0)
    assert not known.armijo(0.0, 0.0, 1.0)
    assert not known.armijo(0.0, 1.0, 1.0)
    least = 0.5**1.1 / 2.0**2.3
    assert known.armijo(0.5, -2.0, 1.001 * least)
    assert not known.armijo(0.5, -2.0, 0.999 * least)


def accepts(new, old=(0.0, 1.0), slope=-1.0, s=0.5, rounding=0.0, pairs=()):
    known = Filter(1.0, np.array(pairs).reshape(-1, 2))
    return known.accepts(old, new, slope, s, rounding)


def test_a_step_for_the_objective_must_lower_it():
    bound = 1.0 + SUFFICIENT_DECREASE * 0.5 * -1.0
    assert accepts((0.0, bound))
    assert not accepts((0.0, np.nextafter(bound, 2)))
    assert accepts((0.0, bound + 0.9e-3), rounding=1e-3)
    assert not accepts((0.0, bound + 1.1e-3), rounding=1e-3)


def test_other_steps_must_lower_one_of_the_two():
    old = (2.0, 1.0)
    assert accepts(((1 - LESS_VIOLATION) * 2.0, 9.0), old)
    assert not accepts((np.nextafter((1 - LESS_VIOLATION) * 2.0, 3), 9.0), old)
    bound = 1.0 - LESS_OBJECTIVE * 2.0
    assert accepts((3.0, bound), old)
    assert not accepts((3.0, np.nextafter(bound, 2)), old)
    assert accepts((3.0, bound + 0.9e-3), old, rounding=1e-3)
    assert not accepts((3.0, bound + 1.1e-3), old, rounding=1e-3)


def test_what_the_filter_does_not_admit_is_not_accepted():
    assert not accepts((0.0, 0.5), pairs=[[0.0, 0.5]])
    assert accepts((0.0, 0.5), pairs=[[0.0, 0.5]], rounding=1e-9)


def test_a_pair_replaces_those_that_say_no_more():
    known = Filter(1.0, np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 9.0], [4.0, 9.0]]))
    after = known.with_pair(2.0, 6.0)
    pair = [(1 - LESS_VIOLATION) * 2.0, 6.0 - LESS_OBJECTIVE * 2.0]
    np.testing.assert_array_equal(after.pairs, [[1.0, 5.0], [3.0, 4.0], pair])
    assert after.start == 1.0
    again = after.with_pair(2.0, 6.0)
    np.testing.assert_array_equal(again.pairs, after.pairs)


# ------------------------------------------------------------------ units


def test_merit_measures_functions_by_their_slopes():
    J = np.array([[3.0, 4.0], [0.1, 0.2], [0.0, 20.0]])
    merit = ScaledMerit.of(J, np.array([1.0, 2.0]))
    np.testing.assert_allclose(merit.weights, [1 / math.hypot(3, 8), 1.0, 1 / 40])
    assert merit(np.array([-2.0, 3.0, -5.0])) == (3.0, pytest.approx(-2 / math.hypot(3, 8)))
    assert merit(np.array([0.0, 1.0, 80.0])) == (3.0, 0.0)


def rows(low, high):
    return LinearRows.of(len(low), np.array(low), np.array(high))


def test_variables_have_the_size_of_their_start_or_their_bounds():
    inf = math.inf
    found = units(
        np.array([100.0, 0.0, -0.05, 3.0, 0.0, 10.0, 0.1, 10.1, 0.09]),
        np.ones((1, 9)),
        rows(
            [-inf, -4.0, -inf, -1.0, 0.0, 0.0, -inf, -inf, -inf],
            [inf] * 1 + [50.0] + [inf] * 2 + [0.08] + [inf] * 4,
        ),
    )
    np.testing.assert_allclose(found, [100.0, 27.0, 0.05, 1.0, 0.04, 1.0, 1.0, 10.1, 0.09])


def test_variables_of_unknown_size_change_the_functions_as_others_do():
    inf = math.inf
    J = np.array([[3.0, 1.0, 0.2, 40.0, 1e-9], [0.0, 2.0, 0.1, 0.0, 0.0]])
    x = np.array([200.0, 50.0, 0.0, 0.0, 0.0])
    slope = np.linalg.norm(J / np.linalg.norm(J, axis=1)[:, None], axis=0)
    change = math.sqrt(slope[0] * 200.0 * slope[1] * 50.0)
    found = units(x, J, rows([-inf] * 5, [inf] * 5))
    expected = np.clip(change / slope[2:], 50.0, 200.0)
    assert expected[0] == 200.0
    np.testing.assert_allclose(found, [200.0, 50.0, *expected], rtol=1e-12)
    near = np.array([[3.0, 1.0, 1.2, 40.0, 1e-9], [0.0, 2.0, 0.1, 0.0, 0.0]])
    slope = np.linalg.norm(near / np.linalg.norm(near, axis=1)[:, None], axis=0)
    between = math.sqrt(slope[0] * 200.0 * slope[1] * 50.0) / slope[2]
    wide = units(np.array([200.0, 50.0, 0.0, 0.0, 1e4]), near, rows([-inf] * 5, [inf] * 5))
    logs = np.log(slope[[0, 1, 4]] * np.array([200.0, 50.0, 1e4])).mean()
    assert wide[2] == pytest.approx(np.clip(math.exp(logs) / slope[2], 50.0, 1e4))
    assert 50 < between < 1e4
    np.testing.assert_array_equal(units(np.zeros(2), J[:, :2], rows([-inf] * 2, [inf] * 2)), [1, 1])
    flat = units(np.array([0.0, 30.0]), np.zeros((1, 2)), rows([-inf] * 2, [inf] * 2))
    np.testing.assert_allclose(flat, [30.0, 30.0])
