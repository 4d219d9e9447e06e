"""Problems 109 to 114."""

from __future__ import annotations

import math
from math import inf

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import cos, exp, log, sin
from benchmarks.hock_schittkowski.numbers_083_099 import between


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
