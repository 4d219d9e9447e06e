"""Sensitive columns: every kind a user may give, and every mistake with its message."""

import numpy as np
import pytest

from equipoise.constraints import (
    Each,
    bind,
    demographic_parity,
    equal_opportunity,
    rate,
    recall,
)
from equipoise.rows import MemoryGroups
from equipoise.rows._group_input import MAX_GROUPS

from .examples import N, data

Y, GROUPS, SCORES = data()
VALUES = bind(demographic_parity(0.1), Y, GROUPS).terms.at(SCORES).values


def members(group):
    return np.isin(GROUPS, group)


def same(features):
    binding = bind(demographic_parity(0.1), Y, features)
    np.testing.assert_array_equal(binding.terms.at(SCORES).values, VALUES)
    return binding


@pytest.mark.parametrize(
    "convert",
    [
        lambda g: g,
        lambda g: g.tolist(),
        lambda g: tuple(g),
        lambda g: g.astype(object),
        lambda g: g.astype("S"),
        lambda g: g[:, None],
        lambda g: {"sex": g},
        lambda g: np.searchsorted(["F", "M", "X"], g),
        lambda g: np.searchsorted(["F", "M", "X"], g).astype(float),
        lambda g: [{"F": 1, "M": "M", "X": "X"}[v] for v in g],
        lambda g: np.array(
            [np.datetime64("2020-01-01"), np.datetime64("2021-01-01"), np.datetime64("2022-01-01")]
        )[np.searchsorted(["F", "M", "X"], g)],
    ],
)
def test_arrays_of_any_kind(convert):
    same(convert(GROUPS))


