"""Where the parts of the min-max methods stop, shorten a step or count rounding: from both sides."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from equipoise import FunctionProblem, sets
from equipoise.problems._merit import Maximum, MeritProblem
from equipoise.solvers import MinMaxProxLinear
from equipoise.solvers._minmax import prox_linear
from equipoise.solvers._minmax.linearised_maximum import (
    DIFFERENCE_STEP,
    MAX_NEWTON_STEPS,
    RELATIVE_GAP,
    LinearisedMaximum,
)

TWO = np.array([[1.0], [-1.0]])


class Asked(Exception):
    """A Newton step was asked for."""


def model(values, weights, J=TWO, domain=None, v=None):
    J = np.array(J)
    v = np.zeros(J.shape[1]) if v is None else np.array(v)
    domain = domain or sets.WholeSpace()
    return LinearisedMaximum(domain, v, np.array(values), lambda i: J[i], np.array(weights))


def asks_for_a_step(known, L):
    """Whether the weights that a model starts from are not good enough for it."""

    def ask(*_):
        raise Asked

    known._newton = ask
    try:
        known.solve(L)
    except Asked:
        return True
    return False


@pytest.mark.parametrize("L", [0.25, 4.0])
@pytest.mark.parametrize(("share", "asks"), [(0.99, False), (1.01, True)])
def test_a_dual_is_solved_at_a_share_of_the_regularisation(L, share, asks):
    """With the weights 3/4 and 1/4 the point is ``-1/(2 L)``, and the gap a quarter of the difference."""
    gap = share * RELATIVE_GAP * 0.125 / L
    assert asks_for_a_step(model([1 / L + 4 * gap, 0.0], [0.75, 0.25]), L) is asks


@pytest.mark.parametrize(("difference", "asks"), [(1.75, False), (2.25, True)])
def test_a_dual_is_solved_where_the_gap_is_a_rounding_error(difference, asks):
    """At equal weights the point stays, and the gap is half the difference: of 1e15, 1 is one of 1e-15."""
    assert asks_for_a_step(model([1e15, 1e15 - difference], [0.5, 0.5]), 1.0) is asks
    lower = model([1e15, 1e15 - difference, 0.0], [0.5, 0.5, 1e-40], J=[[1.0], [-1.0], [0.0]])
    assert asks_for_a_step(lower, 1.0) is asks  # whatever a third function is there


@pytest.mark.parametrize(("best", "reached"), [(0.25, 0.25), (0.125, 0.125), (0.05, 0.0625)])
def test_steps_of_the_dual_are_halved_until_it_rises(best, reached):
    """The dual of ``max(a + y, -y) + y^2 / 2`` is a parabola with its top where the first weight is `best`.

    From 0, a step to 1 is too long, and so is one to twice the top, which leads to the same height.
    """
    known = model([2 * (2 * best - 1), 0.0], [0.0, 1.0])
    known.add(0)
    assert (known.members, known.w.tolist()) == ([1, 0], [1.0, 0.0])
    taken = []

    def once(*_):
        taken.append(known.w.copy())
        return np.array([0.0, 1.0]) if len(taken) == 1 else taken[0]

    known._newton = once
    duals = [known._dual(np.array([1 - w, w]), 1.0)[2] for w in (0.0, reached, 2 * reached)]
    assert duals[1] > duals[0] >= duals[2] - 1e-12
    known.solve(1.0)
    np.testing.assert_allclose(taken[1] if len(taken) > 1 else known.w, [1 - reached, reached])


def test_a_whole_step_without_a_gain_is_not_the_end():
    """It may gain less than rounding shows: another follows, up to the most there may be."""
    known = model([1.0, 0.0], [0.5, 0.5])
    taken = []
    known._newton = lambda *_: taken.append(1) or known.w.copy()
    known.solve(0.25)
    assert len(taken) == MAX_NEWTON_STEPS


@dataclass
class Seen:
    """The whole line, which notes what is projected."""

    points: list = field(default_factory=list)

    def project(self, x):
        self.points.append(x)
        return x


@pytest.mark.parametrize(("v", "size"), [(0.25, 1.0), (-300.0, 300.0)])
def test_projections_are_differenced_along_short_ways(v, size):
    domain = Seen()
    known = model([0.5, 0.0], [0.5, 0.5], J=[[3.0], [-4.0]], domain=domain, v=[v])
    y, q, _ = known._dual(known.w, 1e12)
    domain.points.clear()
    known._newton(q, y, 1e12)
    moved = np.ravel(domain.points) - v
    np.testing.assert_allclose(moved, DIFFERENCE_STEP * size * np.array([1.0, -1.0]), rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("share", "doubled"), [(0.8, False), (1.3, True)])
def test_a_model_below_by_rounding_errors_is_above(scale, share, doubled, monkeypatch):
    """A hundredth of a millionth of a millionth of the value, or of 1."""
    value = FunctionProblem(
        lambda x: (scale + 0 * x[0], np.zeros(1)), domain=sets.Box(-2, 2, dim=1)
    )
    short = share * 1e-14 * max(1.0, scale)

    class Below(LinearisedMaximum):
        tried = 0

        def solve(self, L):
            Below.tried += 1
            return self.v, scale - (short if Below.tried == 1 else 0.0)

    monkeypatch.setattr(prox_linear, "LinearisedMaximum", Below)
    method, problem = MinMaxProxLinear(), MeritProblem(value, Maximum(0.0))
    method.step(problem, method.init(problem, np.zeros(1)), 0, None)
    assert Below.tried == (2 if doubled else 1)


def test_a_step_cut_short_that_gains_nothing_is_the_end():
    """At equal weights the dual is ``1e15 - 2``; a whole step lowers it by 2, and half of it by nothing."""
    known = model([1e15, 1e15 - 4.0], [0.5, 0.5])
    taken = []
    known._newton = lambda *_: taken.append(1) or np.array([1.0, 0.0])
    duals = [known._dual(np.array([1 - w, w]), 0.125)[2] - 1e15 for w in (0.5, 0.25, 0.0)]
    assert duals == [-2.0, -2.0, -4.0]
    known.solve(0.125)
    assert len(taken) == 1
    assert known.w.tolist() == [0.5, 0.5]
