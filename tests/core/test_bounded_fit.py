"""Bounded least squares of the examiner, on problems made from their solutions; what is fitted by them."""

import daqp
import numpy as np
import pytest

from equipoise import sets
from equipoise._problem import Kinks
from equipoise.certificate import _bounded, near_kinks
from equipoise.certificate import _kinks as module
from equipoise.certificate._bounded import RIDGES, bounded_least_squares

from .affine import affine


def made(rng, condition):
    """Matrix, target and bounds with their only solution: some weights are 0, some at a bound, some free.

    The residual's products with the columns are positive where weights are 0, negative at the bounds, and 0
    between: the optimality conditions.
    """
    n, k = 9, 6
    left, right = (np.linalg.qr(rng.normal(size=(m, k)))[0] for m in (n, k))
    matrix = left @ np.diag(np.geomspace(1.0, 1.0 / condition, k)) @ right.T
    matrix *= 10.0 ** rng.uniform(-2, 2, k)
    high = 10.0 ** rng.uniform(-1, 1, k)
    kind = rng.permutation([0, 0, 1, 1, 2, 2])
    w = np.choose(kind, [np.zeros(k), high, rng.uniform(0.2, 0.8, k) * high])
    products = np.choose(kind, [rng.uniform(1, 2, k), -rng.uniform(1, 2, k), np.zeros(k)])
    products *= np.linalg.norm(matrix, axis=0)
    residual = np.linalg.lstsq(matrix.T, products, rcond=None)[0]
    return matrix, matrix @ w - residual, high, w


@pytest.mark.parametrize("seed", range(12))
def test_the_fit_is_the_solution_to_ten_digits(seed):
    matrix, target, high, w = made(np.random.default_rng(seed), 300.0)
    found = bounded_least_squares(matrix, target, high)
    np.testing.assert_allclose(found, w, rtol=1e-10, atol=1e-10 * high.min())


@pytest.mark.parametrize("seed", range(6))
def test_one_fit_is_enough_on_the_right_face(seed, monkeypatch):
    """Weights at their bounds stay there, and only those between them are fitted."""
    fits, solve = [], _bounded.lstsq
    monkeypatch.setattr(_bounded, "lstsq", lambda *given, **k: fits.append(1) or solve(*given, **k))
    matrix, target, high, w = made(np.random.default_rng(seed), 3.0)
    between = (w > 0.0) & (w < high)
    rough = np.where(between, 0.9 * w, w)
    found = _bounded._by_faces(matrix, target, high, rough)
    assert len(fits) == 1
    np.testing.assert_allclose(found, w, rtol=1e-10, atol=1e-10 * high.min())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_every_bound_can_be_left(seed, share):
    """From the corner where all weights are 0, and from that where all are as large as they may be."""
    matrix, target, high, w = made(np.random.default_rng(seed), 3.0)
    found = _bounded._by_faces(matrix, target, high, share * high)
    np.testing.assert_allclose(found, w, rtol=1e-10, atol=1e-10 * high.min())


