"""The order in which curvature is looked at, and what is asked of each part."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise.certificate import _curvature as module
from equipoise.certificate._curvature import (
    _doubted,
    _least_dimension,
    _on_cone,
    curvature_at,
    violation_curvature,
)
from equipoise.certificate._curvature_bounds import NO_DIRECTION
from equipoise.certificate._lanczos import LeastCurvature

from .affine import affine

UP = np.array([0.0, 1.0])


class Scripted:
    """What the parts are asked, and what they answer."""

    def __init__(self, monkeypatch, found, *, exact=False, is_space=True, shown=None):
        self.doubts, self.central, self.searches, self.doubted = [], [], [], 0
        self.found, self.shown = list(found), shown
        self.is_space = is_space

        def cone_at(problem, point, lam, gradient, doubt):
            self.doubts.append(doubt)
            return SimpleNamespace(
                project="outer",
                project_inside="inside",
                holds=True,
                is_space=is_space,
                nearest=lambda v: None,
            )

        class Products:
            def __init__(this, problem, point, weights, central=True):
                self.central.append((central, weights.tolist()))
                this.exact = exact

            def __call__(this, v):
                return v, 0.0

        def search(product, project, dim, most, *, seed=0):
            self.searches.append((project, dim, most, seed))
            return self.found.pop(0) if self.found else SimpleNamespace(direction=None)

        def doubted(found, of_objective, point, residual):
            self.doubted += 1
            return found

        monkeypatch.setattr(module.CriticalCone, "at", cone_at)
        monkeypatch.setattr(module, "HessianProducts", Products)
        monkeypatch.setattr(module, "least_curvature", search)
        monkeypatch.setattr(module, "_doubted", doubted)
        monkeypatch.setattr(module, "secant_curvature", lambda *_: self.shown)


def least(value, error=0.0, missing=0.0):
    return LeastCurvature(value, error, missing, 9.0, UP, 2)


PROBLEM = affine([[1.0, 0.0]], [0.0], facts=Facts(smooth=True))


def looked(multiplier=0.0, problem=PROBLEM, **options):
    point = problem.at(np.zeros(2))
    return curvature_at(problem, point, np.array([multiplier]), 1e-3, **options)


@pytest.mark.parametrize(
    ("first", "exact", "times"),
    [
        (least(1.0, 0.5), False, 1),
        (least(0.5, 0.5), False, 2),
        (least(0.4, 0.5), False, 2),
        (least(0.4, 0.5, 0.1), False, 1),
        (least(0.0, 0.5, 0.1), False, 2),
        (least(-1.0, 0.5), True, 1),
    ],
)
def test_rough_differences_come_first(first, exact, times, monkeypatch):
    script = Scripted(monkeypatch, [first, least(7.0)], exact=exact)
    found = looked(multiplier=3.0, most=11, seed=5)
    assert script.searches == [("outer", 2, 11, 5)] * times
    assert [known[0] for known in script.central[:times]] == [False, True][:times]
    assert script.central[0][1] == [1.0, 3.0]
    assert found.along == (7.0 if times == 2 else first.value)
    assert script.doubts == [pytest.approx(1e-2)]


@pytest.mark.parametrize(
    ("found", "multiplier", "doubted"),
    [
        (least(0.5, 0.5), 3.0, 1),
        (least(0.51, 0.5), 3.0, 0),
        (least(-0.5, 0.1), 3.0, 1),
        (least(-0.5, 0.1), 0.0, 0),
    ],
)
def test_what_is_added_is_in_doubt_where_the_sign_is_not_clear(
    found, multiplier, doubted, monkeypatch
):
    script = Scripted(monkeypatch, [found, found])
    looked(multiplier=multiplier)
    assert script.doubted == doubted
    if doubted:
        assert script.central[-1] == (True, [1.0, 0.0])


def test_the_bending_of_a_domain_is_in_doubt_too(monkeypatch):
    script = Scripted(monkeypatch, [least(-0.5, 0.1)] * 2)
    ball = affine([[1.0, 0.0]], [-9.0], slope=[1.0, 0.0], domain=sets.L2Ball(1.0))
    point = ball.at(np.array([-1.0, 0.0]))
    curvature_at(ball, point, np.zeros(1), 1e-3)
    assert script.doubted == 1
    partly = sets.Product([(sets.L2Ball(1.0), 2), (sets.WholeSpace(), 1)])
    problem = affine([[1.0, 0.0, 0.0]], [-9.0], slope=[1.0, 0.0, 0.0], domain=partly)
    script = Scripted(monkeypatch, [least(-0.5, 0.1)] * 2)
    curvature_at(problem, problem.at(np.array([-1.0, 0.0, 0.0])), np.zeros(1), 1e-3)
    assert script.doubted == 1


@pytest.mark.parametrize(("slope", "doubt"), [(4.0, 0.05), (2e-2, 3.0), (0.0, 0.0)])
def test_what_multipliers_add_is_wrong_by_the_residuals_share_of_the_slope(slope, doubt):
    """Of the curvature -1, 2 is the objective's and -3 is added; ten residuals of a slope are in doubt."""
    problem = affine([[1.0, 0.0]], [0.0], slope=[slope, 0.0])

    def of_objective(v):
        return 2.0 * v, 0.25

    found = _doubted(least(-1.0, 0.5), of_objective, problem.at(np.zeros(2)), 2e-2 / 3)
    assert found.error == pytest.approx(0.5 + doubt)
    assert found.largest == 9.0
    small = LeastCurvature(-1.0, 0.5, 0.0, 1.0, UP, 2)
    assert _doubted(small, of_objective, problem.at(np.zeros(2)), 0.0).largest == 3.0
    assert _doubted(small, lambda v: (-7.0 * v, 0.0), problem.at(np.zeros(2)), 0.0).largest == 7.0


