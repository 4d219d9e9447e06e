"""Neighbouring shifts, with what is solved and counted on the way written down."""

from types import SimpleNamespace

import numpy as np
import pytest

from equipoise.estimators._counted import neighbours as module
from equipoise.estimators._counted.neighbours import (
    MOST_SHIFTS,
    NEARLY_PLAIN,
    ON_THE_WAY,
    neighbours,
    neighbours_of_far,
)

SPARE, LEFT = np.array([0.004]), np.array([0.0005])


@pytest.fixture
def asked(monkeypatch):
    """Every shift, and how exactly its problem was solved; counting adds 1 at the start, then 2, 3, ..."""
    monkeypatch.setattr(module, "sharpened", lambda problem, sharpness: problem)
    monkeypatch.setattr(module, "sharpness_for", lambda search: 1.0)
    monkeypatch.setattr(module, "counted_minus_smooth", lambda problem, x: x + 1.0)
    return []


def searching(asked, kept):
    """A search of which the n-th model keeps its bounds where `kept` says so."""

    def solve(shift, x, previous, rough):
        asked.append((float(shift[0]), rough))
        fit = model(len(asked), kept[len(asked) - 1])
        search.tried.append(fit)
        return fit

    problem = SimpleNamespace(shifted=lambda shift: shift)
    useful = {"is_useful": lambda fit: True}
    search = SimpleNamespace(problem=problem, spare=SPARE, tried=[], solve=solve, **useful)
    return search


def model(x, keeps):
    result = SimpleNamespace(success=True)
    found = {"keeps_bounds": keeps, "certified": keeps, "result": result}
    return SimpleNamespace(x=np.array([float(x)]), **found)


def test_every_shift_is_what_counting_adds_at_the_model_before(asked):
    search = searching(asked, [False, True])
    found = neighbours(search, model(0, True), LEFT)
    assert [fit.x[0] for fit in found] == [1.0, 2.0]
    assert asked == [(1.0 + LEFT[0], False), (2.0 + LEFT[0], False)]


def test_a_rough_model_that_keeps_its_bounds_is_the_last(asked):
    search = searching(asked, [True])
    assert len(neighbours(search, model(0, True), LEFT, rough=1e-3)) == 1
    assert asked == [(1.0 + LEFT[0], 1e-3)]


def far(search, is_ahead=lambda one, other: pytest.fail("nothing is to be compared")):
    return neighbours_of_far(search, model(0, True), LEFT, is_ahead)


def test_models_on_the_way_are_rough_and_not_returned(asked):
    found = far(searching(asked, [True] * 2))
    assert [fit.x[0] for fit in found] == [2.0]
    assert asked == [(1.0 + 0.5 * SPARE[0], ON_THE_WAY), (2.0 + LEFT[0], False)]


def test_more_is_left_until_a_model_keeps_its_bounds(asked):
    found = far(searching(asked, [False] * 4 + [True]))
    assert len(found) == 4
    shifts = np.array([shift for shift, _ in asked[1:]])
    means = [2.0, 3.0, (2 + 3 + 4) / 3, (3 + 4 + 5) / 3]
    np.testing.assert_allclose(shifts - means, [LEFT[0], 0.5 * SPARE[0], SPARE[0], 2 * SPARE[0]])


def test_where_none_keeps_its_bounds_shifting_ends(asked):
    assert len(far(searching(asked, [False] * 20))) == MOST_SHIFTS


def compared(asked, monkeypatch, ahead, widest=NEARLY_PLAIN):
    """What is solved, and how sharply, where the scores ask for sigmoids as sharp as `widest`."""
    sharpness = []

    def sharpened(problem, factor):
        def shifted(shift):
            sharpness.append(factor)
            return shift

        return SimpleNamespace(shifted=shifted, rows=problem.rows)

    def plain(shift):
        sharpness.append(1.0)
        return shift

    monkeypatch.setattr(module, "sharpened", sharpened)
    monkeypatch.setattr(module, "sharpness_for", lambda search: 1.5)
    monkeypatch.setattr(module, "sharpness_of", lambda problem, spread: widest)
    search = searching(asked, [True] * 4)
    search.problem.shifted, search.problem.rows = plain, SimpleNamespace(spread=lambda x: 4.0)
    seen = []

    def is_ahead(one, other):
        seen.append((one.x[0], other.x[0]))
        return ahead

    found = far(search, is_ahead)
    return sharpness, seen, [fit.x[0] for fit in found]


def test_plain_sigmoids_go_on_if_their_model_predicts_better(asked, monkeypatch):
    sharpness, seen, found = compared(asked, monkeypatch, ahead=True)
    assert sharpness == [1.5, 1.0, 1.0, 1.0]
    assert seen == [(3.0, 1.0)]
    assert found == [4.0]
    assert asked[-1] == (4.0 + LEFT[0], False)  # what counting adds at the plain model


def test_else_the_sharper_ones_do_from_their_own_model(asked, monkeypatch):
    sharpness, seen, found = compared(asked, monkeypatch, ahead=False)
    assert sharpness == [1.5, 1.0, 1.0, 1.5]
    assert seen == [(3.0, 1.0)]
    assert found == [4.0]
    assert asked[-1] == (2.0 + LEFT[0], False)


def test_narrow_scores_are_not_tried_with_plain_sigmoids(asked, monkeypatch):
    sharpness, seen, found = compared(asked, monkeypatch, True, widest=1.01 * NEARLY_PLAIN)
    assert sharpness == [1.5, 1.5]
    assert seen == []
    assert found == [2.0]
