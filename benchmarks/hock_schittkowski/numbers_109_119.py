"""Problems 109 to 119."""

from __future__ import annotations

import math
from math import inf

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import cos, exp, log, sin
from benchmarks.hock_schittkowski.numbers_083_099 import (
    CUBIC_86,
    LINEAR_86,
    RIGHT_86,
    ROWS_86,
    SQUARE_86,
    between,
    dot,
)


@case(
    109,
    start=[0] * 9,
    best=5326.85133,  # below the book's 5362.06928
    lower=(0, 0, -0.55, -0.55, 196, 196, 196, -400, -400),
    upper=(inf, inf, 0.55, 0.55, 252, 252, 252, 800, 800),
)
def hs109(x1, x2, x3, x4, x5, x6, x7, x8, x9):
    a, b, c = 50.176, math.sin(0.25), math.cos(0.25)
    objective = 3 * x1 + 1e-6 * x1**3 + 2 * x2 + 0.522074e-6 * x2**3
    at_least_zero = [2250000 - x1**2 - x8**2, 2250000 - x2**2 - x9**2]
    y5, y6, y7 = x5**2, x6**2, x7**2

    def flows(wave):
        return [
            x5 * x6 * wave(-x3 - 0.25) + x5 * x7 * wave(-x4 - 0.25),
            x5 * x6 * wave(x3 - 0.25) + x6 * x7 * wave(x3 - x4 - 0.25),
            x5 * x7 * wave(x4 - 0.25) + x6 * x7 * wave(x4 - x3 - 0.25),
        ]

    active, reactive = flows(sin), flows(cos)
    loss = 0.7533e-3 * a - 2 * c
    zero = [
        active[0] + 2 * b * y5 - a * x1 + 400 * a,
        active[1] + 2 * b * y6 - a * x2 + 400 * a,
        active[2] + 2 * b * y7 + 881.779 * a,
        reactive[0] + a * x8 - 200 * a + loss * y5,
        reactive[1] + a * x9 - 200 * a + loss * y6,
        reactive[2] + 22.938 * a + loss * y7,
    ]
    return objective, at_least_zero + between(-0.55, x4 - x3, 0.55), zero


@case(110, start=[9] * 10, best=-45.77846971, lower=2.001, upper=9.999)
def hs110(*x):
    logarithms = sum(log(value - 2) ** 2 + log(10 - value) ** 2 for value in x)
    return logarithms - math.prod(x) ** 0.2, [], []


ENERGIES_111 = (
    -6.089,
    -17.164,
    -34.054,
    -5.914,
    -24.721,
    -14.986,
    -24.100,
    -10.708,
    -26.662,
    -22.179,
)


def balances(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10):
    """The balances of three elements in moles of ten compounds."""
    return [
        m1 + 2 * m2 + 2 * m3 + m6 + m10 - 2,
        m4 + 2 * m5 + m6 + m7 - 1,
        m3 + m7 + m8 + 2 * m9 + m10 - 1,
    ]


@case(111, start=[-2.3] * 10, best=-47.76109086, lower=-100, upper=100)
def hs111(*x):
    moles = [exp(value) for value in x]
    total = log(sum(moles))
    energy = sum(m * (c + value - total) for m, c, value in zip(moles, ENERGIES_111, x))
    return energy, [], balances(*moles)


@case(112, start=[0.1] * 10, best=-47.76109086, lower=1e-6)  # below the book's -47.707579
def hs112(*x):
    total = sum(x)
    return sum(m * (c + log(m / total)) for m, c in zip(x, ENERGIES_111)), [], balances(*x)


