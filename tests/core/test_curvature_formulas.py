"""The parts of the second order: Lanczos, the critical cone, and products by differences."""

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise.certificate import _lanczos as lanczos
from equipoise.certificate._critical_cone import CriticalCone, _orthonormal
from equipoise.certificate._curvature import _on_cone
from equipoise.certificate._curvature_bounds import NON_NEGATIVE_WITHIN, Curvature
from equipoise.certificate._products import OTHER_DIRECTIONS, HessianProducts

from .affine import affine


@pytest.mark.parametrize(("k", "dim"), [(20, 50), (50, 500), (50, 100_000)])
def test_what_lanczos_may_miss_fails_once_in_a_million(k, dim):
    """The probability of Kuczynski and Wozniakowski, for an error relative to all of the spread."""
    spread = 3.0
    missing = lanczos._missing(k, dim, spread)
    share = missing / (spread + 2 * missing)
    chance = 1.648 * math.sqrt(dim) * math.exp(-math.sqrt(share) * (2 * k - 1))
    assert chance == pytest.approx(lanczos.FAILURE, rel=1e-9)
    assert lanczos._missing(3, dim, spread) == math.inf


def test_products_that_are_not_symmetric_count_as_errors():
    H = np.array([[1.0, 0.4], [0.0, 3.0]])
    found = lanczos.least_curvature(lambda v: (H @ v, 0.01), lambda v: v, 2, 50)
    assert found.error == pytest.approx(0.02 + 0.5 * np.linalg.norm(H - H.T), rel=1e-9)
    assert found.missing == 0.0
    values = np.linalg.eigvalsh(0.5 * (H + H.T))
    assert found.value == pytest.approx(values[0])
    assert found.largest == pytest.approx(values[1])
    assert found.products == 2


def test_a_subspace_without_directions_has_infinite_curvature():
    found = lanczos.least_curvature(lambda v: (v, 0.0), lambda v: 0.0 * v, 3, 50)
    assert (found.value, found.error, found.missing) == (math.inf, 0.0, 0.0)
    assert (found.largest, found.products) == (0.0, 0)
    assert found.direction is None


def test_a_good_direction_ends_the_search_early():
    values = np.append(-50.0, np.linspace(1.0, 2.0, 99))
    found = lanczos.least_curvature(lambda v: (values * v, 0.0), lambda v: v, 100, 50)
    assert lanczos.ENOUGH_PRODUCTS <= found.products < 50
    assert found.value == pytest.approx(-50.0, rel=1e-3)
    for scale in (1e-4, 1e4):
        scaled = lanczos.least_curvature(
            lambda v, s=scale: (s * values * v, 0.0), lambda v: v, 100, 50
        )
        assert scaled.products == found.products
    small = lanczos.least_curvature(lambda v: (values[:6] * v, 0.0), lambda v: v, 6, 50)
    assert small.products == 6


def test_dependence_is_relative_to_the_largest_row():
    assert len(_orthonormal(np.diag([1e6, 1e-2]))) == 1
    assert len(_orthonormal(np.diag([1e6, 1.0]))) == 2
    assert len(_orthonormal(np.diag([1e-2, 1e-6]))) == 2
    assert len(_orthonormal(np.diag([1e-2, 1e-8]))) == 1
    assert len(_orthonormal(np.diag([1e-2, 1.5e-7]))) == 2
    np.testing.assert_allclose(np.abs(_orthonormal(np.array([[3.0, 0.0]]))), [[1.0, 0.0]])
    assert _orthonormal(np.empty((0, 2))).shape == (0, 2)


def cone_at(problem, x, lam, doubt=0.0):
    point = problem.at(np.asarray(x, float))
    lam = np.asarray(lam, float)
    return CriticalCone.at(problem, point, lam, point.lagrangian_gradient(lam), doubt)


def test_the_critical_cone_of_strongly_and_weakly_active_constraints():
    problem = affine(np.eye(3), np.zeros(3), slope=[-1.0, 0.0, 0.0])
    cone = cone_at(problem, np.zeros(3), [1.0, 0.0, 0.0])
    assert cone.holds
    assert not cone.is_space
    v = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(cone.project(v), [0.0, 2.0, -3.0])
    np.testing.assert_allclose(cone.project_inside(v), np.zeros(3), atol=1e-15)
    np.testing.assert_allclose(cone.nearest(v), [0.0, 0.0, -1.0])
    np.testing.assert_allclose(cone.nearest(-v), np.array([0.0, -1.0, 0.0]), atol=1e-15)
    assert cone.nearest(np.array([1.0, 1.0, 1.0])) is None
    strict = cone_at(problem, np.array([0.0, -1.0, -1.0]), [1.0, 0.0, 0.0])
    assert strict.is_space
    np.testing.assert_allclose(strict.project_inside(v), [0.0, 2.0, -3.0])


