"""The judge of the hunt finds what is wrong, and leaves what is right alone."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import SHAPES, Function
from benchmarks.hunt.judge import Claim, better_nearby, feasible_point, findings
from benchmarks.hunt.kinds import KINDS, draw
from benchmarks.hunt.regions import Ball, Blocks, Box, Corner, Cross, Rows, Whole

TOL = 1e-6


def claim(case, x, multipliers=(), **changes):
    """A claim of success at `x` with true figures."""
    x = np.asarray(x, dtype=float)
    values = [float(f.value(x)) for f in case.functions]
    made = Claim(
        success=True,
        proved_infeasible=False,
        only_feasible=False,
        x=x,
        multipliers=np.array(multipliers, dtype=float),
        violation=max([0.0, *values[1:]]),
        objective=values[0],
        tol=TOL,
    )
    return replace(made, **changes)


def distance(center):
    """``|x - center|^2 / 2``."""
    center = np.asarray(center, dtype=float)
    return Function(-center, np.eye(center.size), center @ center / 2)


def disc():
    """The point of the unit disc nearest to (2, 0): (1, 0), with the multiplier 1."""
    return Case([distance([2, 0]), Function(np.zeros(2), np.eye(2), -0.5)], Whole(2), feasible=True)


def pair():
    """``|x + 0.61| + |y + 0.55|`` on a line, written as two inequalities: kinks and an equality."""
    a, rows = np.array([-0.6, 0.95]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    maxima = ((rows, np.array([0.61, -0.61])), (rows[:, ::-1], np.array([0.55, -0.55])))
    f = Function(np.zeros(2), maxima=maxima)
    return Case([f, Function(a, c=-0.1), Function(-a, c=0.1)], Box(np.full(2, -2), np.full(2, 2)))


def test_a_true_optimum_is_left_alone():
    assert findings(disc(), claim(disc(), [1, 0], [1])) == []
    assert findings(disc(), claim(disc(), [1, 0], [0])) == []  # other multipliers make it one
    assert findings(pair(), claim(pair(), [-0.61, (0.1 - 0.6 * 0.61) / 0.95], [0.5, 0])) == []


@pytest.mark.parametrize(
    ("x", "changes", "word"),
    [
        ([1.00001, 0], {}, "violation"),
        ([0.9999, 0], {}, "stationarity"),
        ([-1, 0], {}, "stationarity"),
        ([1, 0], {"objective": 0.4}, "objective"),
        ([np.nan, 0], {}, "not finite"),
    ],
)
def test_a_false_success_is_found(x, changes, word):
    (sentence, *_) = findings(disc(), claim(disc(), x, [1], **changes))
    assert word in sentence


def test_points_beyond_a_break_are_found_and_those_on_its_edge_are_not():
    flat = Function(np.zeros(1), hole=(np.array([0.1]), 0.1 * 0.3))
    case = Case([flat], Whole(1))
    assert findings(case, claim(case, [0.3])) == []
    assert "not finite" in findings(case, claim(case, [0.3 + 1e-9]))[0]


def test_small_multipliers_of_constraints_with_room_count_at_kinks_and_large_ones_do_not():
    """``|x| + s x`` at 1 has the slope 1 + s; a constraint with room 0.1 and slope -1 may carry tol / 0.1."""
    kink = np.array([[1.0], [-1.0]]), np.zeros(2)
    for slope, wrong in ((5 * TOL, False), (1e-3, True)):
        f = Function(np.array([slope - 1.0]), maxima=(kink,))
        case = Case([f, Function(-np.ones(1), c=0.9)], Whole(1))
        assert bool(findings(case, claim(case, [1.0], [slope]))) is wrong


def test_a_violation_that_is_stated_too_small_is_found():
    off = claim(disc(), [1 + 1e-8, 0], [1], violation=0.0)
    assert any("wrong figure" in sentence for sentence in findings(disc(), off))


def test_huge_multipliers_that_cancel_prove_nothing():
    off = claim(pair(), [(-0.1 + 0.95 * 0.6) / 0.6, 0.6], [2.7e16, 2.7e16])
    assert any("stationarity" in sentence for sentence in findings(pair(), off))


def test_a_convex_problem_has_no_better_point():
    case = Case([distance([0, 0])], Whole(2), planted=np.zeros(2), optimal=np.zeros(0))
    flat = claim(case, [1e-7, 0])
    assert findings(case, flat) == []
    assert findings(case, replace(flat, objective=-1e-3)) != []
    assert "above the optimum" in findings(case, claim(case, [1, 0]))[-1]


def test_a_feasible_point_contradicts_a_proof():
    far = claim(disc(), [5, 0], success=False, proved_infeasible=True)
    assert "wrong proof" in findings(disc(), far)[0]
    unknown = replace(disc(), feasible=None)
    assert "is feasible" in findings(unknown, far)[0]
    empty = Case([distance([2, 0]), Function(np.zeros(2), np.eye(2), 0.5)], Whole(2))
    assert findings(empty, far) == []
    assert feasible_point(empty) is None


def test_a_run_that_claims_nothing_is_left_alone():
    assert findings(disc(), claim(disc(), [7, 7], [0], success=False)) == []
    assert findings(disc(), claim(disc(), [0, 0], [0], only_feasible=True)) == []


def test_maxima_have_better_points_nearby():
    case = Case([Function(np.zeros(2), -np.eye(2))], Whole(2))
    assert better_nearby(case, np.zeros(2)) == pytest.approx(0.005)
    assert better_nearby(disc(), np.array([1.0, 0.0])) == 0.0


REGIONS = {
    # the set, a point on its boundary, a direction out of it that is normal there, one that is not
    "box": (Box(np.zeros(2), np.ones(2)), [1, 0.5], [1, 0], [0, 1]),
    "ball": (Ball(np.array([1.0, 0.0]), 2.0), [3, 0], [1, 0], [1, 1]),
    "cross": (Cross(2, 1.0), [1, 0], [1, 0.9], [1, 1.1]),
    "corner": (Corner(2, 1.0), [1, 0], [3, 1], [1, 3]),
    "rows": (Rows(np.array([[1.0, 1.0]]), np.ones(1), np.zeros(2)), [1, 0], [1, 1], [1, 0]),
    "blocks": (Blocks((Box(np.zeros(1), np.ones(1)), Whole(1))), [1, 0], [1, 0], [1, 1]),
}


@pytest.mark.parametrize("name", REGIONS)
def test_normals_of_sets(name):
    region, x, normal, other = REGIONS[name]
    right = Case([Function(-np.array(normal, dtype=float))], region)
    wrong = Case([Function(-np.array(other, dtype=float))], region)
    assert findings(right, claim(right, x)) == []
    assert findings(wrong, claim(wrong, x)) != []
    outside = claim(right, np.array(x) + 0.1 * np.array(normal))
    assert "outside the domain" in findings(right, outside)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_have_their_derivatives(shape):
    one, t, h = SHAPES[shape], np.linspace(-2, 2, 9), 1e-6
    np.testing.assert_allclose(
        one.slope(t), (one.value(t + h) - one.value(t - h)) / (2 * h), atol=1e-6
    )
    np.testing.assert_allclose(
        one.bend(t), (one.slope(t + h) - one.slope(t - h)) / (2 * h), atol=1e-6
    )
    assert (np.abs(one.slope(t)) <= one.steepest).all()
    assert (one.bend(t) >= one.least).all()
    assert (one.bend(t) <= one.most).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_of_the_cases_is_true(kind):
    for seed in range(20):
        case = draw(kind, seed)
        x, v = case.region.inside(np.random.default_rng(seed)), np.ones(case.dim)
        assert np.max(case.region.limits(x)) <= 1e-9
        if case.feasible and case.honest:
            room = [
                float(f.value(case.planted)) - 1e-12 * f.size(case.planted)
                for f in case.functions[1:]
            ]
            assert max(room, default=0.0) <= 0
        if case.optimal is not None:
            assert findings(case, claim(case, case.planted, case.optimal)) == []
        if case.honest and kind != "huge":
            for f in case.functions:
                h = 1e-6 / np.max(np.abs(f.stretch))
                slope = (f.value(x + h * v) - f.value(x - h * v)) / (2 * h)
                error = 1e-4 * abs(f.gradient(x) @ v) + 1e-14 * f.size(x) / h
                kinks = sum(np.abs(rows).sum() for rows in f.jumps(x, 10 * h) if len(rows) > 1)
                bend = max(abs(b) for b in f.bends())
                if np.isfinite(bend):
                    assert (
                        abs(slope - f.gradient(x) @ v)
                        <= error + kinks + 1e3 * bend * h + 1e-9 * f.scale
                    )
