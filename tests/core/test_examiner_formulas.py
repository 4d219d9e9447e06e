"""What the examiner says of a point, each number against the sentence that states it."""

import math
import re

import numpy as np
import pytest

from equipoise import FunctionProblem, certify, sets
from equipoise._problem import Point
from equipoise.certificate import _examiner, examine
from equipoise.certificate._multipliers import _Fit
from equipoise.certificate._residuals import LARGE, tangent
from equipoise.certificate._rounding import FEW, PROBES, TermSizes

from .affine import affine


def test_being_outside_by_more_than_rounding_is_a_violation():
    problem = affine([[1.0, 0.0]], [-9.0], domain=sets.Box(-1, 1, dim=2))
    for off in (1e-10, 1e-7, 1e-3):
        assert certify(problem, np.array([-1 - off, 0.0])).outside == pytest.approx(off, rel=1e-5)
    assert certify(problem, np.array([-1 - 2e-16, 0.0])).outside == 0.0
    far = affine([[1.0]], [-9e9], domain=sets.Box(-1e8, 1, dim=1))
    assert certify(far, np.array([-1e8 - 3e-5])).outside == 0.0
    assert certify(far, np.array([-1e8 - 3e-4])).outside == pytest.approx(3e-4, rel=1e-3)


def test_the_function_that_is_not_finite_is_named():
    problem = affine(np.eye(3), np.zeros(3))
    values = np.array([0.0, 1.0, np.nan, np.inf])
    point = Point(np.zeros(3), values, problem.at(np.zeros(3)).vjp)
    with pytest.raises(ValueError, match=re.escape(f"the value of {problem.label(2)} is nan")):
        examine(problem, point, None)


def test_the_gradient_that_is_not_finite_is_named():
    problem = FunctionProblem(
        lambda x: (0.0, 0.0 * x),
        [lambda x: (0.0, np.ones(2)), lambda x: (0.0, np.array([0.0, np.inf]))],
        dim=2,
    )
    with pytest.raises(ValueError, match=re.escape(f"the gradient of {problem.label(2)}")):
        certify(problem, np.zeros(2))
    with pytest.raises(ValueError, match=re.escape(f"the gradient of {problem.label(2)}")):
        certify(problem, np.zeros(2), [0.0, 1.0])
    huge = affine([[1e300, 0.0], [1.0, 0.0]], [0.0, 0.0])
    assert certify(huge, np.zeros(2), [1e300, 0.0]).stationarity == np.inf


def test_the_negative_multiplier_is_named():
    with pytest.raises(ValueError, match=r"entry 1 is -2\.0"):
        certify(affine(np.eye(3), np.zeros(3)), np.zeros(3), [0.0, -2.0, -3.0])


def test_the_largest_multipliers_are_listed():
    problem = affine(np.eye(7), np.zeros(7))
    text = str(certify(problem, np.zeros(7), [3.0, 1.0, 0.0, 7.0, 4.0, 5.0, 6.0]))
    listed = ", ".join(
        f"{problem.names[i]}: {v}" for i, v in [(3, 7), (6, 6), (5, 5), (4, 4), (0, 3)]
    )
    assert f"{listed}, and 1 more (given)" in text
    assert "none positive (given)" in str(certify(problem, np.zeros(7), np.zeros(7)))
    five = str(certify(problem, np.zeros(7), [1.0] * 5 + [0.0] * 2))
    assert "more" not in five


def test_the_worst_constraint_is_named_where_one_is_violated():
    problem = affine(np.eye(2), [0.5, 0.7])
    assert certify(problem, np.zeros(2)).worst == problem.names[1]
    assert certify(problem, -np.ones(2)).worst is None
    assert certify(affine(np.eye(2), [0.0, -1.0]), np.zeros(2)).worst is None
    free = FunctionProblem(lambda x: (x @ x, 2 * x), dim=2)
    assert certify(free, np.ones(2)).worst is None


