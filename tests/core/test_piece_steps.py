"""Steps on pieces, and the rounds in which planes are looked for: when they end, and where they look."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise.certificate import _plane_search as planes
from equipoise.certificate._pieces import HALVINGS, least_by_pieces


def steps(ahead, pieces=50, nothing=1e-9):
    """From 0 down ``|w - 1|``, with what is taken for a minimiser; where it ends, and after how many."""
    asked = []

    def on_piece(w):
        asked.append(float(w[0]))
        return np.array([ahead(w[0])])

    end = least_by_pieces(lambda w: abs(w[0] - 1.0), on_piece, np.zeros(1), pieces, nothing)
    return float(end[0]), len(asked)


def test_a_step_goes_as_far_as_the_loss_falls():
    assert steps(lambda w: 1.0) == (1.0, 2)
    assert steps(lambda w: 3.2 if w == 0 else w) == (1.6, 2)
    assert steps(lambda w: 2.0 if w == 0 else w) == (1.0, 2)  # at 2 the loss is what it was
    most = 2.0 ** (HALVINGS - 1)
    assert steps(lambda w: 1.5 * most if w == 0 else w) == (1.5, 2)
    assert steps(lambda w: 3.0 * most if w == 0 else w) == (0.0, 1)


def test_steps_end_where_little_is_gained_and_after_so_many():
    assert steps(lambda w: (w + 1) / 2, pieces=20) == (1 - 0.5**20, 20)
    assert steps(lambda w: w + 0.999e-3, nothing=1e-3)[1] == 1
    assert steps(lambda w: w + 1.001e-3, pieces=30, nothing=1e-3)[1] == 30
    assert steps(lambda w: w - 1.0) == (0.0, 1)


@pytest.fixture
def rounds(monkeypatch):
    """Let the planes of round k prove the k-th residual; return the rounds, the answer, and where."""

    def run(residuals, tol=1e-3, downhill=(3.0, 4.0), most=60, x=(0.0, 0.0), domain=None):
        looked = []

        class Scripted:
            indices = np.zeros(1, dtype=int)

            def __init__(self, *_):
                pass

            def without_idle(self, w):
                return w

            def largest(self, y):
                return np.array([0])

            def add(self, y, functions, known=True):
                assert not known
                looked.append(y)

            def fit(self, w):
                return w

            def weighted(self, w):
                k = len(looked) - 1
                return SimpleNamespace(residual=residuals[min(k, len(residuals) - 1)], round=k)

            def downhill(self, w):
                return np.array(downhill)

        monkeypatch.setattr(planes, "PlanesBelow", Scripted)
        problem = FunctionProblem(
            lambda z: (0.0, 0 * z), dim=2, facts=Facts(convex=True), domain=domain
        )
        near = planes.near_planes(problem, np.array(x), tol, most)
        return len(looked), None if near is None else near.round, np.array(looked)

    return run


def test_rounds_end_at_the_tolerance_or_after_many_without_a_gain(rounds):
    patience = planes.PATIENCE
    assert rounds([1.0, 0.5, 1e-3])[:2] == (3, 2)
    assert rounds([1.0, 0.5, 1.001e-3], most=3)[:2] == (3, None)
    assert rounds([1.0])[:2] == (patience + 2, None)
    assert rounds([1.0, 0.9])[:2] == (patience + 3, None)
    assert rounds([1.0, 0.91])[:2] == (patience + 2, None)
    assert rounds([1.0, 5.0, 0.95])[:2] == (patience + 2, None)
    assert rounds([0.5] * 10 + [0.4])[:2] == (patience + 12, None)
    falling = [0.89**k for k in range(61)]
    assert rounds(falling, tol=1e-9)[:2] == (60, None)
    steady = [0.95**k for k in range(61)]  # no round is much of a gain, but a few together are
    assert rounds(steady, tol=1e-9)[:2] == (60, None)
    slow = [0.995**k for k in range(61)]
    assert rounds(slow, tol=1e-9)[:2] == (patience + 2, None)
    assert rounds([math.inf])[:2] == (60, None)


def test_planes_are_looked_for_downhill_at_distances_in_turn(rounds):
    *_, looked = rounds([1.0], x=(1.0, 2.0))
    lengths = np.array([planes.DISTANCES[k % 4] for k in range(len(looked) - 1)])
    expected = np.array([1.0, 2.0]) + 1e-3 * lengths[:, None] * np.array([0.6, 0.8])
    np.testing.assert_allclose(looked, np.vstack(([1.0, 2.0], expected)), rtol=1e-12)
    *_, looked = rounds([1.0], domain=sets.Box(0, 1, dim=2), downhill=(-3.0, 4.0))
    assert (looked[1:, 0] == 0.0).all()
    np.testing.assert_allclose(looked[1:, 1], 1e-3 * lengths, rtol=1e-12)
    *_, looked = rounds([1.0], downhill=(0.0, 0.0))
    assert not looked.any()
    assert rounds([1.0], downhill=(math.inf, 0.0))[:2] == (1, None)