def test_pandas_of_any_kind():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(GROUPS, name="sex", index=np.arange(N)[::-1])
    assert same(series).groups.columns["sex"].values == ("F", "M", "X")
    same(series.astype("category").cat.add_categories("unused"))
    same(series.astype("string"))
    same(series.to_frame())
    same(pandas.Series(np.searchsorted(["F", "M", "X"], GROUPS)).astype("Int64"))
    frame = pandas.DataFrame({"sex": GROUPS, "race": np.tile(["b", "w"], N // 2)})
    binding = bind(demographic_parity(0.1), Y, frame)
    assert binding.names[-1] == "demographic parity: race=w - race=b"
    np.testing.assert_allclose(binding.terms.at(SCORES).values[: VALUES.size], VALUES, rtol=1e-12)
    for missing in (None, np.nan, pandas.NA, pandas.NaT):
        with pytest.raises(ValueError, match=r"column 'sex' has 2\. Fill them"):
            bind(demographic_parity(0.1), Y, series.astype(object).where(series.index > 1, missing))
    with pytest.raises(ValueError, match="must not have missing values"):
        bind(demographic_parity(0.1), Y, series.astype("string").where(series.index > 1))


def test_column_names_of_any_kind():
    binding = bind(rate("positive", {0: "F"}) <= 0.5, Y, {0: GROUPS, 1: GROUPS})
    assert binding.inequalities[0].groups == ("0=F",)


def test_booleans_and_their_lookup():
    groups = members("F")
    binding = bind(rate("positive", True) <= 0.5, Y, groups)
    expected = (SCORES > 0)[groups].mean() - 0.5
    assert binding.terms.thresholded(SCORES)[1] == pytest.approx(expected)


def test_columns_and_their_intersections(rng):
    race = rng.choice(["b", "w"], N)
    features = {"sex": GROUPS, "race": race}
    each = bind(recall(0.5, group=Each(intersections=True)), Y, features, min_cell=2)
    assert len(each.inequalities) == 6
    assert each.inequalities[0].name == "recall: sex=F & race=b"
    for row, value in zip(each.inequalities, each.terms.thresholded(SCORES)[1:]):
        sex, colour = (part.split("=")[1] for part in row.groups[0].split(" & "))
        rows = members(sex) & (race == colour) & (Y == 1)
        assert row.measured(value) == pytest.approx((SCORES > 0)[rows].mean())
    named = bind(recall(0.5, group={"race": "b", "sex": "F"}), Y, features)
    assert named.terms.at(SCORES).values[1] == pytest.approx(each.terms.at(SCORES).values[1])
    tuples = bind(demographic_parity(0.1, column=("sex", "race")), Y, features, min_cell=2)
    assert len(tuples.inequalities) == 30
    crossed = Each(("sex", "race"), groups=(("F", "b"), ("M", "w")))
    assert len(bind(recall(0.5, group=crossed), Y, features, min_cell=2).inequalities) == 2
    array = np.column_stack([GROUPS, race])
    again = bind(demographic_parity(0.1, intersections=True), Y, array, min_cell=2)
    assert again.inequalities[0].groups == ("column 0=F & column 1=b", "column 0=F & column 1=w")


def test_small_intersections_are_listed_or_skipped():
    race = np.where(np.arange(N) < 9, "w", "b")
    features = {"sex": GROUPS, "race": race}
    constraint = demographic_parity(0.1, intersections=True)
    with pytest.raises(ValueError, match=r"fewer than 10 rows: .*& race=w.*Merge values") as error:
        bind(constraint, Y, features)
    counts = {f"sex={g} & race=w ({(members(g) & (race == 'w')).sum()})" for g in "FMX"}
    listed = str(error.value).split("rows: ")[1].split(". Merge")[0]
    assert set(listed.split(", ")) <= counts
    binding = bind(constraint, Y, features, small_cells="skip")
    assert len(binding.skipped) >= 1
    assert not any(name in row.groups for name in binding.skipped for row in binding.inequalities)


def test_an_intersection_without_positives_is_named_with_a_way_out():
    lonely = np.flatnonzero(members("F"))[:12]
    race = np.where(members("F"), "b", "w")
    race[lonely] = "w"
    features = {"sex": GROUPS, "race": race}
    few = Y.copy()
    few[lonely] = 0
    rule, cell = equal_opportunity(0.1, intersections=True), "sex=F & race=w"
    with pytest.raises(ValueError, match=rf"'{cell}' has no rows with the label .*`min_cell`"):
        bind(rule, few, features)
    binding = bind(rule, few, features, min_cell=13, small_cells="skip")
    assert cell in binding.skipped
    assert binding.inequalities


def test_rows_of_weight_zero_do_not_count():
    weight = (~members("X")).astype(float)
    with pytest.raises(ValueError, match="group 'X' has no rows of positive weight"):
        bind(demographic_parity(0.1), Y, GROUPS, weight)
    binding = bind(demographic_parity(0.1, groups=("F", "M")), Y, GROUPS, weight)
    assert len(binding.inequalities) == 2


def one_label(group):
    return np.where(members(group), 0, Y)


def alone(value):
    groups = GROUPS.astype(object)
    groups[5] = value
    return groups


DP, EO = demographic_parity(0.1), equal_opportunity(0.1)


@pytest.mark.parametrize(
    ("constraint", "y", "features", "message"),
    [
        (
            EO,
            one_label("M"),
            GROUPS,
            "group 'M' has no rows with the label 1, so its true positive",
        ),
        (DP, Y, alone("Z"), "group 'Z' has 1 row of positive weight; a rate needs at least 2"),
        (DP, Y, GROUPS[:-1], r"must have as many rows as `y` \(120\), but column 'group' has 119"),
        (DP, Y, alone(None), "must not have missing values, but column 'group' has 1. Fill them"),
        (DP, Y, alone(np.nan), "must not have missing values"),
        (DP, Y, np.where(np.arange(N) == 3, np.nan, 1.0), "must not have missing values"),
        (DP, Y, np.full(N, "F"), r"needs at least two groups to compare, got \['F'\]"),
        (
            DP,
            Y,
            np.arange(N),
            "column 'group' has 120 different values in 120 rows. Choose another",
        ),
        (DP, Y, SCORES, "merge its values into few groups"),
        (DP, Y, [[1], [2, 3]] * 60, "must hold one value for each row and column"),
        (DP, Y, np.array([["F"]] * N + [[]], dtype=object)[:N], "must hold plain values.*list"),
        (DP, Y, {}, "must have at least one column"),
        (DP, Y, np.ones((N, 2, 2)), "must hold one value for each row"),
        (rate("positive", "Q") <= 0.1, Y, GROUPS, "`group` must be one of 'F', 'M', 'X', got 'Q'"),
        (
            rate("positive", {"sex": "F"}) <= 0.1,
            Y,
            GROUPS,
            "`column` must be one of 'group', got 'sex'",
        ),
        (
            rate("positive", "F") <= 0.1,
            Y,
            {"a": GROUPS, "b": GROUPS},
            "occurs in the columns 'a', 'b': say which",
        ),
        (
            rate("positive", {"a": "F", "b": "M"}) <= 0.1,
            Y,
            {"a": GROUPS, "b": GROUPS},
            "`group` must occur in the data, got 'a=F & b=M'",
        ),
        (
            demographic_parity(0.1, column="age"),
            Y,
            GROUPS,
            "demographic parity: `column` must be one of 'group', got 'age'",
        ),
        (
            demographic_parity(0.1, groups=("F", "Q")),
            Y,
            GROUPS,
            "`groups` must be groups of column 'group', got 'Q'",
        ),
        (
            demographic_parity(0.1, intersections=True),
            Y,
            GROUPS,
            "`column` needs two columns for intersections",
        ),
        (DP, Y, None, "groups are needed; pass `sensitive_features`."),
    ],
)
def test_mistakes_with_groups(constraint, y, features, message):
    with pytest.raises(ValueError, match=message):
        bind(constraint, y, features)


def test_a_single_positive_member_is_too_few():
    y = Y.copy()
    y[np.flatnonzero(members("M") & (Y == 1))[1:]] = 0
    with pytest.raises(ValueError, match="group 'M' has 1 row with the label 1"):
        bind(EO, y, GROUPS)


def test_a_million_categories_are_refused_at_once():
    n = 1_000_000
    y = np.arange(n) % 2
    for features in (np.arange(n), np.arange(n).astype(object)):
        with pytest.raises(ValueError, match="has 1000000 different values in 1000000 rows"):
            bind(DP, y, features)


def test_too_many_pairs_and_too_many_cells():
    n = 2 * MAX_GROUPS
    y, groups = np.repeat([0, 1], n // 2), np.tile(np.arange(n // 4), 4)
    with pytest.raises(ValueError, match="use reference='mean' or 'overall'"):
        bind(DP, y, groups)
    assert len(bind(demographic_parity(0.1, "overall"), y, groups).inequalities) == n // 2
    two = {"a": np.arange(n) % 40, "b": np.arange(n) // 50}
    with pytest.raises(ValueError, match="column 'a & b' has 1600 different values"):
        bind(demographic_parity(0.1, intersections=True), y, two, min_cell=2)


def test_group_columns():
    column = MemoryGroups(GROUPS, N).columns["group"]
    for code, value in enumerate(column.values):
        np.testing.assert_array_equal(column.members(code), np.flatnonzero(members(value)))
        assert column.counts[code] == members(value).sum()
    assert column.find("Q") is None
