"""Problems 100 to 108."""

from __future__ import annotations

import math
from math import inf

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import cos, exp, log, sin
from benchmarks.hock_schittkowski.numbers_083_099 import between


@case(100, start=(1, 2, 0, 4, 0, 1, 1), best=680.6300573)
def hs100(x1, x2, x3, x4, x5, x6, x7):
    first = (x1 - 10) ** 2 + 5 * (x2 - 12) ** 2 + x3**4 + 3 * (x4 - 11) ** 2 + 10 * x5**6
    second = 7 * x6**2 + x7**4 - 4 * x6 * x7 - 10 * x6 - 8 * x7
    at_least_zero = [
        127 - 2 * x1**2 - 3 * x2**4 - x3 - 4 * x4**2 - 5 * x5,
        282 - 7 * x1 - 3 * x2 - 10 * x3**2 - x4 + x5,
        196 - 23 * x1 - x2**2 - 6 * x6**2 + 8 * x7,
        -4 * x1**2 - x2**2 + 3 * x1 * x2 - 2 * x3**2 - 5 * x6 + 11 * x7,
    ]
    return first + second, at_least_zero, []


def geometric(x1, x2, x3, x4, x5, x6, x7, a):
    objective = (
        10 * x1 / x2 * x4**2 / x6**3 * x7**a
        + 15 / x1 / x2**2 * x3 * x4 / x5 / x7**0.5
        + 20 / x1**2 * x2 / x4 / x5**2 * x6
        + 25 * x1**2 * x2**2 / x3 * x5**0.5 / x6**2 * x7
    )
    at_least_zero = [
        1 - 0.5 * x1**0.5 / x3 / x6**2 * x7
        - 0.7 * x1**3 * x2 / x3**2 * x6 * x7**0.5
        - 0.2 / x2 * x3 / x4**0.5 * x6 ** (2 / 3) * x7**0.25,
        1 - 1.3 / x1**0.5 * x2 / x3 / x5 * x6
        - 0.8 * x3 / x4 / x5 * x6**2
        - 3.1 / x1 * x2**0.5 / x4**2 / x5 * x6 ** (1 / 3),
        1 - 2 * x1 / x3**1.5 * x5 / x6 * x7 ** (1 / 3)
        - 0.1 * x2 / x3**0.5 * x5 / x6 / x7**0.5
        - 1 / x1 * x2 * x3**0.5 * x5
        - 0.65 / x2**2 * x3 * x5 / x6 * x7,
        1 - 0.2 / x1**2 * x2 / x4 * x5**0.5 * x7 ** (1 / 3)
        - 0.3 * x1**0.5 * x2**2 * x3 * x4 ** (1 / 3) * x7**0.25 / x5 ** (2 / 3)
        - 0.4 / x1**3 / x2**2 * x3 * x5 * x7**0.75
        - 0.5 / x3**2 * x4 * x7**0.5,
    ]  # fmt: skip
    return objective, at_least_zero + between(100, objective, 3000), []


LOWER_101 = (0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.01)


@case(101, start=[6] * 7, best=1809.764766, lower=LOWER_101, upper=10)
def hs101(*x):
    return geometric(*x, a=-0.25)


@case(102, start=[6] * 7, best=911.880571, lower=LOWER_101, upper=10)
def hs102(*x):
    return geometric(*x, a=0.125)


@case(103, start=[6] * 7, best=543.667958, lower=LOWER_101, upper=10)
def hs103(*x):
    return geometric(*x, a=0.5)


@case(104, start=(6, 3, 0.4, 0.2, 6, 6, 1, 0.5), best=3.9511634396, lower=0.1, upper=10)
def hs104(x1, x2, x3, x4, x5, x6, x7, x8):
    objective = 0.4 * (x1 / x7) ** 0.67 + 0.4 * (x2 / x8) ** 0.67 + 10 - x1 - x2
    at_least_zero = [
        1 - 0.0588 * x5 * x7 - 0.1 * x1,
        1 - 0.0588 * x6 * x8 - 0.1 * x1 - 0.1 * x2,
        1 - 4 * x3 / x5 - 2 / (x3**0.71 * x5) - 0.0588 * x7 / x3**1.3,
        1 - 4 * x4 / x6 - 2 / (x4**0.71 * x6) - 0.0588 * x8 / x4**1.3,
    ]
    return objective, at_least_zero + between(1, objective, 4.2), []


COUNTS_105 = {95: 1, 105: 1, 110: 4, 115: 4, 120: 15, 125: 15, 130: 15, 135: 13, 140: 21, 145: 12, 150: 17,
              155: 4, 160: 20, 165: 8, 170: 17, 175: 8, 180: 6, 185: 6, 190: 7, 195: 4, 200: 3, 205: 3,
              210: 8, 215: 1, 220: 6, 230: 5, 235: 1, 240: 7, 245: 1, 250: 2}  # fmt: skip


