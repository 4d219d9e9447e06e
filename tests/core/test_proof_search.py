"""The search for a proof of infeasibility, step by step."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, sets
from equipoise.certificate import _proving as proving
from equipoise.certificate._proving import DESCENT, _Bundle

from .affine import affine

CONVEX = Facts(convex_constraints=True)


def line(value):
    """A constraint that is 1 + x from 0 on, and has this value and the slope -1 at -1/2."""

    def constraint(x):
        return (1.0 + x[0], np.ones(1)) if x[0] >= 0 else (value, -np.ones(1))

    return FunctionProblem(lambda x: (0.0, 0 * x), [constraint], dim=1, facts=CONVEX)


@pytest.mark.parametrize(
    ("share", "center", "shorter"),
    [(1.1 * DESCENT, -0.5, True), (0.9 * DESCENT, -0.5, False), (-0.1, 1.0, False)],
)
def test_a_step_that_wins_its_share_of_what_was_promised_makes_the_next_ones_longer(
    share, center, shorter
):
    """At 1 there are 2 units of violation; the plane promises to win 1.5 of them at -1/2."""
    bundle = _Bundle(line(2.0 - share * 1.5), np.ones(1), 0.0)
    before = bundle.modulus
    assert bundle.advance(np.array([-0.5]))
    assert bundle.center[0] == center
    assert bundle.excess == min(2.0, 2.0 - share * 1.5)
    assert bundle.modulus == before * (0.25 if shorter else 1.0)
    assert bundle.values.size == 2


def test_the_search_ends_where_nothing_is_promised_or_little_enough_is_left():
    assert not _Bundle(line(1.5), np.ones(1), 0.0).advance(np.array([1.0]))
    assert not _Bundle(line(1.5), np.ones(1), 1.5).advance(np.array([-0.5]))
    assert _Bundle(line(1.5), np.ones(1), 1.4).advance(np.array([-0.5]))


def test_planes_are_dropped_on_the_way(monkeypatch):
    monkeypatch.setattr(proving, "MAX_PLANES", 2)
    bundle = _Bundle(line(1.5), np.ones(1), 0.0)
    for y in (0.9, 0.8, 0.7, 0.6, 0.5):
        bundle.advance(np.array([y]))
    assert bundle.values.tolist() == [2.0, 1.6, 1.5]  # the one with the weight, and the newest


def test_weights_are_made_to_sum_to_one(monkeypatch):
    """An answer of the quadratic program that is off by a factor gives the same weights."""
    rng = np.random.default_rng(0)
    problem = affine(
        rng.normal(size=(3, 2)), 1 + rng.random(3), domain=sets.Box(-1, 1, dim=2), facts=CONVEX
    )

    def solved():
        bundle = _Bundle(problem, np.zeros(2), 0.0)
        bundle.add(problem.at(np.array([0.5, -0.5])))
        return bundle.solve(), bundle.weights

    y, weights = solved()
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert np.count_nonzero(weights > 1e-3) > 1
    minimize = proving.minimize

    def rough(*given, factor, **options):
        answer = minimize(*given, **options)
        answer.x = factor * answer.x
        return answer

    for factor, taken in ((1.25, True), (0.75, True), (0.4, False)):
        monkeypatch.setattr(
            proving, "minimize", lambda *a, by=factor, **b: rough(*a, factor=by, **b)
        )
        again, found = solved()
        assert found.sum() == pytest.approx(1.0, abs=1e-15)
        assert np.allclose(found, weights, atol=1e-12) == taken
        assert np.allclose(again, y, atol=1e-12) == taken


def test_slopes_are_cancelled_but_for_what_the_domain_holds():
    """On x_0 >= 0 the planes fall to the outside; the rest is made to cancel to the last digit."""
    domain = sets.Box([0.0, -np.inf], np.inf)
    rows = np.array([[1.0, 1.0], [1.0, -1.0 + 1e-7], [1.0, 0.5]])
    problem = affine(rows, np.ones(3), domain=domain, facts=CONVEX)
    bundle = _Bundle(problem, np.zeros(2), 0.0)
    bundle.weights = np.array([0.5, 0.5 - 1e-10, 1e-10])
    w = bundle._cancelled(np.zeros(2))
    assert abs((w @ rows)[1]) <= 1e-15
    assert w.sum() == pytest.approx(1.0, abs=1e-15)
    assert w[2] == 0.0
    np.testing.assert_allclose(w, [0.5, 0.5, 0.0], atol=1e-7)
    apart = affine([[1.0, 1.0], [1.0, 2.0]], np.ones(2), domain=domain, facts=CONVEX)
    bundle = _Bundle(apart, np.zeros(2), 0.0)
    bundle.weights = np.array([0.5, 0.5])
    assert bundle._cancelled(np.zeros(2)) is bundle.weights  # only a negative weight would do


def test_slopes_that_are_nearly_parallel_are_cancelled_too():
    """They are told apart by the ten-millionth part of their length."""
    off = 1e-7
    rows = np.array([[1.0, 0.0], [-1.0, off], [-1.0, -off]])
    bundle = _Bundle(affine(rows, np.ones(3), facts=CONVEX), np.zeros(2), 0.0)
    bundle.weights = np.array([0.5, 0.3, 0.2])
    w = bundle._cancelled(np.zeros(2))
    np.testing.assert_allclose(w, [0.5, 0.25, 0.25], rtol=1e-6)
    assert np.abs(w @ rows).max() <= 1e-15
