"""Limits are exceeded as rarely as they say: checked by adding up the probabilities of all outcomes."""

import math

import numpy as np
import pytest
from scipy.special import ndtri, rel_entr
from scipy.stats import binom

from equipoise.auditing._bounded_means import BoundedMeans
from equipoise.auditing._box import RatioOfMeasures, SumOfMeasures
from equipoise.auditing._measure import Mapped
from equipoise.auditing._one_rate import OneRate
from equipoise.auditing._two_rates import TwoRates

SHARES = np.array([0.0, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1.0])


def outcomes(rows):
    return [(i, j) for i in range(rows[0] + 1) for j in range(rows[1] + 1)]


def probability(outcome, rows, p):
    return math.prod(binom.pmf(k, n, q) for k, n, q in zip(outcome, rows, p))


@pytest.mark.parametrize("level", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("n", [1, 7, 20])
def test_limits_of_one_rate_are_exact(n, level):
    limits = [OneRate(k, n, 2.0, -0.5).upper(level) for k in range(n + 1)]
    for p in SHARES:
        wrong = sum(binom.pmf(k, n, p) for k in range(n + 1) if limits[k] < 2.0 * p - 0.5 - 1e-12)
        assert wrong <= level + 1e-9


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize(
    ("rows", "factors", "level"),
    [((6, 5), (1.0, 1.0), 0.1), ((3, 9), (1.0, 0.8), 0.05), ((12, 2), (0.5, 2.0), 0.25)],
)
def test_limits_of_two_rates_are_exceeded_as_rarely_as_they_say(rows, factors, level, ratio):
    limits = {x: TwoRates(x, rows, factors, 0.1, ratio).upper(level) for x in outcomes(rows)}
    for p in SHARES:
        for q in SHARES:
            if ratio and (p == 0.0 or q == 0.0):
                continue
            value = factors[0] * p - factors[1] * q + 0.1
            if ratio:
                value = math.log(factors[0] * p / (factors[1] * q))
            wrong = sum(
                probability(x, rows, (p, q)) for x, limit in limits.items() if limit < value - 1e-9
            )
            assert wrong <= level + 1e-9, (p, q)


@pytest.mark.parametrize(
    ("x", "n"), [((30, 25), (100, 120)), ((3, 50), (20, 400)), ((0, 0), (20, 20))]
)
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_p_values_and_limits_of_two_rates_agree(x, n, level):
    rates = TwoRates(x, n)
    upper = rates.upper(level)
    assert rates.chance(upper, level) <= level
    assert rates.chance(upper - 0.1 * rates.spread, level) > level
    assert rates.lower(level) < rates.value < upper
    assert rates.mirrored().upper(level) == -rates.lower(level)


def test_limits_of_a_difference_are_little_wider_than_approximate_ones():
    for x, n in (((300, 320), (1000, 1100)), ((40, 700), (200, 4000))):
        rates = TwoRates(x, n)
        p = np.array(x) / np.array(n)
        error = math.sqrt((p * (1 - p) / np.array(n)).sum())
        assert rates.upper(0.05) - rates.value < 1.1 * -ndtri(0.05) * error


def test_the_order_of_outcomes_rises_and_falls_as_it_must():
    for rows in ((40, 40), (5, 300)):
        for ratio in (False, True):
            grid = np.stack(np.meshgrid(*(np.arange(n + 1.0) for n in rows), indexing="ij"))
            guess = TwoRates((1, 1), rows, ratio=ratio).guess(grid, 1.645)
            assert (np.diff(guess, axis=1) <= 1e-12).all()


def test_one_bounded_mean_has_the_limit_of_relative_entropy():
    measure = BoundedMeans.of([0.3], [200], [1.0], 0.0)
    upper = measure.upper(0.05)
    entropy = rel_entr(0.3, upper) + rel_entr(0.7, 1.0 - upper)
    assert 200 * entropy == pytest.approx(-math.log(0.05), rel=1e-3)


def test_limits_of_a_sum_of_means_hold():
    rows, level = (4, 3), 0.1
    limits = {
        x: BoundedMeans.of([x[0] / 4, x[1] / 3], list(rows), [1.0, -0.5], 0.2).upper(level)
        for x in outcomes(rows)
    }
    for p in SHARES[1:-1:2]:
        for q in SHARES[1:-1:2]:
            value = p - 0.5 * q + 0.2
            wrong = sum(
                probability(x, rows, (p, q)) for x, limit in limits.items() if limit < value
            )
            assert wrong <= level


def test_boxes_add_up_and_divide_the_limits_of_their_parts():
    a, b = OneRate(30, 100), OneRate(50, 100)
    total = SumOfMeasures((a, b))
    assert total.upper(0.1) == a.upper(0.05) + b.upper(0.05)
    assert total.lower(0.1) == pytest.approx(a.lower(0.05) + b.lower(0.05))
    ratio = RatioOfMeasures(a, b)
    assert ratio.value == 0.6
    assert ratio.lower(0.1) < 0.6 < ratio.upper(0.1)
    assert ratio.upper(0.1) == pytest.approx(a.upper(0.1 / 3) / b.lower(0.1 / 3))
    assert RatioOfMeasures(a, OneRate(0, 5)).upper(0.1) == math.inf


def test_rising_functions_carry_limits_and_p_values_over():
    rate = OneRate(30, 100)
    squared = Mapped(rate, lambda p: p * p, math.sqrt)
    assert squared.upper(0.1) == rate.upper(0.1) ** 2
    assert squared.lower(0.1) == rate.lower(0.1) ** 2
    assert squared.chance(0.16, 0.1) == rate.chance(0.4, 0.1)
    assert squared.mirrored().chance(-0.04, 0.1) == pytest.approx(rate.mirrored().chance(-0.2, 0.1))


def test_without_rows_nothing_is_known():
    for measure in (
        OneRate(0, 0),
        TwoRates((0, 3), (0, 9)),
        BoundedMeans.of([0.0], [0], [1.0], 0.0),
    ):
        assert math.isnan(measure.value)
        assert measure.upper(0.05) == 1.0
        assert measure.chance(0.5, 0.05) == 1.0
        assert measure.fewest == 0
