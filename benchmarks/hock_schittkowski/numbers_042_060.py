"""Problems 42 to 60."""

from __future__ import annotations

import math
from math import asin, inf

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import exp, sin
from benchmarks.hock_schittkowski.numbers_001_020 import rosenbrock


@case(42, start=(1, 1, 1, 1), best=28 - 10 * math.sqrt(2))
def hs42(x1, x2, x3, x4):
    objective = (x1 - 1) ** 2 + (x2 - 2) ** 2 + (x3 - 3) ** 2 + (x4 - 4) ** 2
    return objective, [], [x1 - 2, x3**2 + x4**2 - 2]


@case(43, start=(0, 0, 0, 0), best=-44.0)
def hs43(x1, x2, x3, x4):
    objective = x1**2 + x2**2 + 2 * x3**2 + x4**2 - 5 * x1 - 5 * x2 - 21 * x3 + 7 * x4
    at_least_zero = [
        8 - x1**2 - x2**2 - x3**2 - x4**2 - x1 + x2 - x3 + x4,
        10 - x1**2 - 2 * x2**2 - x3**2 - 2 * x4**2 + x1 + x4,
        5 - 2 * x1**2 - x2**2 - x3**2 - 2 * x1 + x2 + x4,
    ]
    return objective, at_least_zero, []


@case(44, start=(0, 0, 0, 0), best=-15.0, lower=0, others=[-13.0])
def hs44(x1, x2, x3, x4):
    at_least_zero = [
        8 - x1 - 2 * x2,
        12 - 4 * x1 - x2,
        12 - 3 * x1 - 4 * x2,
        8 - 2 * x3 - x4,
        8 - x3 - 2 * x4,
        5 - x3 - x4,
    ]
    return x1 - x2 - x3 - x1 * x3 + x1 * x4 + x2 * x3 - x2 * x4, at_least_zero, []


@case(45, start=(2, 2, 2, 2, 2), best=1.0, lower=0, upper=(1, 2, 3, 4, 5))
def hs45(x1, x2, x3, x4, x5):
    return 2 - x1 * x2 * x3 * x4 * x5 / 120, [], []


@case(46, start=(math.sqrt(2) / 2, 1.75, 0.5, 2, 2), best=0.0, others=[0.02108893])
def hs46(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x3 - 1) ** 2 + (x4 - 1) ** 4 + (x5 - 1) ** 6
    return objective, [], [x1**2 * x4 + sin(x4 - x5) - 1, x2 + x3**4 * x4**2 - 2]


# the book quotes 0, at ones, where the cube has no minimum
@case(47, (2, math.sqrt(2), -1, 2 - math.sqrt(2), 0.5), best=-0.0267141827, others=[0.0])
def hs47(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x2 - x3) ** 3 + (x3 - x4) ** 4 + (x4 - x5) ** 4
    return objective, [], [x1 + x2**2 + x3**3 - 3, x2 - x3**2 + x4 - 1, x1 * x5 - 1]


@case(48, start=(3, 5, -3, 2, -2), best=0.0)
def hs48(x1, x2, x3, x4, x5):
    objective = (x1 - 1) ** 2 + (x2 - x3) ** 2 + (x4 - x5) ** 2
    return objective, [], [x1 + x2 + x3 + x4 + x5 - 5, x3 - 2 * (x4 + x5) + 3]


@case(49, start=(10, 7, 2, -3, 0.8), best=0.0)
def hs49(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x3 - 1) ** 2 + (x4 - 1) ** 4 + (x5 - 1) ** 6
    return objective, [], [x1 + x2 + x3 + 4 * x4 - 7, x3 + 5 * x5 - 6]


@case(50, start=(35, -31, 11, 5, -5), best=0.0)
def hs50(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x2 - x3) ** 2 + (x3 - x4) ** 4 + (x4 - x5) ** 2
    zero = [x1 + 2 * x2 + 3 * x3 - 6, x2 + 2 * x3 + 3 * x4 - 6, x3 + 2 * x4 + 3 * x5 - 6]
    return objective, [], zero


@case(51, start=(2.5, 0.5, 2, -1, 0.5), best=0.0)
def hs51(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x2 + x3 - 2) ** 2 + (x4 - 1) ** 2 + (x5 - 1) ** 2
    return objective, [], [x1 + 3 * x2 - 4, x3 + x4 - 2 * x5, x2 - x5]


@case(52, start=(2, 2, 2, 2, 2), best=1859 / 349)
def hs52(x1, x2, x3, x4, x5):
    objective = (4 * x1 - x2) ** 2 + (x2 + x3 - 2) ** 2 + (x4 - 1) ** 2 + (x5 - 1) ** 2
    return objective, [], [x1 + 3 * x2, x3 + x4 - 2 * x5, x2 - x5]


@case(53, start=(2, 2, 2, 2, 2), best=176 / 43, lower=-10, upper=10)
def hs53(x1, x2, x3, x4, x5):
    objective = (x1 - x2) ** 2 + (x2 + x3 - 2) ** 2 + (x4 - 1) ** 2 + (x5 - 1) ** 2
    return objective, [], [x1 + 3 * x2, x3 + x4 - 2 * x5, x2 - x5]


