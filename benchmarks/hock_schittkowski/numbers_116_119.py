"""Problems 116 to 119."""

from __future__ import annotations

from benchmarks.hock_schittkowski.case import case
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
    116,
    start=(0.5, 0.8, 0.9, 0.1, 0.14, 0.5, 489, 80, 650, 450, 150, 150, 150),
    best=97.5875096,  # below the book's 97.588409
    others=[97.59103],
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
