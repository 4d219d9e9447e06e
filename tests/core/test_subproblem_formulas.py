"""Kinks and smooth subproblems of the examiner, step by step."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import sets
from equipoise._problem import Kinks
from equipoise.certificate import _kinks as kinks_module
from equipoise.certificate import _smooth as smooth
from equipoise.certificate import near_kinks
from equipoise.certificate._kinks import NearKKT, _with_shares, bounded_least_squares

from .affine import affine

# ------------------------------------------------------------------ kinks


def test_shares_of_jumps_replace_those_that_were_used():
    problem = affine([[1.0, 2.0]], [0.5], slope=[3.0, -1.0])
    point = problem.at(np.array([1.0, 1.0]))
    kinks = Kinks(
        point.x,
        np.array([[0.5, 0.25], [0.0, 2.0]]),
        np.array([[2.0, 3.0], [5.0, 0.5]]),
        np.array([0.25, 1.0]),
    )
    shares = np.array([0.75, 0.5])
    found = _with_shares(point, kinks, shares)
    more = np.array([0.5, -0.5])
    w = np.array([1.0, 4.0])
    expected = point.vjp(w) + (more * (kinks.masses @ w)) @ kinks.jumps
    np.testing.assert_allclose(found.vjp(w), expected)
    rows = point.gradients([0, 1]) + np.array(
        [(more * kinks.masses[:, i]) @ kinks.jumps for i in (0, 1)]
    )
    np.testing.assert_allclose(found.gradients(np.array([0, 1])), rows)


@pytest.mark.parametrize(("distance", "residual", "larger"), [(0.3, 0.2, 0.3), (0.1, 0.2, 0.2)])
def test_a_point_on_kinks_is_as_good_as_it_is_near(distance, residual, larger):
    certificate = SimpleNamespace(residual=residual)
    assert NearKKT(certificate, distance).residual == larger


def test_widths_are_tried_in_turn(monkeypatch):
    tried, tol = [], 1e-2
    problem = affine([[1.0]], [-1.0])
    moves = iter([None, 1.01 * tol, tol, 0.5 * tol, 0.25 * tol])

    def kinks(x, width):
        tried.append(width)
        move = next(moves)
        return None if move is None else SimpleNamespace(x=x + move)

    residuals = {tol: 1.5 * tol, 0.5 * tol: tol, 0.25 * tol: 0.0}

    def certified(_, found):
        near = min(residuals, key=lambda key: abs(key - float(found.x[0])))
        return SimpleNamespace(residual=residuals[near], x=found.x)

    monkeypatch.setattr(problem, "kinks", kinks, raising=False)
    monkeypatch.setattr(kinks_module, "_certified", certified)
    near = near_kinks(problem, np.zeros(1), tol)
    assert near.distance == pytest.approx(0.5 * tol)
    assert tried == pytest.approx([tol * width for width in kinks_module.KINK_WIDTHS[:4]])


@pytest.mark.parametrize("seed", range(5))
def test_bounded_least_squares(seed):
    from scipy.optimize import lsq_linear

    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(5, 4)) * np.array([1.0, 10.0, 0.1, 3.0]), 3 * rng.normal(size=5)
    high = np.array([0.2, 0.05, np.inf, 0.3])
    expected = lsq_linear(A, b, (0.0, high), method="bvls", tol=1e-15).x
    np.testing.assert_allclose(bounded_least_squares(A, b, high), expected, rtol=1e-7, atol=1e-9)


# ------------------------------------------------------------------ smooth subproblems


def test_accelerated_steps_double_their_curvature_and_restart_uphill():
    """Against the box of the docstring, step by step, on ``8 x^2 + y^2``."""
    H = np.array([16.0, 2.0])
    seen = []

    def function(z):
        seen.append(z)
        return float(0.5 * H @ z**2), H * z

    start = np.array([1.0, 1.0])
    found = smooth.accelerated(function, sets.WholeSpace(), start, 1e-8)
    np.testing.assert_allclose(found, [0.0, 0.0], atol=1e-8)
    x = z = start
    momentum, L, expected = 1.0, 1.0, [z]
    for _ in range(len(seen)):
        value, g = float(0.5 * H @ z**2), H * z
        while True:
            new = z - g / L
            step = new - z
            expected.append(new)
            bound = value + g @ step + 0.5 * L * step @ step + 1e-14 * max(1.0, abs(value))
            if 0.5 * H @ new**2 <= bound:
                break
            L *= 2.0
        if L * np.linalg.norm(step) <= 1e-8:
            break
        if (z - new) @ (new - x) > 0:
            momentum, z = 1.0, new
        else:
            ahead = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            z, momentum = new + (momentum - 1) / ahead * (new - x), ahead
            expected.append(z)
        x, L = new, L * smooth.CURVATURE_DECAY
    assert len(seen) == len(expected)
    np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)


def test_steps_that_move_nothing_end_the_search():
    calls = []

    def stuck(z):
        calls.append(z)
        return 0.0, np.ones(1)

    found = smooth.accelerated(stuck, sets.Box(0, 0, dim=1), np.zeros(1), 0.0)
    assert found[0] == 0.0
    assert len(calls) <= 3
    assert smooth.PATIENCE == 5


def test_functions_that_bend_beyond_all_bounds_end_the_search():
    calls = []

    def jumping(z):
        calls.append(float(z[0]))
        return (0.0 if z[0] == 0.0 else 1.0), np.ones(1)

    assert smooth.accelerated(jumping, sets.WholeSpace(), np.zeros(1), 1e-9)[0] == 0.0
    assert len(calls) <= 2 + math.log2(smooth.MAX_CURVATURE)


@pytest.mark.parametrize(("rise", "to"), [(0.5e-14, -1e-9), (1.5e-14, 0.0)])
def test_a_rise_within_rounding_of_1_counts_as_none(rise, to):
    def function(z):
        return (0.0 if z[0] == 0.0 else rise), np.array([1e-9])

    assert smooth.accelerated(function, sets.WholeSpace(), np.zeros(1), 1e-8)[0] == to
