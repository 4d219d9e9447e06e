"""Problems 21 to 41."""

from __future__ import annotations

import math
from math import inf

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import exp, log


@case(21, start=(-1, -1), best=-99.96, lower=(2, -50), upper=(50, 50))
def hs21(x1, x2):
    return 0.01 * x1**2 + x2**2 - 100, [10 * x1 - x2 - 10], []


@case(22, start=(2, 2), best=1.0)
def hs22(x1, x2):
    return (x1 - 2) ** 2 + (x2 - 1) ** 2, [2 - x1 - x2, x2 - x1**2], []


@case(23, start=(3, 1), best=2.0, lower=(-50, -50), upper=(50, 50), others=[9.472136])
def hs23(x1, x2):
    at_least_zero = [x1 + x2 - 1, x1**2 + x2**2 - 1, 9 * x1**2 + x2**2 - 9, x1**2 - x2, x2**2 - x1]
    return x1**2 + x2**2, at_least_zero, []


@case(24, start=(1, 0.5), best=-1.0, lower=(0, 0))
def hs24(x1, x2):
    root = math.sqrt(3)
    at_least_zero = [x1 / root - x2, x1 + root * x2, 6 - x1 - root * x2]
    return ((x1 - 3) ** 2 - 9) * x2**3 / (27 * root), at_least_zero, []


@case(25, start=(100, 12.5, 3), best=0.0, lower=(0.1, 0, 0), upper=(100, 25.6, 5), others=[32.835])
def hs25(x1, x2, x3):
    def misfit(share):
        u = 25 + (-50 * math.log(share)) ** (2 / 3)
        return exp(-exp(x3 * log(u - x2)) / x1) - share

    return sum(misfit(0.01 * i) ** 2 for i in range(1, 100)), [], []


@case(26, start=(-2.6, 2, 2), best=0.0)
def hs26(x1, x2, x3):
    return (x1 - x2) ** 2 + (x2 - x3) ** 4, [], [(1 + x2**2) * x1 + x3**4 - 3]


@case(27, start=(2, 2, 2), best=0.04)
def hs27(x1, x2, x3):
    return 0.01 * (x1 - 1) ** 2 + (x2 - x1**2) ** 2, [], [x1 + x3**2 + 1]


@case(28, start=(-4, 1, 1), best=0.0)
def hs28(x1, x2, x3):
    return (x1 + x2) ** 2 + (x2 + x3) ** 2, [], [x1 + 2 * x2 + 3 * x3 - 1]


@case(29, start=(1, 1, 1), best=-16 * math.sqrt(2))
def hs29(x1, x2, x3):
    return -x1 * x2 * x3, [48 - x1**2 - 2 * x2**2 - 4 * x3**2], []


@case(30, start=(1, 1, 1), best=1.0, lower=(1, -10, -10), upper=(10, 10, 10))
def hs30(x1, x2, x3):
    return x1**2 + x2**2 + x3**2, [x1**2 + x2**2 - 1], []


@case(31, start=(1, 1, 1), best=6.0, lower=(-10, 1, -10), upper=(10, 10, 1))
def hs31(x1, x2, x3):
    return 9 * x1**2 + x2**2 + 9 * x3**2, [x1 * x2 - 1], []


@case(32, start=(0.1, 0.7, 0.2), best=1.0, lower=(0, 0, 0))
def hs32(x1, x2, x3):
    objective = (x1 + 3 * x2 + x3) ** 2 + 4 * (x1 - x2) ** 2
    return objective, [6 * x2 + 4 * x3 - x1**3 - 3], [1 - x1 - x2 - x3]


@case(
    33, start=(0, 0, 3), best=math.sqrt(2) - 6, lower=(0, 0, 0), upper=(inf, inf, 5), others=[-4.0]
)
def hs33(x1, x2, x3):
    objective = (x1 - 1) * (x1 - 2) * (x1 - 3) + x3
    return objective, [x3**2 - x2**2 - x1**2, x1**2 + x2**2 + x3**2 - 4], []


@case(34, start=(0, 1.05, 2.9), best=-math.log(math.log(10)), lower=(0, 0, 0), upper=(100, 100, 10))
def hs34(x1, x2, x3):
    return -x1, [x2 - exp(x1), x3 - exp(x2)], []


@case(35, start=(0.5, 0.5, 0.5), best=1 / 9, lower=(0, 0, 0))
def hs35(x1, x2, x3):
    linear = 9 - 8 * x1 - 6 * x2 - 4 * x3
    square = 2 * x1**2 + 2 * x2**2 + x3**2 + 2 * x1 * x2 + 2 * x1 * x3
    return linear + square, [3 - x1 - x2 - 2 * x3], []


@case(36, start=(10, 10, 10), best=-3300.0, lower=(0, 0, 0), upper=(20, 11, 42))
def hs36(x1, x2, x3):
    return -x1 * x2 * x3, [72 - x1 - 2 * x2 - 2 * x3], []


@case(37, start=(10, 10, 10), best=-3456.0, lower=(0, 0, 0), upper=(42, 42, 42))
def hs37(x1, x2, x3):
    length = x1 + 2 * x2 + 2 * x3
    return -x1 * x2 * x3, [72 - length, length], []


@case(38, start=(-3, -1, -3, -1), best=0.0, lower=-10, upper=10)
def hs38(x1, x2, x3, x4):
    valleys = 100 * (x2 - x1**2) ** 2 + (1 - x1) ** 2 + 90 * (x4 - x3**2) ** 2 + (1 - x3) ** 2
    bowl = 10.1 * ((x2 - 1) ** 2 + (x4 - 1) ** 2) + 19.8 * (x2 - 1) * (x4 - 1)
    return valleys + bowl, [], []


@case(39, start=(2, 2, 2, 2), best=-1.0)
def hs39(x1, x2, x3, x4):
    return -x1, [], [x2 - x1**3 - x3**2, x1**2 - x2 - x4**2]


@case(40, start=(0.8, 0.8, 0.8, 0.8), best=-0.25)
def hs40(x1, x2, x3, x4):
    return -x1 * x2 * x3 * x4, [], [x1**3 + x2**2 - 1, x1**2 * x4 - x3, x4**2 - x2]


@case(41, start=(2, 2, 2, 2), best=52 / 27, lower=0, upper=(1, 1, 1, 2), others=[2.0])
def hs41(x1, x2, x3, x4):
    return 2 - x1 * x2 * x3, [], [x1 + 2 * x2 + 2 * x3 - x4]
