"""Problems 83 to 99."""

from __future__ import annotations

from benchmarks.hock_schittkowski.case import case
from benchmarks.hock_schittkowski.expressions import cos, sin


def between(low, value, high):
    """What is to be at least 0 for ``low <= value <= high``."""
    return [value - low, high - value]


LOWER_83 = (78, 33, 27, 27, 27)


@case(83, start=LOWER_83, best=-30665.53867, lower=LOWER_83, upper=(102, 45, 45, 45, 45))
def hs83(x1, x2, x3, x4, x5):
    objective = 5.3578547 * x3**2 + 0.8356891 * x1 * x5 + 37.293239 * x1 - 40792.141
    first = 85.334407 + 0.0056858 * x2 * x5 + 0.0006262 * x1 * x4 - 0.0022053 * x3 * x5
    second = 80.51249 + 0.0071317 * x2 * x5 + 0.0029955 * x1 * x2 + 0.0021813 * x3**2
    third = 9.300961 + 0.0047026 * x3 * x5 + 0.0012547 * x1 * x3 + 0.0019085 * x3 * x4
    return objective, between(0, first, 92) + between(90, second, 110) + between(20, third, 25), []


@case(
    84,
    start=(2.52, 2, 37.5, 9.25, 6.8),
    best=-5280335.133,
    lower=(0, 1.2, 20, 9, 6.5),
    upper=(1000, 2.4, 60, 9.3, 7),
)
def hs84(x1, x2, x3, x4, x5):
    def bilinear(a, b, c, d, e):
        return x1 * (a + b * x2 + c * x3 + d * x4 + e * x5)

    gain = bilinear(-8720288.849, 150512.5253, -156.6950325, 476470.3222, 729482.8271)
    uses = [
        bilinear(-145421.402, 2931.1506, -40.427932, 5106.192, 15711.36),
        bilinear(-155011.1084, 4360.53352, 12.9492344, 10236.884, 13176.786),
        bilinear(-326669.5104, 7390.68412, -27.8986976, 16643.076, 30988.146),
    ]
    limits = (294000, 294000, 277200)
    at_least_zero = [end for use, limit in zip(uses, limits) for end in between(0, use, limit)]
    return 24345 - gain, at_least_zero, []


ROWS_86 = (
    (-16, 2, 0, 1, 0), (0, -2, 0, 4, 2), (-3.5, 0, 2, 0, 0), (0, -2, 0, -4, -1), (0, -9, -2, 1, -2.8),
    (2, 0, -4, 0, 0), (-1, -1, -1, -1, -1), (-1, -2, -3, -2, -1), (1, 2, 3, 4, 5), (1, 1, 1, 1, 1),
)  # fmt: skip
RIGHT_86 = (-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1)
SQUARE_86 = (
    (30, -20, -10, 32, -10), (-20, 39, -6, -31, 32), (-10, -6, 10, -6, -10), (32, -31, -6, 39, -20),
    (-10, 32, -10, -20, 30),
)  # fmt: skip
CUBIC_86, LINEAR_86 = (4, 8, 10, 6, 2), (-15, -27, -36, -18, -12)


def dot(numbers, x):
    return sum(number * value for number, value in zip(numbers, x) if number != 0)


@case(86, start=(0, 0, 0, 0, 1), best=-32.34867897, lower=0)
def hs86(*x):
    square = dot(x, [dot(row, x) for row in SQUARE_86])
    objective = dot(LINEAR_86, x) + square + dot(CUBIC_86, [value**3 for value in x])
    return objective, [dot(row, x) - b for row, b in zip(ROWS_86, RIGHT_86)], []


@case(93, start=(5.54, 4.4, 12.02, 11.82, 0.702, 0.852), best=135.0759628, lower=0)
def hs93(x1, x2, x3, x4, x5, x6):
    core, coil = x1 * x4 * (x1 + x2 + x3), x2 * x3 * (x1 + 1.57 * x2 + x4)
    objective = core * (0.0204 + 0.0607 * x5**2) + coil * (0.0187 + 0.0437 * x6**2)
    at_least_zero = [
        0.001 * x1 * x2 * x3 * x4 * x5 * x6 - 2.07,
        1 - 0.00062 * core * x5**2 - 0.00058 * coil * x6**2,
    ]
    return objective, at_least_zero, []


UPPER_95 = (0.31, 0.046, 0.068, 0.042, 0.028, 0.0134)


def reactor(x1, x2, x3, x4, x5, x6, needs):
    objective = 4.3 * x1 + 31.8 * x2 + 63.3 * x3 + 15.8 * x4 + 68.5 * x5 + 4.7 * x6
    made = [
        17.1 * x1 + 38.2 * x2 + 204.2 * x3 + 212.3 * x4 + 623.4 * x5 + 1495.5 * x6
        - 169 * x1 * x3 - 3580 * x3 * x5 - 3810 * x4 * x5 - 18500 * x4 * x6 - 24300 * x5 * x6,
        17.9 * x1 + 36.8 * x2 + 113.9 * x3 + 169.7 * x4 + 337.8 * x5 + 1385.2 * x6
        - 139 * x1 * x3 - 2450 * x4 * x5 - 16600 * x4 * x6 - 17200 * x5 * x6,
        -273 * x2 - 70 * x4 - 819 * x5 + 26000 * x4 * x5,
        159.9 * x1 - 311 * x2 + 587 * x4 + 391 * x5 + 2198 * x6 - 14000 * x1 * x6,
    ]  # fmt: skip
    return objective, [value - need for value, need in zip(made, needs)], []


@case(95, start=[0] * 6, best=0.015619525, lower=0, upper=UPPER_95)
def hs95(*x):
    return reactor(*x, needs=(4.97, -1.88, -29.08, -78.02))


@case(96, start=[0] * 6, best=0.015619525, lower=0, upper=UPPER_95)
def hs96(*x):
    return reactor(*x, needs=(4.97, -1.88, -69.08, -118.02))


@case(97, start=[0] * 6, best=3.1358091, lower=0, upper=UPPER_95, others=[4.0712464])
def hs97(*x):
    return reactor(*x, needs=(32.97, 25.12, -29.08, -78.02))


@case(98, start=[0] * 6, best=3.1358091, lower=0, upper=UPPER_95, others=[4.0712464])
def hs98(*x):
    return reactor(*x, needs=(32.97, 25.12, -124.08, -173.02))


@case(99, start=[0.5] * 7, best=-831079891.5, lower=0, upper=1.58)
def hs99(*x):
    thrusts, times = (50, 50, 75, 75, 75, 100, 100), (0, 25, 50, 100, 150, 200, 290, 380)
    distance = height = speed = 0
    for angle, thrust, begin, end in zip(x, thrusts, times, times[1:]):
        step, lift = end - begin, thrust * sin(angle) - 32
        distance = thrust * step * cos(angle) + distance
        height = 0.5 * step**2 * lift + step * speed + height
        speed = step * lift + speed
    return -(distance**2), [], [height - 1e5, speed - 1e3]
