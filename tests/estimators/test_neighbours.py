"""Neighbouring shifts, with what is solved and counted on the way written down."""

from types import SimpleNamespace

import numpy as np
import pytest

from equipoise.estimators._counted import neighbours as module
from equipoise.estimators._counted.neighbours import (
    MOST_SHIFTS,
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


def test_models_on_the_way_are_rough_and_not_returned(asked):
    search = searching(asked, [True] * 4)
    found = neighbours_of_far(search, model(0, True), LEFT)
    assert [fit.x[0] for fit in found] == [3.0, 4.0]
    rough = [(1.0 + 0.5 * SPARE[0], ON_THE_WAY[0]), (2.0 + 0.5 * SPARE[0], ON_THE_WAY[1])]
    assert asked == [*rough, (3.0 + LEFT[0], False), (4.0 + LEFT[0], False)]


def test_more_is_left_until_a_model_keeps_its_bounds(asked):
    search = searching(asked, [False] * 5 + [True])
    found = neighbours_of_far(search, model(0, True), LEFT)
    assert len(found) == 4
    shifts = np.array([shift for shift, _ in asked[2:]])
    means = [3.0, 4.0, (3 + 4 + 5) / 3, (4 + 5 + 6) / 3]
    np.testing.assert_allclose(shifts - means, [LEFT[0], 0.5 * SPARE[0], SPARE[0], 2 * SPARE[0]])


def test_where_none_keeps_its_bounds_shifting_ends(asked):
    search = searching(asked, [False] * 20)
    assert len(neighbours_of_far(search, model(0, True), LEFT)) == MOST_SHIFTS