def test_curvature_is_looked_at_near_kkt_points_only():
    problem = FunctionProblem(lambda x: (-0.5 * x @ x, -x), dim=2)
    assert certify(problem, np.array([0.9e-3, 0.0])).curvature is not None
    assert certify(problem, np.array([1.1e-3, 0.0])).curvature is None
    assert certify(problem, np.zeros(2), second_order=False).curvature is None
    for slope, near in ((0.09, True), (0.11, False)):  # a thousandth of 100 is 0.1
        steep = affine(
            [[1.0, 0.0]], [-9.0], slope=[100.0, slope], domain=sets.Box([0, -np.inf], np.inf)
        )
        assert (certify(steep, np.zeros(2)).curvature is not None) == near


def test_so_many_products_are_taken_and_never_more_than_the_most(monkeypatch):
    asked = []
    monkeypatch.setattr(_examiner, "curvature_at", lambda *_, most, **__: asked.append(most))
    problem = FunctionProblem(lambda x: (x @ x, 2 * x), dim=2)
    certificate = certify(problem, np.zeros(2), second_order=False)
    for most in (3, 10_000):
        _examiner.with_curvature(problem, problem.at(np.zeros(2)), certificate, most)
    assert asked == [3, _examiner.MAX_PRODUCTS]


def test_huge_vectors_are_projected_as_others_are():
    box, x = sets.Box(0, 1, dim=3), np.array([0.0, 0.5, 1.0])
    for length in (1.0, 0.5 * LARGE, 10 * LARGE, 1e300):
        projected = tangent(box, x, length * np.array([-1.0, 2.0, -3.0]))
        np.testing.assert_allclose(projected / length, [0.0, 2.0, -3.0], rtol=1e-14)


def test_the_fit_minimises_stationarity_and_complementarity():
    """Against the closed form for one constraint: lam = max(0, <-grad f_0, g> / (|g|^2 + f^2))."""
    for value in (0.0, 0.3, -0.05):
        problem = affine([[2.0, 1.0]], [value], slope=[-1.0, 0.5])
        certificate = certify(problem, np.zeros(2))
        assert certificate.multipliers[0] == pytest.approx(1.5 / (5.0 + value**2), rel=1e-9)


def test_prices_are_directional_derivatives_along_the_residual():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 3))
    for x in (np.zeros(3), 100 * np.ones(3)):
        problem = affine(A, np.zeros(5), slope=[1.0, -2.0, 0.5])
        fit = _Fit(problem, problem.at(x))
        r = fit.residual(np.empty(0))
        prices = fit.prices(np.empty(0), np.array([1, 3, 5]))
        np.testing.assert_allclose(
            prices, A[[0, 2, 4]] @ r / np.linalg.norm(r), rtol=1e-6, atol=1e-7
        )
    still = affine(A, np.zeros(5), slope=np.zeros(3))
    fit = _Fit(still, still.at(np.zeros(3)))
    assert not fit.prices(np.empty(0), np.array([1, 2])).any()


def test_multipliers_of_many_constraints_are_found_in_batches():
    """A thousand constraints, of which the farthest of the nearly active ones carry the gradient."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=(1000, 10))
    A[-10:] = -np.eye(10)
    b = np.append(np.full(990, 1e-9), np.zeros(10))
    certificate = certify(affine(A, b), np.zeros(10))
    assert certificate.stationarity <= 1e-6


@pytest.mark.parametrize("count", [FEW, FEW + 1, 3 * FEW])
def test_the_sizes_of_terms_are_sums_or_random_sums(count):
    rng = np.random.default_rng(count)
    A, slope, x, lam = (
        rng.normal(size=(count, 4)),
        rng.normal(size=4),
        rng.normal(size=4),
        np.ones(count),
    )
    lam[0], lam[1] = 0.5, 3.0
    problem = affine(A, np.zeros(count), slope=slope)
    found = TermSizes.at(problem.at(x), lam)
    if count <= FEW:
        rows = lam[:, None] * A
        factor = 1.0
    else:
        rows = np.random.default_rng(0).standard_normal((PROBES, count)) * lam @ A
        factor = math.sqrt(count)
    add = np.sum if count <= FEW else np.max
    length, linear = add(np.linalg.norm(rows, axis=1)), add(np.abs(rows) @ np.abs(x))
    assert found.length == pytest.approx(np.linalg.norm(slope) + factor * length)
    assert found.linear == pytest.approx(factor * linear)