@case(
    54,
    start=(6e3, 1.5, 4e6, 2, 3e-3, 5e7),
    best=-math.exp(-27 / 280),
    lower=(0, -10, 0, 0, -1, 0),
    upper=(2e4, 10, 1e7, 20, 1, 2e8),
)
def hs54(x1, x2, x3, x4, x5, x6):
    pair = (x1 - 1e4) ** 2 / 6.4e7 + (x1 - 1e4) * (x2 - 1) / 2e4 + (x2 - 1) ** 2
    rest = (x4 - 10) ** 2 / 2.5e3 + (x5 - 1e-3) ** 2 / 2.5e-3 + (x6 - 1e8) ** 2 / 2.5e17
    distance = pair / 0.96 + (x3 - 2e6) ** 2 / 4.9e13 + rest
    return -exp(-0.5 * distance), [], [x1 + 4e3 * x2 - 1.76e4]


@case(
    55,
    start=(1, 2, 0, 0, 0, 2),
    best=19 / 3,
    lower=0,
    upper=(1, inf, inf, 1, inf, inf),
    others=[20 / 3],
)
def hs55(x1, x2, x3, x4, x5, x6):
    zero = [
        x1 + 2 * x2 + 5 * x5 - 6,
        x1 + x2 + x3 - 3,
        x4 + x5 + x6 - 2,
        x1 + x4 - 1,
        x2 + x5 - 2,
        x3 + x6 - 2,
    ]
    return x1 + 2 * x2 + 4 * x5 + exp(x1 * x4), [], zero


@case(56, start=(1, 1, 1, *3 * [asin(math.sqrt(1 / 4.2))], asin(math.sqrt(5 / 7.2))), best=-3.456)
def hs56(x1, x2, x3, x4, x5, x6, x7):
    zero = [
        x1 - 4.2 * sin(x4) ** 2,
        x2 - 4.2 * sin(x5) ** 2,
        x3 - 4.2 * sin(x6) ** 2,
        x1 + 2 * x2 + 2 * x3 - 7.2 * sin(x7) ** 2,
    ]
    return -x1 * x2 * x3, [], zero


AGES_57 = {8: [49, 49], 10: [48, 47, 48, 47], 12: [46, 46, 45, 43], 14: [45, 43, 43], 16: [44, 43, 43],
           18: [46, 45], 20: [42, 42, 43], 22: [41, 41, 40], 24: [42, 40, 40], 26: [41, 40, 41],
           28: [41, 40], 30: [40, 40, 38], 32: [41, 40], 34: [40], 36: [41, 38], 38: [40, 40],
           40: [39], 42: [39]}  # fmt: skip


@case(57, start=(0.42, 5), best=0.02845966972, lower=(0.4, -4), others=[0.03064762])
def hs57(x1, x2):
    def misfit(age, percent):
        return 0.01 * percent - x1 - (0.49 - x1) * exp(-x2 * (age - 8))

    objective = sum(misfit(age, p) ** 2 for age, percents in AGES_57.items() for p in percents)
    return objective, [0.49 * x2 - x1 * x2 - 0.09], []


GOLDEN_ROOT = math.sqrt((math.sqrt(5) - 1) / 2)  # the book's point breaks a constraint by 2e-6


@case(
    58,
    start=(-2, 1),
    best=(1 + GOLDEN_ROOT) ** 2,
    lower=(-2, -inf),
    upper=(0.5, inf),
    others=[100.9901],
)
def hs58(x1, x2):
    return rosenbrock(x1, x2), [x2**2 - x1, x1**2 - x2, x1**2 + x2**2 - 1], []


# the book quotes -7.804235953, which no point has with the coefficients it prints
@case(59, start=(90, 10), best=-7.802789471, lower=0, upper=(75, 65), others=[-6.749505274])
def hs59(x1, x2):
    alone = (
        -75.196 + 3.8112 * x1 - 0.12694 * x1**2 + 2.0567e-3 * x1**3 - 1.0345e-5 * x1**4
        + 6.8306 * x2 - 0.25645 * x2**2 + 3.4604e-3 * x2**3 - 1.3514e-5 * x2**4 + 28.106 / (x2 + 1)
    )  # fmt: skip
    mixed = (
        -0.030234 * x1 * x2 + 1.28134e-3 * x1**2 * x2 - 3.5256e-5 * x1**3 * x2 + 2.266e-7 * x1**4 * x2
        - 3.405e-4 * x1 * x2**2 + 5.2375e-6 * x1**2 * x2**2 + 6.3e-8 * x1**3 * x2**2
        + 1.6638e-6 * x1 * x2**3 - 7e-10 * x1**3 * x2**3 + 2.8673 * exp(0.0005 * x1 * x2)
    )  # fmt: skip
    at_least_zero = [x1 * x2 - 700, x2 - x1**2 / 125, (x2 - 50) ** 2 - 5 * (x1 - 55)]
    return alone + mixed, at_least_zero, []


@case(60, start=(2, 2, 2), best=0.03256820025, lower=-10, upper=10, others=[2.189661])
def hs60(x1, x2, x3):
    objective = (x1 - 1) ** 2 + (x1 - x2) ** 2 + (x2 - x3) ** 4
    return objective, [], [x1 * (1 + x2**2) + x3**4 - 4 - 3 * math.sqrt(2)]
