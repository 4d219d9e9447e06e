"""The search for groups nobody named: planted ones are found, and none where there is none."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from equipoise.metrics import worst_groups

N = 4000


def population(seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "sex": rng.choice(["F", "M"], N),
        "race": rng.choice(["a", "b", "c"], N),
        "age": rng.integers(18, 80, N),
    }
    return rng, columns, rng.integers(0, 2, N)


def planted(columns):
    return (columns["sex"] == "F") & (columns["race"] == "b")


@pytest.mark.parametrize("kind", ["positive", "true_positive", "false_positive", "error"])
@pytest.mark.parametrize("by", ["significance", "size"])
def test_a_planted_group_is_found(kind, by):
    rng, columns, y = population()
    predicted = np.where(planted(columns), rng.random(N) < 0.8, rng.random(N) < 0.3)
    if kind == "error":
        predicted = predicted ^ (y == 1)
    worst = worst_groups(y, predicted.astype(int), columns, kind=kind, by=by)[0]
    assert worst.group == (("sex", "F"), ("race", "b"))
    np.testing.assert_array_equal(worst.members, planted(columns))
    used = {"true_positive": y == 1, "false_positive": y == 0}.get(kind, np.ones(N, bool))
    counted = predicted if kind != "error" else predicted != (y == 1)
    assert worst.rows == (worst.members & used).sum()
    assert worst.rate == pytest.approx(counted[worst.members & used].mean())
    assert worst.rest == pytest.approx(counted[~worst.members & used].mean())
    assert "sex=F & race=b" in str(worst)


def test_a_group_of_three_columns_is_found_at_that_depth_only():
    rng, columns, y = population()
    inside = planted(columns) & (columns["age"] <= 30)
    predicted = np.where(inside, 1, rng.integers(0, 2, N))
    worst = worst_groups(y, predicted, columns, depth=3, by="gap")[0]
    assert worst.gap > 0.4
    assert {name for name, _ in worst.group} == {"sex", "race", "age"}
    assert all(len(found.group) <= 2 for found in worst_groups(y, predicted, columns, depth=2))


def test_nothing_is_found_by_chance_more_often_than_allowed():
    hits = 0
    for seed in range(200):
        rng, columns, y = population(seed)
        hits += bool(worst_groups(y, rng.integers(0, 2, N), columns, depth=2, confidence=0.9))
    assert hits <= 0.1 * 200 + 3 * np.sqrt(0.1 * 0.9 * 200)


def test_p_values_are_those_of_fisher_times_the_number_of_groups():
    _, columns, y = population()
    few = {"sex": columns["sex"]}  # two groups, of which one is the rest of the other
    predicted = (
        np.random.default_rng(1).random(N) < np.where(few["sex"] == "F", 0.45, 0.55)
    ).astype(int)
    found = worst_groups(y, predicted, few, confidence=0.5)
    assert [finding.gap for finding in found] == pytest.approx([found[0].gap, -found[0].gap])
    table = [
        [predicted[few["sex"] == g].sum(), (1 - predicted[few["sex"] == g]).sum()] for g in "FM"
    ]
    one_sided = min(fisher_exact(table, alternative=side)[1] for side in ("less", "greater"))
    assert found[0].p_value == pytest.approx(min(1.0, 2 * 2 * one_sided))


def test_small_groups_small_gaps_and_copies_are_left_out():
    rng, columns, y = population()
    predicted = np.where(planted(columns), 1, rng.integers(0, 2, N))
    copies = {**columns, "copy": columns["sex"]}
    names = [found.name for found in worst_groups(y, predicted, copies, depth=3, most=50)]
    assert len(set(names)) == len(names)
    assert not any("sex=" in name and "copy=" in name for name in names)
    assert worst_groups(y, predicted, columns, bound=0.9) == ()
    assert worst_groups(y, predicted, columns, min_rows=N) == ()
    assert len(worst_groups(y, predicted, columns, most=1)) == 1


def test_too_many_conjunctions_are_refused():
    wide = {f"c{j}": np.arange(N) % 999 + 0.0 for j in range(3)}
    wide = {name: values.astype(int).astype(str) for name, values in wide.items()}
    with pytest.raises(ValueError, match=r"conjunctions; merge values, or lower `depth`"):
        worst_groups(np.arange(N) % 2, np.arange(N) % 2, wide, depth=3)