@case(
    105,
    start=(0.1, 0.2, 100, 125, 175, 11.2, 13.2, 15.8),
    best=1136.307304,  # below the book's 1138.416240
    lower=(0.001, 0.001, 100, 130, 170, 5, 5, 5),
    upper=(0.499, 0.499, 180, 210, 240, 25, 25, 25),
)
def hs105(x1, x2, x3, x4, x5, x6, x7, x8):
    def density(y):
        parts = ((x1, x3, x6), (x2, x4, x7), (1 - x1 - x2, x5, x8))
        bells = [w / s * exp(-((y - m) ** 2) / (2 * s**2)) for w, m, s in parts]
        return sum(bells) / math.sqrt(2 * math.pi)

    return -sum(n * log(density(y)) for y, n in COUNTS_105.items()), [1 - x1 - x2], []


@case(
    106,
    start=(5000, 5000, 5000, 200, 350, 150, 225, 425),
    best=7049.24802,
    lower=(100, 1000, 1000, 10, 10, 10, 10, 10),
    upper=(1e4, 1e4, 1e4, 1e3, 1e3, 1e3, 1e3, 1e3),
)
def hs106(x1, x2, x3, x4, x5, x6, x7, x8):
    at_least_zero = [
        1 - 0.0025 * (x4 + x6),
        1 - 0.0025 * (x5 + x7 - x4),
        1 - 0.01 * (x8 - x5),
        x1 * x6 - 833.33252 * x4 - 100 * x1 + 83333.333,
        x2 * x7 - 1250 * x5 - x2 * x4 + 1250 * x4,
        x3 * x8 - 1250000 - x3 * x5 + 2500 * x5,
    ]
    return x1 + x2 + x3, at_least_zero, []


@case(
    107,
    start=(0.8, 0.8, 0.2, 0.2, 1.0454, 1.0454, 1.0454, 0, 0),
    best=5055.011803,
    lower=(0, 0, -inf, -inf, 0.90909, 0.90909, 0.90909, -inf, -inf),
    upper=(inf, inf, inf, inf, 1.0909, 1.0909, 1.0909, inf, inf),
)
def hs107(x1, x2, x3, x4, x5, x6, x7, x8, x9):
    c, d = 48.4 / 50.176 * math.sin(0.25), 48.4 / 50.176 * math.cos(0.25)
    objective = 3000 * x1 + 1000 * x1**3 + 2000 * x2 + 666.667 * x2**3
    s8, c8, s9, c9, s, k = sin(x8), cos(x8), sin(x9), cos(x9), sin(x8 - x9), cos(x8 - x9)
    zero = [
        0.4 - x1 + 2 * c * x5**2 - x5 * x6 * (d * s8 + c * c8) - x5 * x7 * (d * s9 + c * c9),
        0.4 - x2 + 2 * c * x6**2 + x5 * x6 * (d * s8 - c * c8) + x6 * x7 * (d * s - c * k),
        0.8 + 2 * c * x7**2 + x5 * x7 * (d * s9 - c * c9) - x6 * x7 * (d * s + c * k),
        0.2 - x3 + 2 * d * x5**2 + x5 * x6 * (c * s8 - d * c8) + x5 * x7 * (c * s9 - d * c9),
        0.2 - x4 + 2 * d * x6**2 - x5 * x6 * (c * s8 + d * c8) - x6 * x7 * (c * s + d * k),
        -0.337 + 2 * d * x7**2 - x5 * x7 * (c * s9 + d * c9) + x6 * x7 * (c * s - d * k),
    ]
    return objective, [], zero


@case(108, [1] * 9, -math.sqrt(3) / 2, lower=[-inf] * 8 + [0], others=[-0.6749814429, -0.5])
def hs108(x1, x2, x3, x4, x5, x6, x7, x8, x9):
    area = x1 * x4 - x2 * x3 + x3 * x9 - x5 * x9 + x5 * x8 - x6 * x7
    at_least_zero = [
        1 - x3**2 - x4**2,
        1 - x9**2,
        1 - x5**2 - x6**2,
        1 - x1**2 - (x2 - x9) ** 2,
        1 - (x1 - x5) ** 2 - (x2 - x6) ** 2,
        1 - (x1 - x7) ** 2 - (x2 - x8) ** 2,
        1 - (x3 - x5) ** 2 - (x4 - x6) ** 2,
        1 - (x3 - x7) ** 2 - (x4 - x8) ** 2,
        1 - x7**2 - (x8 - x9) ** 2,
        x1 * x4 - x2 * x3,
        x3 * x9,
        -x5 * x9,
        x5 * x8 - x6 * x7,
    ]
    return -0.5 * area, at_least_zero, []