@case(113, start=(2, 3, 5, 5, 1, 2, 7, 3, 6, 10), best=24.3062091)
def hs113(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10):
    first = x1**2 + x2**2 + x1 * x2 - 14 * x1 - 16 * x2 + (x3 - 10) ** 2 + 4 * (x4 - 5) ** 2
    second = (x5 - 3) ** 2 + 2 * (x6 - 1) ** 2 + 5 * x7**2 + 7 * (x8 - 11) ** 2
    third = 2 * (x9 - 10) ** 2 + (x10 - 7) ** 2 + 45
    at_least_zero = [
        105 - 4 * x1 - 5 * x2 + 3 * x7 - 9 * x8,
        -10 * x1 + 8 * x2 + 17 * x7 - 2 * x8,
        8 * x1 - 2 * x2 - 5 * x9 + 2 * x10 + 12,
        -3 * (x1 - 2) ** 2 - 4 * (x2 - 3) ** 2 - 2 * x3**2 + 7 * x4 + 120,
        -5 * x1**2 - 8 * x2 - (x3 - 6) ** 2 + 2 * x4 + 40,
        -0.5 * (x1 - 8) ** 2 - 2 * (x2 - 4) ** 2 - 3 * x5**2 + x6 + 30,
        -(x1**2) - 2 * (x2 - 2) ** 2 + 2 * x1 * x2 - 14 * x5 + 6 * x6,
        3 * x1 - 6 * x2 - 12 * (x9 - 8) ** 2 + 7 * x10,
    ]
    return first + second + third, at_least_zero, []


@case(
    114,
    start=(1745, 12000, 110, 3048, 1974, 89.2, 92.8, 8, 3.6, 145),
    best=-1768.80696,
    lower=(1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 85, 90, 3, 1.2, 145),
    upper=(2000, 16000, 120, 5000, 2000, 93, 95, 12, 4, 162),
)
def hs114(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10):
    objective = 5.04 * x1 + 0.035 * x2 + 10 * x3 + 3.36 * x5 - 0.063 * x4 * x7
    a, b = 0.99, 0.9
    acid, octane = 35.82 - 0.222 * x10, 3 * x7 - 133
    alkylate = x1 * (1.12 + 0.13167 * x8 - 0.00667 * x8**2)
    motor = 57.425 + 1.098 * x8 - 0.038 * x8**2 + 0.325 * x6
    at_least_zero = [
        *(acid - b * x9, x9 / b - acid),
        *(octane - a * x10, x10 / a - octane),
        *(alkylate - a * x4, x4 / a - alkylate),
        *(motor - a * x7, x7 / a - motor),
    ]
    zero = [
        1.22 * x4 - x1 - x5,
        98000 * x3 / (x4 * x9 + 1000 * x3) - x6,
        (x2 + x5) / x1 - x8,
    ]
    return objective, at_least_zero, zero


@case(
    116,
    start=(0.5, 0.8, 0.9, 0.1, 0.14, 0.5, 489, 80, 650, 450, 150, 150, 150),
    best=97.5875096,  # below the book's 97.588409
    lower=(0.1, 0.1, 0.1, 1e-4, 0.1, 0.1, 0.1, 0.1, 500, 0.1, 1, 1e-4, 1e-4),
    upper=(1, 1, 1, 0.1, 0.9, 0.9, 1e3, 1e3, 1e3, 500, 150, 150, 150),
)
def hs116(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13):
    def power(x, flow):
        return (1.262626 - 1.231059 * x) * flow

    def stage(x, y):
        return y - 0.03475 * x - 0.975 * x * y + 0.00975 * x**2

    at_least_zero = [
        x3 - x2,
        x2 - x1,
        1 - 0.002 * (x7 - x8),
        *between(50, x11 + x12 + x13, 250),
        x13 - power(x3, x10),
        stage(x2, x5),
        stage(x3, x6),
        stage(x1, x4),
        x12 - power(x2, x9),
        x11 - power(x1, x8),
        x5 * x7 - x1 * x8 - x4 * x7 + x4 * x8,
        1 - 0.002 * (x2 * x9 + x5 * x8 - x1 * x8 - x6 * x9) - x5 - x6,
        x2 * x9 - x3 * x10 - x6 * x9 - 500 * x2 + 500 * x6 + x2 * x10,
        x2 - 0.9 - 0.002 * (x2 * x10 - x3 * x10),
    ]
    return x11 + x12 + x13, at_least_zero, []


