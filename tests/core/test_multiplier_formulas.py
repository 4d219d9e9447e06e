"""The fit of multipliers: which gradients are formed, and when it ends."""

import math
import re

import numpy as np
import pytest
from scipy.optimize import nnls

from equipoise import FunctionProblem, Point, sets
from equipoise.certificate import _multipliers as module
from equipoise.certificate._multipliers import ALL_AT_ONCE, _Fit, fit_multipliers

from .affine import affine


@pytest.fixture
def sizes(monkeypatch):
    """How many gradients were formed at a time."""
    found, add = [], _Fit.add
    monkeypatch.setattr(_Fit, "add", lambda fit, i: found.append(len(i)) or add(fit, i))
    return found


def fitted(problem, x=None, within=0.1):
    x = np.zeros(problem.dim) if x is None else x
    return fit_multipliers(problem, problem.at(x), within)


@pytest.mark.parametrize(("count", "first"), [(ALL_AT_ONCE, 32), (ALL_AT_ONCE + 1, 16)])
def test_few_gradients_are_formed_at_once(count, first, sizes):
    lam, downhill, _ = fitted(affine(-np.eye(count), np.zeros(count)))
    assert sizes[0] == first
    np.testing.assert_allclose(lam, np.ones(count), rtol=1e-9)
    np.testing.assert_allclose(downhill, np.zeros(count), atol=1e-9)


@pytest.mark.parametrize(("violation", "ended"), [(20.0, False), (30.0, False), (45.0, True)])
def test_batches_end_where_the_violation_is_larger_than_what_they_may_gain(violation, ended, sizes):
    """After 16 of 100 multipliers, one of a constraint without slope, ``sqrt(16 * 85)`` is 36.9."""
    A = np.vstack((np.zeros(100), -np.eye(100)))
    problem = affine(A, np.append(violation, np.zeros(100)))
    fitted(problem)
    assert (len(sizes) == 1) is ended


@pytest.mark.parametrize(("gain", "batches"), [(0.09, [16, 16]), (0.11, [16, 16, 8])])
def test_a_batch_that_gains_less_than_a_tenth_is_the_last(gain, batches, sizes):
    """Sixteen components of the square s are taken from ``1 + 24 s``: s = gain / (16 - 24 gain)."""
    s = gain / (16 - 24 * gain)
    slope = np.append(1.0, np.full(40, math.sqrt(s)))
    A = np.hstack((np.zeros((40, 1)), -np.eye(40)))
    problem = affine(A, np.zeros(40), slope=slope)
    fitted(problem)
    assert sizes == batches


@pytest.mark.parametrize("scale", [0.01, 100.0])
@pytest.mark.parametrize("share", [0.5, 2.0])
def test_constraints_help_where_their_price_is_a_millionth_of_the_slope(scale, share, sizes):
    """Of 40 constraints, 16 have no slope, and 24 one along a part of the objective's."""
    price = share * 1e-6 * max(1.0, scale)
    A = np.zeros((40, 2))
    A[16:, 0] = -price
    fitted(affine(A, np.zeros(40), slope=[scale, 0.0]))
    assert sizes[:2] == ([16, 16] if share > 1 else [16])


def test_the_nearest_constraints_are_taken_first(monkeypatch):
    asked, add = [], _Fit.add
    monkeypatch.setattr(_Fit, "add", lambda fit, i: asked.append(i.tolist()) or add(fit, i))
    b = np.linspace(-0.09, 0.0, 40)
    b[3], b[7] = -0.2, -0.101
    fitted(affine(-np.eye(40), b))
    assert asked[0] == list(range(40, 24, -1))
    assert not {4, 8} & {i for batch in asked for i in batch}
    asked.clear()
    fitted(affine(-np.eye(40), b), within=0.15)
    assert {8} <= {i for batch in asked for i in batch}
    assert 4 not in {i for batch in asked for i in batch}


def test_the_steepest_of_the_others_follow(monkeypatch):
    asked, add = [], _Fit.add
    monkeypatch.setattr(_Fit, "add", lambda fit, i: asked.append(i.tolist()) or add(fit, i))
    slope = np.append(np.ones(16), 1.0 + np.arange(24))
    fitted(affine(-np.eye(40), np.zeros(40), slope=slope))
    assert asked[0] == list(range(1, 17))
    assert asked[1] == list(range(40, 24, -1))
    assert sorted(asked[2]) == list(range(17, 25))


def test_without_nearly_active_constraints_the_terms_are_the_gradient(sizes):
    problem = affine(np.eye(2), [-0.2, -0.3], slope=[3.0, -4.0])
    lam, downhill, terms = fitted(problem)
    assert sizes == []
    assert lam.tolist() == [0.0, 0.0]
    assert downhill.tolist() == [-3.0, 4.0]
    assert (terms.length, terms.linear) == (5.0, 0.0)