@pytest.mark.parametrize(("condition", "error"), [(1e3, 1e-10), (1e5, 1e-8)])
def test_weights_are_exact_whatever_residual_is_left_over(condition, error):
    """What polishing wins is below the rounding error of the residual's length, and still counts."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        left, right = (np.linalg.qr(rng.normal(size=(m, 8)))[0] for m in (12, 8))
        matrix = (left * np.geomspace(1.0, 1.0 / condition, 8)) @ right.T
        w = np.array([0.0, 0.0, 2.0, 2.0, *rng.uniform(0.5, 1.5, size=4)])
        held_back = np.array([-1.0, -0.5, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0]) / condition
        residual = np.linalg.lstsq(matrix.T, held_back, rcond=None)[0]
        rest = rng.normal(size=12)
        for _ in range(2):  # once leaves rounding errors
            rest -= left @ (left.T @ rest)
        target = matrix @ w + residual + rest / np.linalg.norm(rest)
        found = bounded_least_squares(matrix, target, np.full(8, 2.0))
        np.testing.assert_allclose(found, w, atol=error, rtol=0.0)


@pytest.mark.parametrize("seed", range(4))
def test_proximal_steps_alone_take_the_ridge_away(seed, monkeypatch):
    monkeypatch.setattr(_bounded, "lstsq", lambda A, *_, **__: [np.zeros(A.shape[1])])
    matrix, target, high, w = made(np.random.default_rng(seed), 3.0)
    found = bounded_least_squares(matrix, target, high)
    np.testing.assert_allclose(found, w, rtol=1e-10, atol=1e-10 * high.min())


@pytest.mark.parametrize("seed", range(10))
def test_a_residual_of_nothing_is_found_among_columns_that_depend_on_each_other(seed):
    """A ridge spreads the weight over all columns, also over those that have a price."""
    rng = np.random.default_rng(seed)
    columns, w = rng.normal(size=(10, 30)), np.zeros(30)
    w[:10] = rng.uniform(0.1, 10.0, size=10)
    price = np.where(w > 0.0, 0.0, rng.uniform(1e-7, 1e-4, size=30))
    matrix, target = np.vstack((columns, price)), np.append(columns @ w, 0.0)
    found = bounded_least_squares(matrix, target, np.full(30, np.inf))
    assert np.linalg.norm(matrix @ found - target) <= 1e-12 * np.linalg.norm(target)


def test_columns_that_nearly_depend_on_each_other_are_told_apart():
    matrix = np.array([[1.0, 1.0], [0.0, 1e-8]])
    target = matrix @ np.array([0.5, 1.5])
    found = bounded_least_squares(matrix, target, np.full(2, np.inf))
    assert np.linalg.norm(matrix @ found - target) <= 1e-14


def test_a_weight_that_a_rounding_error_has_freed_is_not_freed_again(monkeypatch):
    """The first weight is held back most, and leaves the box at once: the others are still fitted."""
    matrix, target, solve = np.diag([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 1.0]), _bounded.lstsq

    def wrong_way(A, *given, **options):
        step = solve(A, *given, **options)[0]
        return [np.where(A[0] == 0.0, step, -1e-20)]

    monkeypatch.setattr(_bounded, "lstsq", wrong_way)
    found = _bounded._by_faces(matrix, target, np.full(3, np.inf), np.zeros(3))
    np.testing.assert_allclose(found, [0.0, 0.5, 0.25], rtol=1e-15)


@pytest.mark.parametrize(("flag", "ridges"), [(1, RIDGES[:1]), (-1, RIDGES), (2, RIDGES)])
def test_another_ridge_is_tried_where_the_first_does_not_do(flag, ridges, monkeypatch):
    seen, solve = [], daqp.solve

    def noted(H, *given, **options):
        seen.append(H[0, 0] - 1.0)
        z, value, _, info = solve(H, *given, **options)
        return z, value, flag, info

    monkeypatch.setattr(daqp, "solve", noted)
    found = bounded_least_squares(np.array([[2.0], [0.0]]), np.array([3.0, 1.0]), np.array([9.0]))
    assert found == pytest.approx([1.5])
    assert seen == pytest.approx(np.repeat(ridges, _bounded.PROXIMAL_STEPS), rel=1e-6)


@pytest.mark.parametrize(("most", "fitted"), [(500, 4), (3, 3)])
def test_the_largest_constraints_get_multipliers(most, fitted, monkeypatch):
    monkeypatch.setattr(module, "MAX_MULTIPLIERS", most)
    sizes, solve = [], bounded_least_squares
    monkeypatch.setattr(
        module,
        "bounded_least_squares",
        lambda A, t, high: sizes.append(high.size) or solve(A, t, high),
    )
    values = np.array([-0.03, -0.01, -0.05, 0.0, -0.04, -0.02])
    slopes = np.random.default_rng(0).normal(size=(6, 2))
    problem = affine(slopes, values)
    kinks = Kinks(np.zeros(2), np.ones((1, 2)), np.ones((1, 7)), np.zeros(1))
    certificate = module._certified(problem, kinks)
    assert set(sizes) == {fitted + 1}
    assert set(np.flatnonzero(certificate.multipliers)) <= set(np.argsort(-values)[:fitted])


def test_the_share_of_a_jump_is_that_of_the_objectives_slope():
    """At the kink of max(-x, x) half of the jump from -1 to 1 makes the slope 0."""
    problem = affine([[0.0]], [-1.0], slope=[-1.0])
    kinks = Kinks(np.zeros(1), np.array([[2.0]]), np.array([[1.0, 0.0]]), np.zeros(1))
    certificate = module._certified(problem, kinks)
    assert certificate.stationarity == pytest.approx(0.0, abs=1e-12)


def test_a_point_on_kinks_may_be_just_as_far_as_the_tolerance(monkeypatch):
    problem, tol = affine([[1.0]], [-1.0]), 0.25
    kinks = Kinks(np.array([tol]), np.ones((1, 1)), np.ones((1, 2)), np.zeros(1))
    monkeypatch.setattr(problem, "kinks", lambda x, width: kinks, raising=False)
    monkeypatch.setattr(
        module,
        "_certified",
        lambda *_: module.examine(problem, problem.at(np.zeros(1)), np.zeros(1)),
    )
    assert near_kinks(problem, np.zeros(1), tol) is None  # its slope is 1
    flat = affine([[1.0]], [-1.0], slope=[0.0])
    monkeypatch.setattr(flat, "kinks", lambda x, width: kinks, raising=False)
    monkeypatch.setattr(
        module, "_certified", lambda *_: module.examine(flat, flat.at(np.zeros(1)), np.zeros(1))
    )
    assert near_kinks(flat, np.zeros(1), tol).distance == tol


def test_shares_are_those_of_a_subgradient_where_the_rounds_do_not_settle():
    """Multiplier and share could each do alone, and each round takes the one that the last has left out."""
    problem = affine([[1.0]], [-0.05], slope=[-1.0])
    kinks = Kinks(np.zeros(1), np.ones((1, 1)), np.array([[0.0, 1.0]]), np.zeros(1))
    certificate = module._certified(problem, kinks)
    lam = certificate.multipliers[0]
    least = min(abs(-1.0 + lam * (1.0 + share)) for share in np.linspace(0.0, 1.0, 11))
    assert certificate.stationarity >= least - 1e-12


@pytest.fixture
def fits(monkeypatch):
    """The bounds of every fit on kinks."""
    found, solve = [], bounded_least_squares
    monkeypatch.setattr(
        module,
        "bounded_least_squares",
        lambda A, t, high: found.append(high.tolist()) or solve(A, t, high),
    )
    return found


def test_one_fit_is_enough_where_bounds_do_not_depend_on_multipliers(fits):
    problem = affine([[-1.0]], [0.0])
    kinks = Kinks(np.zeros(1), np.array([[0.5]]), np.array([[1.0, 0.0]]), np.zeros(1))
    certificate = module._certified(problem, kinks)
    assert certificate.stationarity == pytest.approx(0.0, abs=1e-12)
    assert fits == [[np.inf, 1.0]]


def test_bounds_are_fitted_until_they_do_not_change(fits):
    """The multiplier is ``lam = 1 - mu``, and the bound of mu a small part of it: by far not 30 rounds."""
    part = 1e-3
    problem = affine([[-1.0]], [0.0])
    kinks = Kinks(np.zeros(1), np.array([[-1.0]]), np.array([[0.0, part]]), np.zeros(1))
    certificate = module._certified(problem, kinks)
    assert certificate.stationarity == pytest.approx(0.0, abs=1e-12)
    assert 3 <= len(fits) <= 7
    assert fits[0][1] == _bounded.NOTHING


def test_multipliers_on_kinks_may_turn_the_slope_out_of_the_domain(fits):
    """On ``x_0 >= 0`` only the first fit has to hold back x_0: the multiplier it gives does so as well."""
    problem = affine(
        [[2.0, 1.0, 0.0]], [0.0], slope=[-1.0, -1.0, -1.0], domain=sets.Box([0.0, -9, -9], np.inf)
    )
    kinks = Kinks(np.zeros(3), np.array([[0.0, 0.0, 2.0]]), np.array([[1.0, 0.0]]), np.zeros(1))
    certificate = module._certified(problem, kinks)
    assert len(fits) == 2
    assert certificate.multipliers == pytest.approx([1.0])
    assert certificate.residual == pytest.approx(0.0, abs=1e-12)
