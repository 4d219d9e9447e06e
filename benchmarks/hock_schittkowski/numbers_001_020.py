"""Problems 1 to 20."""

from __future__ import annotations

from math import inf, pi, sqrt

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import cos, log, sin


def rosenbrock(x1, x2):
    return 100 * (x2 - x1**2) ** 2 + (1 - x1) ** 2


@case(1, start=(-2, 1), best=0.0, lower=(-inf, -1.5))
def hs1(x1, x2):
    return rosenbrock(x1, x2), [], []


@case(2, start=(-2, 1), best=0.0504261879, lower=(-inf, 1.5), others=[4.9412295])
def hs2(x1, x2):
    return rosenbrock(x1, x2), [], []


@case(3, start=(10, 1), best=0.0, lower=(-inf, 0))
def hs3(x1, x2):
    return x2 + 1e-5 * (x2 - x1) ** 2, [], []


@case(4, start=(1.125, 0.125), best=8 / 3, lower=(1, 0))
def hs4(x1, x2):
    return (x1 + 1) ** 3 / 3 + x2, [], []


@case(5, start=(0, 0), best=-sqrt(3) / 2 - pi / 3, lower=(-1.5, -3), upper=(4, 3))
def hs5(x1, x2):
    return sin(x1 + x2) + (x1 - x2) ** 2 - 1.5 * x1 + 2.5 * x2 + 1, [], []


@case(6, start=(-1.2, 1), best=0.0)
def hs6(x1, x2):
    return (1 - x1) ** 2, [], [10 * (x2 - x1**2)]


@case(7, start=(2, 2), best=-sqrt(3))
def hs7(x1, x2):
    return log(1 + x1**2) - x2, [], [(1 + x1**2) ** 2 + x2**2 - 4]


@case(8, start=(2, 1), best=-1.0)
def hs8(x1, x2):
    return -1, [], [x1**2 + x2**2 - 25, x1 * x2 - 9]


@case(9, start=(0, 0), best=-0.5)
def hs9(x1, x2):
    return sin(pi * x1 / 12) * cos(pi * x2 / 16), [], [4 * x1 - 3 * x2]


@case(10, start=(-10, 10), best=-1.0)
def hs10(x1, x2):
    return x1 - x2, [-3 * x1**2 + 2 * x1 * x2 - x2**2 + 1], []


@case(11, start=(4.9, 0.1), best=-8.498464223)
def hs11(x1, x2):
    return (x1 - 5) ** 2 + x2**2 - 25, [x2 - x1**2], []


@case(12, start=(0, 0), best=-30.0)
def hs12(x1, x2):
    return 0.5 * x1**2 + x2**2 - x1 * x2 - 7 * x1 - 7 * x2, [25 - 4 * x1**2 - x2**2], []


@case(13, start=(-2, -2), best=1.0, lower=(0, 0), degenerate="the feasible set ends in a cusp")
def hs13(x1, x2):
    return (x1 - 2) ** 2 + x2**2, [(1 - x1) ** 3 - x2], []


@case(14, start=(2, 2), best=9 - 2.875 * sqrt(7))
def hs14(x1, x2):
    return (x1 - 2) ** 2 + (x2 - 1) ** 2, [1 - 0.25 * x1**2 - x2**2], [x1 - 2 * x2 + 1]


@case(15, start=(-2, 1), best=306.5, upper=(0.5, inf), others=[360.379767])
def hs15(x1, x2):
    return rosenbrock(x1, x2), [x1 * x2 - 1, x1 + x2**2], []


@case(16, start=(-2, 1), best=0.25, lower=(-0.5, -inf), upper=(0.5, 1), others=[23.1446609])
def hs16(x1, x2):
    return rosenbrock(x1, x2), [x1 + x2**2, x1**2 + x2], []


@case(17, start=(-2, 1), best=1.0, lower=(-0.5, -inf), upper=(0.5, 1))
def hs17(x1, x2):
    return rosenbrock(x1, x2), [x2**2 - x1, x1**2 - x2], []


@case(18, start=(2, 2), best=5.0, lower=(2, 0), upper=(50, 50))
def hs18(x1, x2):
    return 0.01 * x1**2 + x2**2, [x1 * x2 - 25, x1**2 + x2**2 - 25], []


@case(19, start=(20.1, 5.84), best=-6961.8138755, lower=(13, 0), upper=(100, 100))
def hs19(x1, x2):
    outside = (x1 - 5) ** 2 + (x2 - 5) ** 2 - 100
    inside = 82.81 - (x2 - 5) ** 2 - (x1 - 6) ** 2
    return (x1 - 10) ** 3 + (x2 - 20) ** 3, [outside, inside], []


@case(
    20, start=(-2, 1), best=81.5 - 25 * sqrt(3), lower=(-0.5, -inf), upper=(0.5, inf), others=[40.1987298]
)  # fmt: skip
def hs20(x1, x2):
    return rosenbrock(x1, x2), [x1 + x2**2, x1**2 + x2, x1**2 + x2**2 - 1], []
