"""Weights that the examiner fits where the domain has faces, against a general solver on its normals."""

import itertools
import math
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

from equipoise import sets
from equipoise.certificate import _infeasibility, _planes
from equipoise.certificate._infeasibility import _least
from equipoise.certificate._multipliers import _Fit
from equipoise.certificate._planes import PlanesBelow

from .affine import affine

D = 4
SIGNS = np.array([(1.0, *signs) for signs in itertools.product([-1.0, 1.0], repeat=D - 1)])

# A point of each set, and what generates the normal cone there.
CORNERS = {
    "space": (sets.WholeSpace(), np.zeros(D), np.zeros((0, D))),
    "box": (sets.Box(0, 1, dim=D), np.array([0.0, 1.0, 0.0, 0.5]), np.diag([-1.0, 1, -1, 1])[:3]),
    "vertex": (sets.L1Ball(2.0), np.array([2.0, 0.0, 0.0, 0.0]), SIGNS),
    "simplex": (
        sets.Simplex(),
        np.array([0.5, 0.5, 0.0, 0.0]),
        np.vstack((np.ones(D), -np.ones(D), -np.eye(D)[2:])),
    ),
}
corners = pytest.mark.parametrize("corner", CORNERS)
scales = pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])


def least(rows, prices, cone, fixed):
    """The least ``|(w @ rows - n @ cone, w * prices)|`` over ``w, n >= 0`` with ``fixed @ w = 1``."""
    w, n = cp.Variable(len(rows), nonneg=True), cp.Variable(len(cone), nonneg=True)
    rest = w @ rows - (n @ cone if len(cone) else 0.0)
    loss = cp.sum_squares(rest) + cp.sum_squares(w @ prices)
    problem = cp.Problem(cp.Minimize(loss), [fixed @ w == 1.0])
    precise = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-12)
    problem.solve(solver=cp.CLARABEL, **precise)
    return math.sqrt(problem.value)


@corners
@scales
@pytest.mark.parametrize("seed", range(3))
def test_multipliers(corner, scale, seed):
    domain, x, cone = CORNERS[corner]
    rng = np.random.default_rng(seed)
    rows, values = rng.normal(size=(5, D)), -0.1 * rng.random(5)
    slope = rng.normal(size=D)
    problem = affine(scale * rows, scale * (values - rows @ x), scale * slope, domain)
    fit = _Fit(problem, problem.at(x))
    fit.add(np.arange(1, 6))
    lam = fit.solve()
    # the first row is the objective's, whose weight is 1
    all_rows = -np.vstack((slope, rows))
    prices = np.vstack((np.zeros(5), np.diag(values)))
    best = least(all_rows, prices, cone, np.eye(6)[0])
    assert (lam >= 0).all()
    assert fit.loss(lam) <= scale * (best + 1e-8)


@corners
@scales
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_planes(corner, scale, seed):
    domain, x, cone = CORNERS[corner]
    rng = np.random.default_rng(seed)
    planes = PlanesBelow(affine(np.zeros((1, D)), [-1.0], domain=domain), x)
    planes.indices = np.array([0, 0, 0, 0, 1, 1, 1])
    slopes, prices = rng.normal(size=(7, D)), 0.3 * rng.random(7)
    planes.slopes, planes.below, planes.errors = scale * slopes, scale * prices, np.zeros(7)
    planes.values = np.zeros(2)
    w = planes.fit(np.zeros(7))
    assert (w >= 0).all()
    assert w[:4].sum() == pytest.approx(1.0)
    best = least(-slopes, prices[:, None], cone, (planes.indices == 0).astype(float))
    assert planes.loss(w) <= scale * (best + 1e-7)


