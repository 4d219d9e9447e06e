"""The rounds of the cutting planes: when they end, and which of them counts."""

import math

import numpy as np
import pytest

from equipoise._errors import NonFiniteError
from equipoise.certificate import _cutting_planes as planes
from equipoise.problems import ProximalProblem

from .affine import affine

CENTER = 5.0


@pytest.fixture
def ended(monkeypatch):
    """Let round k end at ``CENTER + k`` with the k-th error bound; return what comes of it."""

    def run(errors, tol=0.0, multipliers=(), **options):
        tried = []

        class Scripted:
            def __init__(self, *_):
                pass

            def cut(self, y):
                tried.append(float(y[0]))

            def solve(self):
                k = len(tried)
                lam = multipliers[k - 1] if k <= len(multipliers) else 0.0
                return np.array([CENTER + k]), np.array([lam]), 7.0

            def error(self, y, lam, lower):
                assert (y[0], lower) == (CENTER + len(tried), 7.0)
                error = errors[min(len(tried), len(errors)) - 1]
                if error is None:
                    raise NonFiniteError("It is not finite.")
                return error

        monkeypatch.setattr(planes, "_PlaneModel", Scripted)
        problem = ProximalProblem(affine([[1.0]], [0.0]), np.array([CENTER]), 2.0)
        y, lam, error = planes.minimise_with_kinks(problem, 1.0, tol, **options)
        assert tried == [CENTER + k for k in range(len(tried))]
        return len(tried), y[0] - CENTER, lam[0], error

    return run


def test_rounds_end_after_forty_that_gain_less_than_a_thousandth(ended):
    assert ended([1.0]) == (planes.PATIENCE + 2, 1.0, 0.0, 1.0)
    slow = [0.9995**k for k in range(300)]
    rounds, best, _, error = ended(slow)
    assert (rounds, best) == (planes.PATIENCE + 2, planes.PATIENCE + 2)
    assert error == slow[rounds - 1]
    assert ended([0.998**k for k in range(300)])[0] == planes.MAX_ROUNDS
    assert ended([1.0] * 20 + [0.5])[0] == 21 + planes.PATIENCE + 1
    assert ended([1.0], rounds=7)[0] == 7
    assert ended([math.inf])[0] == planes.PATIENCE + 1


def test_rounds_end_at_the_tolerance(ended):
    assert ended([1.0, 0.5, 0.25], tol=0.5) == (2, 2.0, 0.0, 0.5)
    assert ended([1.0, 0.5, 0.25], tol=0.4) == (3, 3.0, 0.0, 0.25)
    assert ended([1.0, 0.5, 0.75, 0.25], tol=0.4)[0] == 4


def test_rounds_end_where_multipliers_are_infinite(ended):
    most = planes.MAX_MULTIPLIER_SUM
    assert ended([1.0, 0.9, 0.8, 0.7], multipliers=[0.0, most, 2 * most])[0] == 3
    assert ended([1.0, 2.0, 0.8], multipliers=[3.0, 4.0], tol=0.9) == (3, 3.0, 0.0, 0.8)
    assert ended([1.0, 2.0], multipliers=[3.0, 4.0], rounds=2) == (2, 1.0, 3.0, 1.0)


@pytest.mark.parametrize(("goal", "rounds"), [(3.0, 1), (2.0, 1), (0.0, 1), (1.5, 2), (0.5, 2)])
def test_rounds_end_where_the_side_of_the_goal_is_known(goal, rounds, ended):
    """The first point is 1 away, and so is its error bound; then comes a bound of 0.1."""
    assert ended([1.0, 0.1], rounds=2, goal=lambda lam: goal)[0] == rounds


def test_the_goal_is_that_of_the_best_multipliers(ended):
    asked = []
    ended(
        [1.0, 2.0], multipliers=[3.0, 4.0], rounds=2, goal=lambda lam: asked.append(lam[0]) or 1.0
    )
    assert asked == [3.0, 3.0]


def test_what_is_not_finite_ends_the_rounds_with_the_best(ended):
    assert ended([1.0, 0.5, None]) == (3, 2.0, 0.0, 0.5)
    rounds, _, _, error = ended([None])
    assert (rounds, error) == (1, math.inf)


def test_without_a_plane_the_centre_is_the_answer(monkeypatch):
    def refuses(*_):
        raise NonFiniteError("It is not finite.")

    monkeypatch.setattr(planes._PlaneModel, "cut", refuses)
    problem = ProximalProblem(affine([[1.0]], [0.0]), np.array([CENTER]), 2.0)
    y, lam, error = planes.minimise_with_kinks(problem, 1.0, 0.0)
    assert (y[0], lam.tolist(), error) == (CENTER, [0.0], math.inf)


def model_of_three():
    """Two planes of the objective and one of the constraint, in the plane."""
    problem = ProximalProblem(
        affine([[1.0, 2.0]], [0.3], slope=[2.0, -1.0]), np.array([0.5, 0.25]), 3.0
    )
    model = planes._PlaneModel(problem, 1.0)
    model.owner = np.array([0, 0, 1])
    model.offsets = np.array([0.7, -0.2, 0.4])
    model.slopes = np.array([[1.0, 0.5], [-2.0, 1.0], [0.3, -0.8]])
    return model


def test_the_dual_of_the_planes_is_the_least_of_their_sum():
    model = model_of_three()
    w = np.array([0.3, 0.7, 0.9])
    negative, gradient, y = model._dual(w)
    modulus = 2.0 * (1 + 0.9)
    slope = w @ model.slopes
    np.testing.assert_allclose(y, model.center - slope / modulus)
    shift = y - model.center
    assert -negative == pytest.approx(
        w @ model.offsets + slope @ shift + modulus / 2 * shift @ shift
    )
    for j in range(3):
        h = 1e-6 * np.eye(3)[j]
        change = (model._dual(w + h)[0] - model._dual(w - h)[0]) / 2e-6
        assert gradient[j] == pytest.approx(change, rel=1e-6)


def test_weights_are_kept_where_a_search_for_better_ones_fails(monkeypatch):
    model = model_of_three()
    model.weights = np.array([1.0, 0.0, 0.5])
    known = -model._dual(model.weights)[0]

    class Answer:
        x = np.array([9.0, 0.0, -1.0])

    monkeypatch.setattr(planes, "minimize", lambda *_, **__: Answer)
    _, lam, lower = model.solve()
    assert lower == known
    assert lam.tolist() == [0.5]
    Answer.x = np.array([3.0, 1.0, 0.7])
    better = np.array([0.75, 0.25, 0.7])
    assert -model._dual(better)[0] > known
    y, lam, lower = model.solve()
    assert (lam.tolist(), lower) == ([0.7], -model._dual(better)[0])
    np.testing.assert_allclose(model.weights, better)
    np.testing.assert_allclose(y, model._dual(better)[2])
