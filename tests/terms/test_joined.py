"""Callables, and terms on top of one another."""

import numpy as np
import pytest

from equipoise.terms import Terms

from .examples import N, callable_terms, constraint_from, rate_terms


def test_stacking_adds_objectives_and_lines_up_constraints(rng):
    first, second = rate_terms(), callable_terms()
    stacked, s = Terms.joined([first, second, rate_terms(seed=5)]), rng.normal(size=N)
    third = rate_terms(seed=5)
    values = stacked.at(s).values
    assert values[0] == pytest.approx(first.at(s).values[0] + third.at(s).values[0])
    np.testing.assert_allclose(
        values[1:],
        np.r_[first.at(s).values[1:], second.at(s).values[1:], third.at(s).values[1:]],
    )
    assert stacked.names == (*first.names, "spread", *third.names)


def test_a_callable_without_curve_or_with_a_kink():
    plain = callable_terms(function=lambda s, y, g: (s.sum(), np.ones_like(s)))
    assert plain.names == ("custom",)
    assert plain.at(np.zeros(N)).curve is None
    assert Terms.joined([rate_terms(), plain]).at(np.zeros(N)).curve is None
    kinked = constraint_from(lambda s, y, g: (abs(s).sum(), np.sign(s)), np.zeros(3), smooth=False)
    assert not kinked.smooth
    assert kinked.bounds(np.ones(3)).lipschitz is None


def test_a_callable_sees_its_rows(rng):
    seen = {}

    def look(scores, y, groups):
        seen.update(n=len(scores), y=y, groups=groups)
        return 0.0, np.zeros_like(scores)

    y = np.arange(5)
    terms = constraint_from(look, y, {"a": y + 10, "b": y + 20})
    terms.rows(np.array([3, 1]), 2.5).at(np.zeros(2))
    assert seen["n"] == 2
    np.testing.assert_array_equal(seen["y"], [3, 1])
    np.testing.assert_array_equal(seen["groups"]["b"], [23, 21])


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda s, y, g: 1.0, TypeError, r"must return \(value, slope\)"),
        (lambda s, y, g: (1.0, np.zeros(2)), ValueError, r"a slope of shape \(2,\)"),
        (lambda s, y, g: (s, s), ValueError, "must return a number as its value"),
    ],
)
def test_a_callable_that_misbehaves(function, error, message):
    with pytest.raises(error, match=message):
        callable_terms(function=function).at(np.zeros(N))


def test_wrong_parts():
    with pytest.raises(ValueError, match="`parts` must not be empty"):
        Terms.joined([])
    with pytest.raises(ValueError, match="`parts` must be over the same rows"):
        Terms.joined([rate_terms(), callable_terms(n=7)])
    with pytest.raises(ValueError, match="`function` must be callable"):
        constraint_from(3, np.zeros(2))