@corners
@pytest.mark.parametrize("scale", [1e-9, 1e-5, 1.0, 1e5, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_violated_constraints(corner, scale, seed):
    domain, x, cone = CORNERS[corner]
    rng = np.random.default_rng(seed)
    rows, f = rng.normal(size=(5, D)), np.array([1.0, 0.9, 0.5, 0.1, -0.3])
    alpha, found = _least(SimpleNamespace(domain=domain), x, scale * rows, f)
    best = least(-rows, np.zeros((5, 1)), cone, f)
    assert (alpha >= 0).all()
    assert alpha @ f == pytest.approx(1.0)
    tangent = domain.tangent(x, -scale * alpha @ rows)
    assert found == pytest.approx(np.linalg.norm(tangent), abs=1e-9 * scale)
    assert found <= scale * (best + 1e-6)


def test_without_slopes_the_cheapest_plane_is_taken():
    planes = PlanesBelow(affine([[0.0]], [-1.0], slope=[0.0]), np.zeros(1))
    planes.indices, planes.slopes = np.zeros(3, dtype=int), np.zeros((3, 1))
    planes.below, planes.errors = np.array([0.3, 0.1, 0.2]), np.zeros(3)
    planes.values = np.zeros(2)
    w = planes.fit(np.zeros(3))
    assert planes.loss(w) == pytest.approx(0.1, rel=1e-6)
    alpha, found = _least(
        SimpleNamespace(domain=sets.WholeSpace()), np.zeros(1), np.zeros((2, 1)), np.ones(2)
    )
    assert (alpha @ np.ones(2), found) == (pytest.approx(1.0), 0.0)


def test_weights_without_any_of_the_objective_are_not_taken(monkeypatch):
    planes = PlanesBelow(affine([[1.0]], [-1.0]), np.zeros(1))
    planes.add(np.zeros(1), np.array([0, 1]))
    monkeypatch.setattr(_planes, "bounded_least_squares", lambda *_: np.array([0.0, 2.0]))
    w = np.array([1.0, 0.5])
    assert planes._fit_piece(w) is w


def test_rounding_errors_of_a_plane_are_those_of_what_it_is_computed_from():
    """A plane of slope (3, 4) and value -2 at (0, -6), seen from (0.6, 0.8), where its function is 38."""
    planes = PlanesBelow(affine([[3.0, 4.0]], [22.0]), np.array([0.6, 0.8]))
    planes.values = np.array([0.0, 38.0])
    planes.add(np.array([0.0, -6.0]), np.array([1]))
    assert planes.errors / planes.unit == pytest.approx([2.0 + 38.0 + 5.0 * (1.0 + 6.0)])
    assert planes.below == pytest.approx([38.0 + 2.0 - (3.0 * 0.6 + 4.0 * 6.8)])


def test_the_largest_constraints_are_looked_at(monkeypatch):
    monkeypatch.setattr(_planes, "MAX_CONSTRAINTS", 2)
    planes = PlanesBelow(affine(np.zeros((4, 1)), [-0.02, 0.3, -0.01, 0.2]), np.zeros(1))
    assert planes.largest(np.zeros(1)).tolist() == [0, 2, 4]


@pytest.mark.parametrize("count", [2, 8])
def test_weights_of_the_objective_may_be_off_1_by_rounding_of_their_sum(count):
    problem = affine([[0.0]], [-1.0], slope=[0.0])
    planes = PlanesBelow(problem, np.zeros(1))
    for _ in range(count):
        planes.add(np.zeros(1), np.array([0]))
    for share, fair in ((0.75, True), (1.5, False)):
        w = np.full(count, (1.0 + share * planes.unit * count) / count)
        assert np.isfinite(planes.weighted(w).residual) == fair
    w = np.append(1.0, np.zeros(count - 1))
    for share, fair in ((0.75, True), (1.5, False)):
        w[-1] = -share * planes.unit
        assert np.isfinite(planes.weighted(w).residual) == fair


def test_columns_that_cycle_leave_the_weights(monkeypatch):
    def cycles(*_):
        raise RuntimeError

    monkeypatch.setattr(_infeasibility, "nnls", cycles)
    alpha, found = _least(
        SimpleNamespace(domain=sets.WholeSpace()), np.zeros(1), np.ones((2, 1)), np.ones(2)
    )
    assert (alpha.tolist(), found) == ([1.0, 0.0], 1.0)