def test_shares_within_the_doubt_are_weak():
    problem = affine(np.eye(2), np.zeros(2), slope=[-1.0, -1e-3])
    lam = [1.0, 1e-3]
    assert cone_at(problem, np.zeros(2), lam, doubt=0.5e-3).is_space
    loose = cone_at(problem, np.zeros(2), lam, doubt=2e-3)
    assert not loose.is_space
    np.testing.assert_allclose(loose.project(np.ones(2)), [0.0, 1.0])
    away = affine(
        np.eye(2), [0.0, -1e-2], slope=[-1.0, 0.0]
    )  # -1e-2 is active within a doubt of 2e-2
    assert cone_at(away, np.zeros(2), [1.0, 0.0], doubt=0.5e-2).is_space
    assert not cone_at(away, np.zeros(2), [1.0, 0.0], doubt=2e-2).is_space


def test_a_bound_without_a_multiplier_is_weakly_active():
    box = sets.Box(0, 1, dim=2)
    problem = FunctionProblem(lambda x: (x[1], np.array([0.0, 1.0])), domain=box)
    cone = cone_at(problem, np.zeros(2), [])
    assert cone.holds
    assert not cone.is_space
    np.testing.assert_allclose(cone.project(np.ones(2)), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(cone.nearest(np.ones(2)), [1.0, 0.0], atol=1e-12)
    assert cone.nearest(-np.ones(2)) is None


def test_products_by_differences_know_their_error():
    """One-sided ones of ``a x^3 + b x^2 / 2`` err by ``3 h a`` in the gradient, ``2 h a`` in the value."""
    a, b = 5.0, 2.0
    problem = FunctionProblem(
        lambda x: (a * x[0] ** 3 + b * x[0] ** 2 / 2, 3 * a * x**2 + b * x),
        dim=1,
        facts=Facts(rounding=1e-16),
    )
    h = 1e-4
    rough = HessianProducts(problem, problem.at(np.zeros(1)), np.ones(1), central=False)
    product, error = rough(np.ones(1))
    assert not rough.exact
    assert product[0] == pytest.approx(b + 3 * h * a, abs=1e-7)
    assert error == pytest.approx(3 * OTHER_DIRECTIONS * h * a, rel=1e-3)
    central = HessianProducts(problem, problem.at(np.zeros(1)), np.ones(1))
    product, error = central(np.ones(1))
    assert product[0] == pytest.approx(b, abs=1e-9)
    assert error <= 1e-6


def test_central_differences_take_a_shorter_step_where_the_function_bends_sharply():
    """Of ``c x^4 / 24`` the curvature by gradients errs by ``c h^2/6``, that by values by half of it."""
    c = 1e9
    problem = FunctionProblem(
        lambda x: (c * x[0] ** 4 / 24 + x[0] ** 2 / 2, c * x**3 / 6 + x),
        dim=1,
        facts=Facts(rounding=1e-16),
    )
    products = HessianProducts(problem, problem.at(np.zeros(1)), np.ones(1))
    long, error = products._difference(np.ones(1), 1e-4)
    assert long[0] - 1 == pytest.approx(c * 1e-8 / 6, rel=1e-6)
    assert error == pytest.approx(c * 1e-8 / 6, rel=1e-4)
    short, _ = products(np.ones(1))
    assert short[0] - 1 == pytest.approx(c * 1e-12 / 6, rel=1e-2)


def test_curvature_in_words():
    assert str(Curvature(0.0, math.inf)) == "non-negative (proved)"
    assert "saddle" in str(Curvature(-1.0, -0.5, 1.0))
    assert str(Curvature(0.5, 0.6, 1.0)).startswith("non-negative, at least 5.00e-01")
    assert str(Curvature(-1.0, 0.6, 1.0)).startswith("undecided")
    flat = Curvature(-0.9 * NON_NEGATIVE_WITHIN, 1.0, 1.0, along=0.9 * NON_NEGATIVE_WITHIN)
    assert flat.non_negative
    assert not flat.positive
    bent = Curvature(-1.1 * NON_NEGATIVE_WITHIN, 1.0, 1.0, along=1.1 * NON_NEGATIVE_WITHIN)
    assert not bent.non_negative
    assert bent.positive


def test_a_flat_direction_is_no_saddle():
    assert Curvature(-1.0, -1e-300).negative
    assert not Curvature(-1.0, 0.0).negative


def test_a_subspace_that_may_not_hold_the_cone_gives_no_lower_bound():
    found = lanczos.LeastCurvature(2.0, 0.5, 0.25, 3.0, np.ones(1), 4)
    cone = cone_at(affine(np.eye(2), np.zeros(2)), -np.ones(2), np.zeros(2))
    bounds = _on_cone(found, cone, exact=True)
    assert (bounds.lower, bounds.upper, bounds.along) == (1.25, 2.5, 2.0)
    assert bounds.worth == "in probability"
    assert _on_cone(found, replace(cone, holds=False), exact=True).lower == -math.inf
    all_seen = replace(found, missing=0.0)
    assert _on_cone(all_seen, cone, exact=True).worth == "proved"
    assert _on_cone(all_seen, cone, exact=False).worth == "by differences"
    assert _on_cone(replace(found, value=-2.0), cone, exact=True).worth == "proved"


def test_products_that_are_not_finite_tell_nothing():
    def product(v):
        return (np.full(3, np.nan) if len(seen) == 2 else v * [1.0, 2.0, 3.0]), 0.0

    seen = []
    found = lanczos.least_curvature(lambda v: seen.append(v) or product(v), lambda v: v, 3, 50)
    assert np.isnan(found.value)
    assert (found.error, found.missing, found.largest) == (math.inf, math.inf, math.inf)
    assert (found.direction, found.products) == (None, 2)
    partly = lanczos.least_curvature(lambda v: (v * [1.0, np.nan, 2.0], 0.0), lambda v: v, 3, 50)
    assert np.isnan(partly.value)
    assert partly.products == 1


def test_what_is_left_of_a_random_vector_is_measured_by_its_length():
    """A random vector of 400 entries is 20 long; a projection that shortens acts twice on it."""
    for share, left in ((0.5e-8, False), (2e-8, True)):
        found = lanczos._fresh(
            np.random.default_rng(0), lambda v, s=share: math.sqrt(s) * v, np.empty((0, 400))
        )
        assert (found is not None) == left


@pytest.mark.parametrize("seed", range(3))
def test_the_search_ends_at_the_first_good_direction(seed):
    """It is tried after 12, 16, 20, ... products whether the residual is a tenth of the curvature."""
    values = np.linspace(-1.0, 30.0, 200)
    H = lambda v: (values * v, 0.0)  # noqa: E731
    whole = lanczos.least_curvature(H, lambda v: v, 200, 200, seed=seed)
    for k in range(lanczos.ENOUGH_PRODUCTS, 200, lanczos.TRIED_EVERY):
        part = lanczos.least_curvature(H, lambda v: v, 200, k, seed=seed)
        rest = np.linalg.norm(values * part.direction - part.value * part.direction)
        if part.value < 0 and rest <= lanczos.GOOD_DIRECTION * abs(part.value):
            break
    assert lanczos.ENOUGH_PRODUCTS < k < 200
    assert whole.products == k
    expected = lanczos._missing(k, 200, spread_of(H, 200, k, seed))
    assert whole.missing == pytest.approx(expected, rel=1e-6)


def spread_of(H, dim, k, seed):
    """The spread of the eigenvalues that k products see, from another basis of the same space."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(1, dim))[0]
    basis = [q / np.linalg.norm(q)]
    for _ in range(k - 1):
        z = H(basis[-1])[0]
        for _ in range(2):
            z = z - np.array(basis).T @ (np.array(basis) @ z)
        basis.append(z / np.linalg.norm(z))
    Q = np.array(basis)
    seen = np.linalg.eigvalsh(Q @ np.array([H(q)[0] for q in Q]).T)
    return seen[-1] - seen[0]


def test_negative_curvature_within_its_error_does_not_end_the_search():
    values = np.append(-50.0, np.linspace(1.0, 2.0, 99))
    doubtful = lanczos.least_curvature(lambda v: (values * v, 5.0), lambda v: v, 100, 50)
    assert doubtful.products == 50
    assert doubtful.error == pytest.approx(250.0)
    sure = lanczos.least_curvature(lambda v: (values * v, 0.0), lambda v: v, 100, 50)
    assert sure.products == lanczos.ENOUGH_PRODUCTS
    assert sure.missing > 0.0


def test_rounding_grows_with_products_and_with_the_largest_curvature():
    values = np.array([1.0, -64.0, 3.0, 2.0])
    found = lanczos.least_curvature(lambda v: (values * v, 0.0), lambda v: v, 4, 50)
    rounding = lanczos.UNITS * np.finfo(float).eps * 4 * 64.0
    assert rounding <= found.error <= 1.3 * rounding


def test_a_subspace_is_looked_at_completely_though_vectors_run_out():
    """Of the identity every vector is an eigenvector: each next one is a random one."""
    keep = np.diag([1.0, 1.0, 0.0, 1.0, 0.0])
    found = lanczos.least_curvature(lambda v: (3.0 * v, 0.5), lambda v: keep @ v, 5, 50)
    assert (found.products, found.missing) == (3, 0.0)
    assert found.value == pytest.approx(3.0)
    assert found.error == pytest.approx(1.5)
    few = lanczos.least_curvature(lambda v: (3.0 * v, 0.5), lambda v: keep @ v, 5, 2)
    assert (few.products, few.missing) == (2, math.inf)
