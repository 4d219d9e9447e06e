"""Problems 61 to 81."""

from __future__ import annotations

import math

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import erf, exp, log, sin, sqrt


@case(61, start=(0, 0, 0), best=-143.6461422, others=[-81.9190961])
def hs61(x1, x2, x3):
    objective = 4 * x1**2 + 2 * x2**2 + 2 * x3**2 - 33 * x1 + 16 * x2 - 24 * x3
    return objective, [], [3 * x1 - 2 * x2**2 - 7, 4 * x1 - x3**2 - 11]


@case(62, start=(0.7, 0.2, 0.1), best=-26272.51448, lower=0, upper=1)
def hs62(x1, x2, x3):
    first = 255 * log((x1 + x2 + x3 + 0.03) / (0.09 * x1 + x2 + x3 + 0.03))
    second = 280 * log((x2 + x3 + 0.03) / (0.07 * x2 + x3 + 0.03))
    third = 290 * log((x3 + 0.03) / (0.13 * x3 + 0.03))
    return -32.174 * (first + second + third), [], [x1 + x2 + x3 - 1]


@case(63, start=(2, 2, 2), best=961.7151721, lower=0)
def hs63(x1, x2, x3):
    objective = 1000 - x1**2 - 2 * x2**2 - x3**2 - x1 * x2 - x1 * x3
    return objective, [], [8 * x1 + 14 * x2 + 7 * x3 - 56, x1**2 + x2**2 + x3**2 - 25]


@case(64, start=(1, 1, 1), best=6299.842428, lower=1e-5)
def hs64(x1, x2, x3):
    objective = 5 * x1 + 5e4 / x1 + 20 * x2 + 7.2e4 / x2 + 10 * x3 + 1.44e5 / x3
    return objective, [1 - 4 / x1 - 32 / x2 - 120 / x3], []


@case(65, start=(-5, 5, 0), best=0.9535288567, lower=(-4.5, -4.5, -5), upper=(4.5, 4.5, 5))
def hs65(x1, x2, x3):
    objective = (x1 - x2) ** 2 + (x1 + x2 - 10) ** 2 / 9 + (x3 - 5) ** 2
    return objective, [48 - x1**2 - x2**2 - x3**2], []


@case(66, start=(0, 1.05, 2.9), best=0.5181632741, lower=0, upper=(100, 100, 10))
def hs66(x1, x2, x3):
    return 0.2 * x3 - 0.8 * x1, [x2 - exp(x1), x3 - exp(x2)], []


def normal(x):
    """The distribution function of the normal distribution."""
    return 0.5 * (1 + erf(x / math.sqrt(2)))


def control_chart(x1, x2, x3, x4, a, b, shift):
    """The cost of an X-bar chart; `shift` is the book's d sqrt(n), and `a` its a n."""
    growth = exp(x1) - 1
    cost = (a - (b * growth - x3) * x4 / (growth + x4)) / x1
    return cost, [], [x3 - 2 * normal(-x2), x4 - normal(-x2 + shift) - normal(-x2 - shift)]


@case(
    68,
    start=(1, 1, 1, 1),
    best=-0.9204250036,
    lower=(1e-4, 0, 0, 0),
    upper=(100, 100, 2, 2),
    others=[2.4e-05],
)
def hs68(*x):
    return control_chart(*x, a=0.0001 * 24, b=1, shift=math.sqrt(24))


@case(
    69,
    start=(1, 1, 1, 1),
    best=-956.7128867,
    lower=(1e-4, 0, 0, 0),
    upper=(100, 100, 2, 2),
    others=[0.004],
)
def hs69(*x):
    return control_chart(*x, a=0.1 * 4, b=1000, shift=2)


@case(71, start=(1, 5, 5, 1), best=17.0140173, lower=1, upper=5, others=[27.14643])
def hs71(x1, x2, x3, x4):
    zero = [x1**2 + x2**2 + x3**2 + x4**2 - 40]
    return x1 * x4 * (x1 + x2 + x3) + x3, [x1 * x2 * x3 * x4 - 25], zero


@case(72, start=(1, 1, 1, 1), best=727.6793577, lower=0.001, upper=(4e5, 3e5, 2e5, 1e5))
def hs72(x1, x2, x3, x4):
    at_least_zero = [
        0.0401 - 4 / x1 - 2.25 / x2 - 1 / x3 - 0.25 / x4,
        0.010085 - 0.16 / x1 - 0.36 / x2 - 0.64 / x3 - 0.64 / x4,
    ]
    return 1 + x1 + x2 + x3 + x4, at_least_zero, []


