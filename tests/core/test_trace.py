"""The course of a run as a drawing."""

import numpy as np
import pytest

from equipoise import FunctionProblem, sets, solve
from equipoise.solvers import SwitchingSubgradient


def test_the_trace_draws_its_columns():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    problem = FunctionProblem(lambda x: (x @ x, 2 * x), domain=sets.Box(1, 2, dim=2))
    trace = solve(problem, SwitchingSubgradient(), max_steps=50).trace
    axes = trace.plot()
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), trace.objective)
    (other,) = [a for a in axes.figure.axes if a is not axes]
    names = {drawn.get_label() for drawn in other.get_lines()}
    assert names == {"violation", "stationarity", "complementarity"}
    assert trace.plot(axes) is axes
