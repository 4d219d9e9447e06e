"""The least value that a method's parameter may have is accepted, and the next smaller one refused."""

import pytest

from equipoise import solvers
from equipoise.solvers import SOLVERS, Sequence
from equipoise.solvers._minmax.subgradient import MinMaxSubgradient
from equipoise.solvers._parts.backtracking import Backtracking

COUNTS = {  # the least value of every count
    "apg": {"steps": 1},
    "augmented_lagrangian": {"loops": 1, "steps": 1},
    "conex": {"steps": 1},
    "exact_penalty": {"products": 0},
    "feasibility": {"steps": 1},
    "imela": {"steps": 1},
    "ippp": {"steps": 1},
    "sfls": {"max_levels": 1, "retries": 0},
    "smd": {"steps": 1},
    "strong_switching": {"steps": 1},
    "yu_neely_wei": {"steps": 1},
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    for parameter, least in COUNTS[name].items():
        assert getattr(SOLVERS[name](**{parameter: least}), parameter) == least
        with pytest.raises(
            ValueError, match=rf"`{parameter}` must be an integer of at least {least}"
        ):
            SOLVERS[name](**{parameter: least - 1})


def test_counts_of_parts():
    first, second = SOLVERS["sqp"](), SOLVERS["switching"]()
    assert Sequence(first, second, steps=1).steps == 1
    with pytest.raises(ValueError, match="`steps` must be an integer of at least 1, got 0"):
        Sequence(first, second, steps=0)
    with pytest.raises(ValueError, match="`second` must be a Solver"):
        Sequence(first, 3)
    assert MinMaxSubgradient(budget=1).budget == 1
    with pytest.raises(ValueError, match="`budget` must be an integer of at least 1, got 0"):
        MinMaxSubgradient(budget=0)
    for wrapper in (solvers.Restarted, solvers.BestCertified):
        assert wrapper(second, every=1).every == 1
        with pytest.raises(ValueError, match="`every` must be an integer of at least 1, got 0"):
            wrapper(second, every=0)


@pytest.mark.parametrize(
    ("name", "parameter", "accepted", "refused"),
    [
        ("augmented_lagrangian", "growth", 1.01, 1.0),
        ("augmented_newton", "growth", 1.01, 1.0),
        ("exact_penalty", "shrink", 0.99, 1.0),
        ("exact_penalty", "grow", 1.0, 0.99),
        ("level_set", "theta", 0.5, 0.49),
        ("plada", "alpha", 1.01, 1.0),
        ("sfls", "theta", 0.5, 0.49),
    ],
)
def test_bounds_of_numbers(name, parameter, accepted, refused):
    assert getattr(SOLVERS[name](**{parameter: accepted}), parameter) == accepted
    with pytest.raises(ValueError, match=f"`{parameter}` must"):
        SOLVERS[name](**{parameter: refused})


def test_rounds_may_stay_as_long_as_they_are():
    method = SOLVERS["switching"]()
    assert solvers.Restarted(method, growth=1.0).growth == 1.0
    with pytest.raises(ValueError, match="`growth` must be at least 1"):
        solvers.Restarted(method, growth=0.99)


@pytest.mark.parametrize("first", [0.0, -1.0, float("inf")])
def test_the_first_step_size_is_positive(first):
    with pytest.raises(ValueError, match="Backtracking: `first` must be positive"):
        Backtracking(first)
