"""The Hock-Schittkowski collection: its gradients, and where `auto` ends."""

import cmath
import operator
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from benchmarks.hock_schittkowski import COLLECTION
from benchmarks.hock_schittkowski.expressions import Expression, compiled, exp, log, source, sqrt
from equipoise import solve

COMPLEX = SimpleNamespace(
    **{name: getattr(cmath, name) for name in ("exp", "log", "sqrt", "sin", "cos")},
    erf=special.erf,
    pow=operator.pow,
)

# Problems that `auto` solves quickly.
SOLVED = (4, 5, 8, 9, 10, 11, 12, 14, 21, 22, 24, 28, 29, 30, 31, 32, 35, 36, 40, 41, 42, 43, 45, 48, 51, 61,
          63, 66, 76, 78, 95, 110)  # fmt: skip


def inside(case):
    """A point within the bounds, near the start and away from its round numbers."""
    rng = np.random.default_rng(case.number)
    x = case.start + 0.03 * (1 + abs(case.start)) * rng.uniform(-1, 1, case.dim)
    room = np.minimum(case.upper - case.lower, 1.0)
    return np.clip(x, case.lower + 1e-3 * room, case.upper - 1e-3 * room)


@pytest.mark.parametrize("number", COLLECTION)
def test_gradients_agree_with_complex_steps(number):
    case = COLLECTION[number]
    x = inside(case)
    for formula in (case.objective, *case.at_least_zero, *case.zero):
        value, gradient = case.with_gradient(formula)(x)
        f = compiled([formula], case.dim, COMPLEX)
        steps = x + 1e-100j * np.eye(case.dim)
        expected = np.array([f(row.tolist())[0].imag for row in steps]) / 1e-100
        assert value == pytest.approx(f((x + 0j).tolist())[0].real, rel=1e-12)
        assert np.allclose(gradient, expected, rtol=1e-9, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize("number", COLLECTION)
def test_the_problem_says_what_the_collection_says(number):
    case = COLLECTION[number]
    x = inside(case)
    point = case.problem().at(x)
    objective, *constraints = case.values(x)
    n = len(case.at_least_zero)
    pairs = [sign * value for value in constraints[n:] for sign in (1, -1)]
    assert point.values == pytest.approx([objective, *(-c for c in constraints[:n]), *pairs])
    assert case.violation(x) == pytest.approx(point.violation)
    assert np.array_equal(np.clip(case.start, case.lower, case.upper), case.start)


def test_there_are_enough_problems_of_every_kind():
    cases = COLLECTION.values()
    assert len(cases) >= 75
    assert sum(bool(case.zero) for case in cases) >= 30
    assert sum(bool(case.at_least_zero) for case in cases) >= 30
    assert [case.number for case in cases if case.degenerate] == [13]


@pytest.mark.parametrize("number", SOLVED)
def test_auto_ends_certified_at_the_best_known_optimum(number):
    case = COLLECTION[number]
    result = solve(case.problem(), "auto", case.start, tol=1e-6)
    assert result.success
    assert case.violation(result.x) <= 1e-6
    assert case.values(result.x)[0] == pytest.approx(case.best, rel=1e-5, abs=1e-5)


def test_auto_claims_nothing_false_where_there_are_no_multipliers():
    case = COLLECTION[13]
    result = solve(case.problem(), "auto", case.start, tol=1e-6, max_steps=1000)
    objective = case.values(result.x)[0]
    assert not result.success or objective == pytest.approx(case.best, abs=1e-5)


def test_equal_parts_are_computed_once():
    x = Expression("variable", (0,))
    text = source([exp(x) * exp(x) + exp(x), 1 / exp(x)], 1)
    assert text.count("exp(") == 1


def test_a_formula_is_nan_where_it_is_not_defined():
    case = COLLECTION[1]
    x1, x2 = case.variables
    for formula in (log(x1), sqrt(x1), x1**0.5, 1 / x2, exp(-1e3 * x1)):
        value, gradient = case.with_gradient(formula)(np.array([-1.0, 0.0]))
        assert np.isnan(value)
        assert np.isnan(gradient).all()
