"""Linear problems and stand-ins, with which every number of a step can be had by hand."""

import numpy as np

from equipoise import FunctionProblem


def line(slope, rows=(), offsets=(), domain=None, facts=None):
    """``<slope, x>`` under ``<row, x> + offset <= 0`` for every row."""
    slope = np.array(slope, float)
    functions = [
        lambda x, row=row, b=b: (float(row @ x + b), row)
        for row, b in zip(np.array(rows, float), offsets)
    ]
    return FunctionProblem(
        lambda x: (float(slope @ x), slope), functions, domain=domain, dim=slope.size, facts=facts
    )


class Inner:
    """Stands for an inner method that has ended at a point."""

    n = 0.125

    def __init__(self, x):
        self.x = np.array(x, float)

    def output(self, _):
        return self.x, np.zeros(0)


class Fixed:
    """Random numbers that are known."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number