@case(117, start=[1e-3] * 6 + [60] + [1e-3] * 8, best=32.34867897, lower=0)
def hs117(*x):
    prices, amounts = x[:10], x[10:]
    products = [dot(row, amounts) for row in SQUARE_86]
    objective = dot(amounts, products) + 2 * dot(CUBIC_86, [y**3 for y in amounts])
    at_least_zero = [
        2 * products[j]
        + 3 * CUBIC_86[j] * amounts[j] ** 2
        + LINEAR_86[j]
        - dot([row[j] for row in ROWS_86], prices)
        for j in range(5)
    ]
    return objective - dot(RIGHT_86, prices), at_least_zero, []


@case(
    118,
    start=(20, 55, 15, *4 * (20, 60, 20)),
    best=664.82045,
    lower=(8, 43, 3, *12 * [0]),
    upper=(21, 57, 16, *4 * (90, 120, 60)),
)
def hs118(*x):
    first, second, third = x[::3], x[1::3], x[2::3]
    objective = sum(
        2.3 * a + 1e-4 * a**2 + 1.7 * b + 1e-4 * b**2 + 2.2 * c + 1.5e-4 * c**2
        for a, b, c in zip(first, second, third)
    )
    demand = (60, 50, 70, 85, 100)
    met = [sum(x[3 * k : 3 * k + 3]) - demand[k] for k in range(5)]
    changes = [
        end
        for series, most in ((first, 6), (second, 7), (third, 6))
        for before, after in zip(series, series[1:])
        for end in between(-7, after - before, most)
    ]
    return objective, met + changes, []


PAIRS_119 = {
    1: (1, 4, 7, 8, 16),
    2: (2, 3, 7, 10),
    3: (3, 7, 9, 10, 14),
    4: (4, 7, 11, 15),
    5: (5, 6, 10, 12, 16),
    6: (6, 8, 15),
    7: (7, 11, 13),
    8: (8, 10, 15),
    9: (9, 12, 16),
    10: (10, 14),
    11: (11, 13),
    12: (12, 14),
    13: (13, 14),
    14: (14,),
    15: (15,),
    16: (16,),
}
ROWS_119 = (
    (0.22, 0.20, 0.19, 0.25, 0.15, 0.11, 0.12, 0.13, 1, 0, 0, 0, 0, 0, 0, 0),
    (-1.46, 0, -1.30, 1.82, -1.15, 0, 0.80, 0, 0, 1, 0, 0, 0, 0, 0, 0),
    (1.29, -0.89, 0, 0, -1.16, -0.96, 0, -0.49, 0, 0, 1, 0, 0, 0, 0, 0),
    (-1.10, -1.06, 0.95, -0.54, 0, -1.78, -0.41, 0, 0, 0, 0, 1, 0, 0, 0, 0),
    (0, 0, 0, -1.43, 1.51, 0.59, -0.33, -0.43, 0, 0, 0, 0, 1, 0, 0, 0),
    (0, -1.72, -0.33, 0, 1.62, 1.24, 0.21, -0.26, 0, 0, 0, 0, 0, 1, 0, 0),
    (1.12, 0, 0, 0.31, 0, 0, 1.12, 0, -0.36, 0, 0, 0, 0, 0, 1, 0),
    (0, 0.45, 0.26, -1.10, 0.58, 0, -1.03, 0.10, 0, 0, 0, 0, 0, 0, 0, 1),
)  # fmt: skip
RIGHT_119 = (2.5, 1.1, -3.1, -3.5, 1.3, 2.1, 2.3, -1.5)


@case(119, start=[10] * 16, best=244.899698, lower=0, upper=5)
def hs119(*x):
    bowls = [value**2 + value + 1 for value in x]
    objective = sum(bowls[i - 1] * bowls[j - 1] for i, others in PAIRS_119.items() for j in others)
    return objective, [], [dot(row, x) - c for row, c in zip(ROWS_119, RIGHT_119)]
