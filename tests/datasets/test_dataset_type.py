"""The result type, the registry, the table reader, the group builder; no real data needed."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from equipoise.datasets import (
    DATASETS,
    Dataset,
    intersectional_groups,
    load,
    load_mslr,
    make_census,
)
from equipoise.datasets._columns import design, indices, one_hot, parsed, read_columns
from equipoise.datasets._segment import NAMES as SEGMENT_NAMES
from equipoise.datasets._usps import smooth


def small(n=12, **changes):
    rng = np.random.default_rng(0)
    fields = {
        "name": "small",
        "X": rng.normal(size=(n, 2)),
        "y": rng.integers(0, 2, n),
        "groups": np.where(np.arange(n) % 3 == 0, "a", "b"),
        "feature_names": ("u", "v"),
        "target_names": ("no", "yes"),
        "attributes": {"w": rng.random(n)},
        "query": np.arange(n) // 4,
    }
    return Dataset(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"y": np.zeros(3, int)}, r"Dataset: `y` must have shape \(12,\), got \(3,\)"),
        ({"groups": np.zeros((12, 1))}, "Dataset: `groups`"),
        ({"attributes": {"w": np.zeros(1)}}, r"Dataset: `attributes\['w'\]`"),
        ({"feature_names": ("u",)}, "`feature_names` must have 2 entries, got"),
    ],
)
def test_columns_must_fit(changes, match):
    with pytest.raises(ValueError, match=match):
        small(**changes)


def test_a_data_set_is_frozen():
    with pytest.raises(AttributeError):
        small().name = "other"


def test_rows_and_part_select_every_column():
    data = small(split={"train": np.array([0, 3, 5])})
    part = data.part("train")
    assert part.n == 3
    np.testing.assert_array_equal(part.X, data.X[[0, 3, 5]])
    np.testing.assert_array_equal(part.y, data.y[[0, 3, 5]])
    np.testing.assert_array_equal(part.query, [0, 0, 1])
    np.testing.assert_array_equal(part.attributes["w"], data.attributes["w"][[0, 3, 5]])
    assert part.group_names == ("a", "b")
    assert part.split == {}
    assert data.rows(data.groups == "a").n == 4
    with pytest.raises(
        ValueError, match=r"Dataset.part: `name` must be one of 'train', got 'test'"
    ):
        data.part("test")


@given(
    n=st.integers(1, 60),
    shares=st.lists(st.floats(0.1, 10), min_size=1, max_size=4),
    seed=st.integers(0, 5),
)
def test_divide_is_a_partition_of_the_asked_sizes(n, shares, seed):
    names = {f"part{i}": share for i, share in enumerate(shares)}
    split = small(n).divide(seed=seed, **names).split
    assert list(split) == list(names)
    np.testing.assert_array_equal(np.sort(np.concatenate(list(split.values()))), np.arange(n))
    for name, share in names.items():
        assert abs(len(split[name]) - n * share / sum(shares)) <= 1.0


def test_divide_is_reproducible_and_checks():
    data = small(100)
    first, again = (data.divide(seed=3, train=2, test=1).split["train"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, data.divide(seed=4, train=2, test=1).split["train"])
    with pytest.raises(ValueError, match=r"Dataset.divide: `train` must be positive"):
        data.divide(train=-1)
    with pytest.raises(ValueError, match="at least one part"):
        data.divide()


def test_repr_names_the_counts():
    text = repr(small(split={"train": np.arange(12)}, note="Mind the gap."))
    assert "12 rows x 2 features" in text
    assert "a 4, b 8" in text
    assert "train 12" in text
    assert "Mind the gap." in text


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_to_frame(make):
    pytest.importorskip("pandas")
    X = np.eye(12)[:, :2]
    frame = small(X=make(X)).to_frame()
    assert list(frame.columns) == ["u", "v", "target", "group"]
    np.testing.assert_array_equal(frame[["u", "v"]].to_numpy(), X)
    assert set(frame["target"]) == {"no", "yes"}


def test_import_loads_neither_pandas_nor_pooch():
    code = (
        "import sys, equipoise.datasets;"
        "print([m for m in ('pandas', 'pooch', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_load_is_the_registry():
    assert list(DATASETS) == sorted(DATASETS), "`DATASETS` is in alphabetical order"
    assert load("census", n=50, seed=2).n == 50
    with pytest.raises(
        ValueError, match=r"load: `name` must be one of 'adult', .*, got 'unheard-of'"
    ):
        load("unheard-of")
    with pytest.raises(TypeError, match="colour"):
        load("census", colour="blue")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adult", {"variant": "x"}),
        ("bank", {"variant": "x"}),
        ("compas", {"variant": "x"}),
        ("loans", {"variant": "x"}),
        ("segment", {"form": "x"}),
        ("usps", {"form": "x"}),
        ("mslr", {"quality": "x"}),
    ],
)
def test_unknown_variants_raise_before_any_file_is_touched(name, options):
    with pytest.raises(ValueError, match=rf"load_{name}: `\w+` must be one of .*, got 'x'"):
        load(name, **options)


# --- tables -------------------------------------------------------------------------------------


def test_read_table_keeps_only_the_wanted_columns_and_the_first_of_two():
    data = b'name;a;b;a\n"X; Y";1;p;9\n\nZ;2;"q;r";9\n'
    table = read_columns(data, ["b", "a"], delimiter=";")
    assert {name: column.tolist() for name, column in table.items()} == {
        "b": ["p", "q;r"],
        "a": ["1", "2"],
    }


def test_numbers_and_one_hot():
    np.testing.assert_array_equal(
        parsed(np.array(["1", "", "?", "-2.5"])), [1, np.nan, np.nan, -2.5]
    )
    levels, matrix = one_hot(np.array(["b", "a", "b", "c"]))
    assert levels == ["a", "b", "c"]
    np.testing.assert_array_equal(matrix, [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    levels, matrix = one_hot(np.array(["b", "a", "b", "c"]), drop_first=True)
    assert levels == ["b", "c"]
    np.testing.assert_array_equal(matrix.sum(axis=1), [1, 0, 1, 1])


def test_design_and_indices():
    table = {"n": np.array(["1.5", "2"]), "c": np.array(["x", "y"])}
    X, names = design(table, ["n"], ["c"])
    assert names == ("n", "c=x", "c=y")
    np.testing.assert_array_equal(X, [[1.5, 1, 0], [2, 0, 1]])
    assert X.flags.c_contiguous
    assert [part.tolist() for part in indices(2, 0, 3)] == [[0, 1], [], [2, 3, 4]]


# --- intersectional groups ----------------------------------------------------------------------


def brute_force(values, split, quantiles, least_share):
    members, thresholds = [], []
    levels = [
        [np.quantile(values[split["train"], j], q) for q in quantiles]
        for j in range(values.shape[1])
    ]
    for cell in itertools.product(*levels):
        inside = np.array([all(row[j] > cell[j] for j in range(len(cell))) for row in values])
        if all(inside[rows].mean() > least_share for rows in split.values()):
            members.append(inside)
            thresholds.append(cell)
    return np.array(members, dtype=bool).reshape(-1, len(values)).T, np.array(thresholds)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 3),
    least_share=st.sampled_from([0.0, 0.01, 0.1, 0.3]),
    ties=st.booleans(),
)
def test_intersectional_groups_equal_brute_force(seed, k, least_share, ties):
    rng = np.random.default_rng(seed)
    n, names = 40, [f"a{j}" for j in range(k)]
    values = rng.integers(0, 6, (n, k)) / 5 if ties else rng.random((n, k))
    data = small(n, attributes=dict(zip(names, values.T))).divide(seed=seed, train=2, test=1)
    quantiles = (0.05, 0.35, 0.65, 0.95)
    members, thresholds = intersectional_groups(
        data, names, quantiles=quantiles, least_share=least_share
    )
    expected, cells = brute_force(values, data.split, quantiles, least_share)
    np.testing.assert_array_equal(members, expected)
    np.testing.assert_allclose(thresholds, cells.reshape(-1, k), rtol=0, atol=1e-15)


def test_intersectional_groups_are_nested_in_the_thresholds(real):
    data = real("communities")
    members, thresholds = intersectional_groups(data)
    assert members.shape == (1_994, 809)  # P2 prints 535; not reproducible from what it says
    assert thresholds.shape == (809, 3)
    order = np.random.default_rng(0).integers(0, 809, (300, 2))
    for i, j in order:
        if (thresholds[i] >= thresholds[j]).all():
            assert not (members[:, i] & ~members[:, j]).any()
    for rows in data.split.values():
        assert members[rows].mean(axis=0).min() > 0.01


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"attributes": ["z"]}, "`attributes` must be one of 'w', got 'z'"),
        ({"attributes": ["w"], "least_share": 2}, "`least_share` must lie between 0 and 1"),
    ],
)
def test_intersectional_groups_check_their_input(options, match):
    with pytest.raises(ValueError, match=match):
        intersectional_groups(small().divide(train=1, test=1), **options)
    with pytest.raises(ValueError, match=r"`dataset.split`"):
        intersectional_groups(small(), ["w"])


# --- formats that need no published file --------------------------------------------------------


def test_usps_smoothing_by_hand():
    image = np.full((16, 16), -1.0)
    np.testing.assert_allclose(smooth(image.reshape(1, -1)), -1.0)
    image[8, 8] = 1.0
    out = smooth(image.reshape(1, -1)).reshape(16, 16) + 1.0
    g = np.exp(-(np.arange(-3, 4) ** 2) / (2 * 0.75**2))
    g /= g.sum()
    np.testing.assert_allclose(out[5:12, 5:12], 2 * np.outer(g, g), atol=1e-14)
    assert out[:5].max() < 1e-14


def test_segment_has_nineteen_names():
    assert len(set(SEGMENT_NAMES)) == 19


def test_mslr_reads_a_full_fold_from_a_folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, queries in {"train": 3, "vali": 2, "test": 1}.items():
        lines = [
            f"{rng.integers(0, 5)} qid:{q} " + " ".join(f"{j}:{j + 10 * i}" for j in range(1, 137))
            for q in range(queries)
            for i in range(5)
        ]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    data = load_mslr(folder=tmp_path)
    assert {name: len(rows) for name, rows in data.split.items()} == {
        "train": 15,
        "validation": 10,
        "test": 5,
    }
    assert data.note == ""
    assert data.X[1, 132] == 143
    assert data.groups[:5].tolist() == ["low quality"] * 2 + ["high quality"] * 3


def test_census_frame_has_readable_columns():
    pytest.importorskip("pandas")
    frame = make_census(20).to_frame()
    assert {"age", "capital gain", "target", "group"} <= set(frame.columns)