def test_terms_are_those_of_the_multipliers():
    problem = affine([[-3.0, 0.0], [0.0, -2.0]], [6.0, 8.0], slope=[1.0, 1.0])
    x = np.array([2.0, 4.0])
    lam, _, terms = fitted(problem, x)
    np.testing.assert_allclose(lam, [1 / 3, 1 / 2], rtol=1e-9)
    assert terms.length == pytest.approx(math.sqrt(2) + 1.0 + 1.0)
    assert terms.linear == pytest.approx(2.0 + 4.0)


def test_the_loss_is_the_length_of_residual_and_prices_together():
    problem = affine([[-1.0, 0.0]], [0.5], slope=[3.0, 1.0])
    fit = _Fit(problem, problem.at(np.zeros(2)))
    fit.add(np.array([1]))
    lam = np.array([2.0])
    np.testing.assert_allclose(fit.downhill(lam), [-1.0, -1.0])
    assert fit.loss(lam) == pytest.approx(math.sqrt(1 + 1 + 1.0))
    assert fit.scale == pytest.approx(math.sqrt(10))


def test_multipliers_on_a_face_that_they_leave_are_found_by_pieces():
    """At the bound of x_0 the first fit has one piece of the normal cone, the best one another."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        d, m = 5, 3
        domain = sets.Box(0, 1, dim=d)
        x = np.array([0.0, 0.0, 1.0, 1.0, 0.5])
        A, slope = rng.normal(size=(m, d)), rng.normal(size=d)
        values = rng.uniform(-0.05, 0.02, m)
        problem = affine(A, values - A @ x, slope=slope, domain=domain)
        fit = _Fit(problem, problem.at(x))
        fit.add(np.arange(1, m + 1))
        lam = fit.solve()
        best = fit.loss(lam)
        steps = np.vstack((np.eye(m), -np.eye(m), rng.normal(size=(20, m))))
        for size in (1e-1, 1e-3, 1e-5):
            for step in steps:
                assert fit.loss(np.maximum(lam + size * step, 0.0)) >= best * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_gradients_that_are_rounding_have_no_multiplier(scale):
    problem = affine([[-1.5e-14 * max(1.0, scale)], [0.0]], [0.0, 0.0], slope=[scale])
    lam, _, _ = fitted(problem)
    assert lam[0] == pytest.approx(scale / (1.5e-14 * max(1.0, scale)))
    tiny = affine([[-0.7e-14 * max(1.0, scale)], [0.0]], [0.0, 0.0], slope=[scale])
    assert fitted(tiny)[0].tolist() == [0.0, 0.0]


def test_a_constraint_with_a_huge_gradient_gets_none():
    problem = affine([[-1e200, -1e200], [-1.0, 0.0]], [0.0, 0.0], slope=[1.0, 0.0])
    lam, _, _ = fitted(problem)
    assert lam[1] == pytest.approx(1.0)


def test_no_multipliers_where_the_slope_is_zero():
    problem = affine([[-1.0], [1.0]], [0.0, 0.0], slope=[0.0])
    assert fitted(problem)[0].tolist() == [0.0, 0.0]
    held = affine([[-1.0], [1.0]], [0.0, 0.0], slope=[1.0], domain=sets.Box(0, 1, dim=1))
    assert fitted(held)[0].tolist() == [0.0, 0.0]


def test_columns_that_cycle_leave_the_multipliers(monkeypatch):
    def cycles(*_):
        raise RuntimeError

    problem = affine([[-1.0]], [0.0])
    fit = _Fit(problem, problem.at(np.zeros(1)))
    fit.add(np.array([1]))
    monkeypatch.setattr(module, "nnls", cycles)
    assert fit._solve_piece(np.array([0.25])).tolist() == [0.25]


def test_a_step_too_long_is_halved(monkeypatch):
    """The best multiplier is 1: from 0 a fit that says 3.2 is tried at 3.2 and 1.6."""
    problem = affine([[-1.0]], [0.0])
    fit = _Fit(problem, problem.at(np.zeros(1)))
    fit.add(np.array([1]))
    ahead = iter([np.array([3.2]), np.array([1.6])])
    monkeypatch.setattr(fit, "_solve_piece", lambda lam: next(ahead, lam))
    assert fit.solve() == pytest.approx([1.6])
    ahead = iter([np.array([0.8 * 2**11 / 0.5])])
    assert fit.solve() == pytest.approx([1.6])
    ahead = iter([np.array([1.5 * 2**12])])
    assert fit.solve() == pytest.approx([0.0])
    ahead = iter([np.array([2.0])])  # as far beyond the best as 0 is before it
    assert fit.solve() == pytest.approx([1.0])


def test_pieces_end_where_nothing_is_gained(monkeypatch):
    problem = affine([[-1.0]], [0.0])
    fit = _Fit(problem, problem.at(np.zeros(1)))
    fit.add(np.array([1]))
    asked = []

    def half_way(lam):
        asked.append(float(lam[0]))
        return lam + 0.5 * (1 - lam)

    monkeypatch.setattr(fit, "_solve_piece", half_way)
    fit.solve()
    assert len(asked) == module.MAX_PIECES
    for step, pieces in ((0.0, 1), (2e-16, 1), (1e-10, module.MAX_PIECES)):
        asked.clear()
        monkeypatch.setattr(fit, "_solve_piece", lambda lam, by=step: asked.append(0) or lam + by)
        fit.solve()
        assert len(asked) == pieces


def test_multipliers_of_a_constraint_that_is_just_nearly_active():
    assert fitted(affine([[-1.0]], [-0.1]))[0][0] == pytest.approx(1 / 1.01)
    assert fitted(affine([[-1.0]], [np.nextafter(-0.1, -1)]))[0][0] == 0.0


def test_the_objective_is_named_where_its_gradient_is_not_finite():
    problem = FunctionProblem(
        lambda x: (0.0, np.array([np.nan])), [lambda x: (0.0, np.ones(1))], dim=1
    )
    point = Point(np.zeros(1), np.zeros(2), lambda w: np.array([np.nan]))
    with pytest.raises(ValueError, match=re.escape(f"the gradient of {problem.label(0)} is not")):
        fit_multipliers(problem, point, 0.1)


def test_a_gradient_that_overflows_along_the_boundary_has_no_multiplier():
    problem = affine(
        [[1.5e308, 1.5e308], [-1.0, 1.0]],
        [0.0, 0.0],
        slope=[-2.0, -4.0],
        domain=sets.L2Ball(1.0),
    )
    point = Point(np.full(2, math.sqrt(0.5)), np.zeros(3), problem.at(np.zeros(2)).vjp)
    with np.errstate(all="ignore"):
        lam, _, _ = fit_multipliers(problem, point, 0.1)
    np.testing.assert_allclose(lam, [0.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize(("share", "price"), [(1.5, 1.0), (0.7, 0.0)])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_residual_that_is_rounding_has_no_price(scale, share, price):
    """Of the slope, all but a share of the rounding error is held by the domain."""
    rest = share * 1e-12 * scale
    domain = sets.Box([0.0, -np.inf], np.inf)
    problem = affine([[0.0, -1.0]], [0.0], slope=[scale, rest], domain=domain)
    fit = _Fit(problem, problem.at(np.zeros(2)))
    assert fit.prices(np.zeros(0), np.array([1])) == pytest.approx([price])


@pytest.mark.parametrize("size", [0.5, 200.0])
def test_prices_are_taken_a_millionth_of_the_point_away(size, monkeypatch):
    problem = affine([[-1.0, 0.0]], [0.0], slope=[3.0, 4.0])
    fit = _Fit(problem, problem.at(np.array([0.0, size])))
    seen, at = [], problem.at
    monkeypatch.setattr(type(problem), "at", lambda _, x: seen.append(x) or at(x))
    assert fit.prices(np.zeros(0), np.array([1])) == pytest.approx([0.6], rel=1e-6)
    expected = np.array([0.0, size]) - 1e-6 * max(1.0, size) * np.array([0.6, 0.8])
    np.testing.assert_allclose(seen, [expected], rtol=1e-12)


def test_a_function_that_is_curved_has_prices_of_its_slope():
    problem = FunctionProblem(
        lambda x: (2.0 * x[0], np.array([2.0, 0.0])),
        [lambda x: (-3.0 * x[0] + x[1], np.array([-3.0, 1.0]))],
        dim=2,
    )
    fit = _Fit(problem, problem.at(np.array([30.0, 40.0])))
    assert fit.prices(np.zeros(0), np.array([1]))[0] == pytest.approx(3.0, rel=1e-6)


def test_multipliers_are_not_shared_out_among_ever_more_constraints(monkeypatch):
    """Each batch lowers the loss by a third, as what many share weighs less in a sum of squares."""
    sizes = []
    monkeypatch.setattr(module, "nnls", lambda A, b: sizes.append(b.size) or nnls(A, b))
    rows = np.random.default_rng(0).normal(size=(2000, 5)) + [2.0, 0, 0, 0, 0]
    problem = affine(np.vstack((-np.eye(1, 5), rows)), np.append(0.0, np.full(2000, -1e-3)))
    lam, downhill, _ = fit_multipliers(problem, problem.at(np.zeros(5)), 1e-2)
    assert 5 + module.SHARED_OUT <= max(sizes) <= 2 * (5 + module.SHARED_OUT)
    assert np.abs(downhill).max() <= 1e-3
    assert (lam >= 0).all()