@pytest.mark.parametrize(
    ("value", "is_space", "within"), [(-1.0, True, 0), (-1.0, False, 1), (1.0, False, 0)]
)
def test_a_direction_of_the_cone_is_looked_for_where_the_space_bends_down(
    value, is_space, within, monkeypatch
):
    script = Scripted(monkeypatch, [least(value)] * 2, is_space=is_space)
    found = looked(seed=3)
    assert script.doubts == pytest.approx([1e-2, 1e-3][: 1 + within])
    assert [search[0] for search in script.searches].count("inside") == within
    if within:
        assert script.searches[-1] == ("inside", 2, module.MAX_PRODUCTS, 3)
        assert found.upper == math.inf


def test_constraints_may_take_a_dimension_each():
    problem = affine(np.zeros((40, 50)), np.zeros(40))
    found = _least_dimension(problem, problem.at(np.zeros(50)), np.zeros(50))
    assert -20 < found < 40  # about 10, from a random vector whose square is about 50


def test_earlier_points_spare_all_products(monkeypatch):
    script = Scripted(monkeypatch, [], shown=least(2.0, 0.5))
    found = looked()
    assert (found.lower, found.upper, found.along, found.worth) == (1.5, 2.5, 2.0, "by differences")
    assert script.searches == []


@pytest.mark.parametrize(
    ("value", "holds", "expected"),
    [(math.inf, True, NO_DIRECTION), (math.inf, False, None), (math.nan, True, None)],
)
def test_a_subspace_without_a_direction(value, holds, expected):
    found = LeastCurvature(value, 0.0, 0.0, 0.0, None, 0)
    assert _on_cone(found, SimpleNamespace(holds=holds), exact=True) is expected


def test_what_facts_settle():
    for facts, none in ((Facts(smooth=False), True), (Facts(convex=True), False)):
        problem = affine([[1.0, 0.0]], [1.0], facts=facts)
        found = looked(problem=problem)
        assert (found is None) is none
        if not none:
            assert (found.lower, found.upper) == (0.0, math.inf)
        found = violation_curvature(problem, problem.at(np.zeros(2)))
        assert (found is None) is none
    convex = affine([[1.0, 0.0]], [1.0], facts=Facts(convex_constraints=True))
    assert violation_curvature(convex, convex.at(np.zeros(2))).lower == 0.0


def test_the_violation_bends_by_its_slopes_and_its_constraints():
    """``sum [f_i]_+^2 / 2`` of ``1 - x^2 - y^2/2`` and ``-5 + 9 x``, at 0, with products by the problem."""
    problem = FunctionProblem(
        lambda x: (9.0 * x[0], np.array([9.0, 0.0])),
        [
            lambda x: (1 - x[0] ** 2 - 0.5 * x[1] ** 2, np.array([-2 * x[0], -x[1]])),
            lambda x: (9 * x[0] - 5, np.array([9.0, 0.0])),
        ],
        dim=2,
    )
    found = violation_curvature(problem, problem.at(np.zeros(2)))
    assert found.along == pytest.approx(-2.0, rel=1e-4)
    assert found.negative
    assert abs(found.direction[0]) == pytest.approx(1.0, abs=1e-4)
    tilted = FunctionProblem(
        lambda x: (0.0, 0 * x),
        [
            lambda x: (0.5 + x[0] - x[1] ** 2, np.array([1.0, -2 * x[1]])),
            lambda x: (0.5 - x[0] + x[1] ** 2 / 4, np.array([-1.0, x[1] / 2])),
        ],
        dim=2,
    )
    found = violation_curvature(tilted, tilted.at(np.zeros(2)))
    assert found.along == pytest.approx(0.5 * -2 + 0.5 * 0.5, rel=1e-4)
    assert found.largest == pytest.approx(2.0, rel=1e-4)


def test_a_bound_of_the_domain_keeps_the_violation_from_falling():
    """At the lower bound the violation ``1 + x - x^2`` falls nowhere, though it bends down there."""
    problem = FunctionProblem(
        lambda x: (0.0, 0 * x),
        [lambda x: (1 + x[0] - x[0] ** 2, np.array([1 - 2 * x[0]]))],
        domain=sets.Box(0, 0.25, dim=1),
    )
    assert violation_curvature(problem, problem.at(np.zeros(1))) is NO_DIRECTION