@case(73, start=(1, 1, 1, 1), best=29.89437816, lower=0)
def hs73(x1, x2, x3, x4):
    spread = sqrt(0.28 * x1**2 + 0.19 * x2**2 + 20.5 * x3**2 + 0.62 * x4**2)
    at_least_zero = [
        2.3 * x1 + 5.6 * x2 + 11.1 * x3 + 1.3 * x4 - 5,
        12 * x1 + 11.9 * x2 + 41.8 * x3 + 52.1 * x4 - 21 - 1.645 * spread,
    ]
    return 24.55 * x1 + 26.75 * x2 + 39 * x3 + 40.5 * x4, at_least_zero, [x1 + x2 + x3 + x4 - 1]


def power_flow(x1, x2, x3, x4, angle):
    objective = 3 * x1 + 1e-6 * x1**3 + 2 * x2 + 2e-6 / 3 * x2**3
    zero = [
        1000 * sin(-x3 - 0.25) + 1000 * sin(-x4 - 0.25) + 894.8 - x1,
        1000 * sin(x3 - 0.25) + 1000 * sin(x3 - x4 - 0.25) + 894.8 - x2,
        1000 * sin(x4 - 0.25) + 1000 * sin(x4 - x3 - 0.25) + 1294.8,
    ]
    return objective, [x4 - x3 + angle, x3 - x4 + angle], zero


@case(74, (0, 0, 0, 0), 5126.49811, lower=(0, 0, -0.55, -0.55), upper=(1200, 1200, 0.55, 0.55))
def hs74(*x):
    return power_flow(*x, angle=0.55)


@case(75, (0, 0, 0, 0), 5174.412695, lower=(0, 0, -0.48, -0.48), upper=(1200, 1200, 0.48, 0.48))
def hs75(*x):
    return power_flow(*x, angle=0.48)


@case(76, start=(0.5, 0.5, 0.5, 0.5), best=-4.681818181, lower=0)
def hs76(x1, x2, x3, x4):
    square = x1**2 + 0.5 * x2**2 + x3**2 + 0.5 * x4**2 - x1 * x3 + x3 * x4
    at_least_zero = [5 - x1 - 2 * x2 - x3 - x4, 4 - 3 * x1 - x2 - 2 * x3 + x4, x2 + 4 * x3 - 1.5]
    return square - x1 - 3 * x2 + x3 - x4, at_least_zero, []


@case(77, start=(2, 2, 2, 2, 2), best=0.24150513, others=[5.533357, 9.90876])
def hs77(x1, x2, x3, x4, x5):
    objective = (x1 - 1) ** 2 + (x1 - x2) ** 2 + (x3 - 1) ** 2 + (x4 - 1) ** 4 + (x5 - 1) ** 6
    root = math.sqrt(2)
    return objective, [], [x1**2 * x4 + sin(x4 - x5) - 2 * root, x2 + x3**4 * x4**2 - 8 - root]


def powell(x1, x2, x3, x4, x5):
    squares = x1**2 + x2**2 + x3**2 + x4**2 + x5**2
    return [squares - 10, x2 * x3 - 5 * x4 * x5, x1**3 + x2**3 + 1]


@case(78, start=(-2, 1.5, 2, -1, -1), best=-2.91970041, others=[-0.8235948])
def hs78(x1, x2, x3, x4, x5):
    return x1 * x2 * x3 * x4 * x5, [], powell(x1, x2, x3, x4, x5)


@case(79, start=(2, 2, 2, 2, 2), best=0.0787768209, others=[13.96682, 27.452])
def hs79(x1, x2, x3, x4, x5):
    objective = (x1 - 1) ** 2 + (x1 - x2) ** 2 + (x2 - x3) ** 2 + (x3 - x4) ** 4 + (x4 - x5) ** 4
    root = math.sqrt(2)
    zero = [x1 + x2**2 + x3**3 - 2 - 3 * root, x2 - x3**2 + x4 + 2 - 2 * root, x1 * x5 - 2]
    return objective, [], zero


LIMITS_80 = (2.3, 2.3, 3.2, 3.2, 3.2)


@case(
    80,
    (-2, 2, 2, -1, -1),
    0.0539498478,
    lower=[-b for b in LIMITS_80],
    upper=LIMITS_80,
    others=[0.4388512],
)
def hs80(x1, x2, x3, x4, x5):
    return exp(x1 * x2 * x3 * x4 * x5), [], powell(x1, x2, x3, x4, x5)


@case(
    81,
    (-2, 2, 2, -1, -1),
    0.0539498478,
    lower=[-b for b in LIMITS_80],
    upper=LIMITS_80,
    others=[0.4388512],
)
def hs81(x1, x2, x3, x4, x5):
    objective = exp(x1 * x2 * x3 * x4 * x5) - 0.5 * (x1**3 + x2**3 + 1) ** 2
    return objective, [], powell(x1, x2, x3, x4, x5)
