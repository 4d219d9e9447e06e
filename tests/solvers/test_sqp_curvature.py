"""What `SQP` learns of the curvature: matrices by formula, and what it leaves alone."""

import math

import numpy as np
import pytest

from equipoise.solvers._sqp.curvature import (
    ELSEWHERE,
    LEAST_LEFT,
    LEAST_LENGTH,
    LEAST_SHARE,
    PROBES,
    faded,
    first_matrix,
    probed,
    rescaled,
    shrunk,
    updated,
)

B = np.array([[2.0, 0.5], [0.5, 1.0]])
S = np.array([1.0, -2.0])  # s'Bs = 4


def test_the_first_step_is_no_longer_than_the_point():
    for x, unit, length in (([3.0, 4.0], [1.0, 1.0], 5.0), ([0.3, 0.4], [1.0, 1.0], 1.0)):
        g = np.array([6.0, 8.0])
        np.testing.assert_allclose(
            first_matrix(np.array(x), g, np.array(unit)), np.diag([10.0 / length] * 2)
        )
    unit = np.array([2.0, 0.5])
    found = first_matrix(np.array([8.0, 0.0]), np.array([3.0, 16.0]), unit)
    np.testing.assert_allclose(found, np.diag(10.0 / 4.0 / unit**2))
    flat = first_matrix(np.array([8.0, 0.0]), np.array([0.3, 0.4]), unit)
    np.testing.assert_allclose(flat, np.diag(1.0 / unit**2))


def test_probes_measure_the_rows_of_the_hessian():
    H = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 2.0], [0.0, 2.0, 1e-9]])
    H[2, 1] = H[1, 2] = 1e-9
    unit = np.array([1.0, 2.0, 0.5])
    signs = [[-1.0 if math.cos(k * i**2) < 0 else 1.0 for i in (1, 2, 3)] for k in (1, 2)]
    assert len(signs) == PROBES
    assert signs[0] != signs[1]
    found = np.array([unit * (H @ (unit * np.array(sign))) for sign in signs])
    size = np.sqrt((found**2).mean(axis=0))
    assert size[2] < LEAST_LENGTH * size.max()
    size[2] = LEAST_LENGTH * size.max()
    np.testing.assert_allclose(probed(lambda v: H @ v, unit), np.diag(size / unit**2), rtol=1e-12)
    for nothing in (0.0, math.inf):
        np.testing.assert_allclose(
            probed(lambda v, c=nothing: np.full(3, c), unit), np.diag(1 / unit**2)
        )


def naive(y):
    """Powell's update, from the statement: damped where the curvature seen is less than the goal."""
    Bs, model, seen = B @ S, S @ B @ S, S @ y
    goal = max(LEAST_SHARE * model, min(-seen, model))
    share = (model - goal) / (model - seen) if seen < goal else 1.0
    y = share * y + (1 - share) * Bs
    return B - np.outer(Bs, Bs) / model + np.outer(y, y) / (S @ y)


@pytest.mark.parametrize("seen", [10.0, 4.0, 2.0, 0.81, 0.8, 0.5, 0.0, -0.5, -1.5, -4.0, -30.0])
def test_the_update_is_powells(seen):
    y = np.array([0.7, 0.0])
    y[1] = (y[0] - seen) / 2  # so that s'y is what is seen
    assert S @ y == pytest.approx(seen, abs=1e-15)
    new = updated(B, S, y)
    np.testing.assert_allclose(new, naive(y), rtol=1e-12)
    goal = max(LEAST_SHARE * 4.0, min(-seen, 4.0), seen)
    assert S @ new @ S == pytest.approx(goal)
    assert np.linalg.eigvalsh(new)[0] > 0


def test_what_tells_nothing_leaves_the_matrix():
    for s, y in ((np.zeros(2), S), (S, np.full(2, np.nan)), (S, np.array([np.inf, 0.0]))):
        assert updated(B, s, y) is B
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        assert (
            updated(B, S, np.array([1e200, 0.5e200])) is B
        )  # across the step; its square is infinite
        assert (
            updated(B, np.array([0.0, 1.0]), np.array([1e200, 1.0])) is B
        )  # one entry is infinite
        huge = 1e300 * B
        assert updated(huge, 1e10 * S, S) is huge


@pytest.mark.parametrize(
    ("seen", "factor"),
    [(8.0, 1.0), (7.9, 0.9875), (4.0, 0.5), (2.0, 0.25), (1.0, LEAST_SHARE), (1e-9, LEAST_SHARE)],
)
def test_a_first_matrix_is_shrunk_to_half_of_what_is_seen(seen, factor):
    assert ELSEWHERE * 8.0 / 4.0 == 1.0
    np.testing.assert_allclose(shrunk(B, S, np.array([seen, 0.0])), factor * B, rtol=1e-12)


@pytest.mark.parametrize(("seen", "factor"), [(8.0, 1.0), (3.0, 0.75), (1.0, LEAST_LEFT)])
def test_a_matrix_fades_as_the_curvature_has(seen, factor):
    np.testing.assert_allclose(faded(B, S, np.array([seen, 0.0])), factor * B, rtol=1e-12)


@pytest.mark.parametrize("change", [shrunk, faded])
def test_no_curvature_changes_no_size(change):
    for seen in (0.0, -1.0, math.nan):
        assert change(B, S, np.array([seen, 0.0])) is B
    assert change(0.0 * B, S, S) is not B
    nothing = 0.0 * B
    assert change(nothing, S, S) is nothing
    endless = np.full((2, 2), math.inf)
    with np.errstate(invalid="ignore"):
        assert change(endless, np.ones(2), np.ones(2)) is endless


def test_the_size_of_a_first_matrix_by_one_step():
    D, y = np.diag([2.0, 4.0]), np.array([3.0, -2.0])
    np.testing.assert_allclose(rescaled(D, S, y), D * (9 / 2 + 4 / 4) / 7)
    for seen in (0.0, -3.0):
        assert rescaled(D, S, np.array([seen, 0.0])) is D
    with np.errstate(over="ignore", divide="ignore"):
        assert rescaled(D, S, np.array([1e200, 0.0])) is D


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize("change", [updated, shrunk, faded])
def test_what_is_learnt_does_not_depend_on_the_size_of_the_step(change, size):
    y = np.array([2.0, 0.5])
    np.testing.assert_allclose(change(B, size * S, size * y), change(B, S, y), rtol=1e-12)
    assert not np.allclose(change(B, S, y), B)
    tiny = size**2 * B
    np.testing.assert_allclose(change(tiny, S, size**2 * y), size**2 * change(B, S, y), rtol=1e-12)
