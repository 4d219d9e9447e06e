"""Every real data set against the counts its publisher, and our notes on the files, give."""

import io

import numpy as np
import pytest
from scipy import sparse

from equipoise.datasets import DATASETS
from equipoise.datasets._fetch import read

VARIANTS = [
    ("adult", {}),
    ("adult", {"variant": "raw"}),
    ("bank", {}),
    ("bank", {"variant": "full"}),
    ("communities", {}),
    ("compas", {}),
    ("compas", {"variant": "all"}),
    ("compas", {"variant": "all", "drop_unknown": True}),
    ("loans", {}),
    ("loans", {"variant": "2019"}),
    ("loans", {"variant": "2020Q1"}),
    ("mslr", {}),
    ("mslr", {"quality": "QualityScore"}),
    ("pendigits", {}),
    ("segment", {}),
    ("segment", {"form": "raw"}),
    ("usps", {}),
    ("usps", {"form": "esl"}),
]


def counts(labels):
    return dict(zip(*(a.tolist() for a in np.unique(labels, return_counts=True))))


def rate(data, group):
    return round(float(data.y[data.groups == group].mean()), 4)


def test_every_registered_data_set_is_in_this_file():
    missing = set(DATASETS) - {name for name, _ in VARIANTS} - {"census"}
    assert not missing, f"add a line to `VARIANTS` here for each way to load {missing}"


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_contract(real, name, options):
    data = real(name, **options)
    assert data.name == name
    assert data.X.dtype == np.float64
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()
    assert len(set(data.feature_names)) == data.d
    assert data.y.dtype == np.int64
    assert sorted(counts(data.y)) == list(range(len(data.target_names)))
    if data.split:
        rows = np.concatenate(list(data.split.values()))
        np.testing.assert_array_equal(np.sort(rows), np.arange(data.n))
    if data.groups is not None:
        assert data.groups.dtype.kind == "U"
        assert len(data.group_names) == 2
    assert name in repr(data)


def test_a9a(real):
    data = real("adult")
    assert sparse.issparse(data.X)
    assert data.X.format == "csr"
    assert data.X.shape == (48_842, 123)
    assert set(np.unique(data.X.data)) == {1.0}
    train, test = data.part("train"), data.part("test")
    assert counts(train.y) == {0: 24_720, 1: 7_841}
    assert counts(test.y) == {0: 12_435, 1: 3_846}
    assert counts(train.groups) == {"female": 10_771, "male": 21_790}
    assert counts(test.groups) == {"female": 5_421, "male": 10_860}
    assert (rate(train, "female"), rate(train, "male")) == (0.1095, 0.3057)
    assert (rate(test, "female"), rate(test, "male")) == (0.1088, 0.2998)


def test_raw_adult_has_the_rows_of_a9a_in_the_same_order(real):
    raw, a9a = real("adult", variant="raw"), real("adult")
    assert raw.X.shape == (48_842, 108)
    np.testing.assert_array_equal(raw.y, a9a.y)
    np.testing.assert_array_equal(raw.groups, a9a.groups)
    np.testing.assert_array_equal(raw.split["test"], a9a.split["test"])
    assert set(counts(raw.attributes["race"])) == {
        "White",
        "Black",
        "Asian-Pac-Islander",
        "Amer-Indian-Eskimo",
        "Other",
    }
    assert raw.X[0, :6].tolist() == [39, 77_516, 13, 2_174, 0, 40]


def test_bank_additional(real):
    data = real("bank")
    assert data.X.shape == (41_188, 54)
    assert counts(data.y) == {0: 36_548, 1: 4_640}
    assert counts(data.groups) == {"25-60": 39_210, "other": 1_978}
    assert (rate(data, "25-60"), rate(data, "other")) == (0.1012, 0.3387)
    assert data.feature_names[-1] == "constant"
    assert (data.X[:, -1] == 1.0).all()
    assert np.linalg.matrix_rank(data.X.T @ data.X / data.n, hermitian=True) > 40


def test_bank_full(real):
    data = real("bank", variant="full")
    assert data.X.shape == (45_211, 81)
    assert counts(data.y) == {0: 39_922, 1: 5_289}
    assert counts(data.groups)["single"] == 12_790
    assert sum(name.startswith("day=") for name in data.feature_names) == 31
    np.testing.assert_array_equal(data.X[:, 6:].sum(axis=1), 10.0)  # ten categories


def test_compas_two_years(real):
    data = real("compas")
    assert data.X.shape == (6_172, 16)
    assert counts(data.y) == {0: 3_363, 1: 2_809}
    assert counts(data.groups) == {"Caucasian": 2_103, "other": 4_069}
    assert (rate(data, "Caucasian"), rate(data, "other")) == (0.3909, 0.4883)
    assert counts(data.attributes["race"]) == {
        "African-American": 3_175,
        "Caucasian": 2_103,
        "Hispanic": 509,
        "Other": 343,
        "Asian": 31,
        "Native American": 11,
    }
    assert counts(data.attributes["sex"]) == {"female": 1_175, "male": 4_997}


def test_compas_all(real):
    data = real("compas", variant="all")
    assert data.X.shape == (11_757, 14)
    assert counts(data.y) == {0: 7_335 + 719, 1: 3_703}
    assert counts(data.groups)["Caucasian"] == 4_085
    assert counts(data.attributes["race"])["Native American"] == 40
    known = real("compas", variant="all", drop_unknown=True)
    assert counts(known.y) == {0: 7_335, 1: 3_703}


@pytest.mark.parametrize("variant", ["two-years", "all"])
def test_compas_uses_nothing_but_what_was_known_and_no_names(real, variant):
    data = real("compas", variant=variant)
    for word in ("score", "decile", "recid", "jail", "custody", "name", "first", "last", "dob"):
        assert not any(word in feature for feature in (*data.feature_names, *data.attributes))


def test_communities(real):
    data = real("communities")
    assert data.X.shape == (1_994, 145)
    marks = [name for name in data.feature_names if name.endswith("_is_missing")]
    assert len(marks) == 23
    sums = {name: data.X[:, data.feature_names.index(name)].sum() for name in marks}
    assert sums.pop("OtherPerCap_is_missing") == 1
    assert set(sums.values()) == {1_675}
    rates = data.attributes["ViolentCrimesPerPop"]
    assert (round(rates.mean(), 3), np.median(rates), np.quantile(rates, 0.7)) == (
        0.238,
        0.15,
        0.28,
    )
    assert round(data.y.mean(), 3) == 0.305
    assert {name: len(rows) for name, rows in data.split.items()} == {
        "train": 996,
        "validation": 499,
        "test": 499,
    }
    assert data.X[0, data.feature_names.index("racePctHisp")] == 0.17
    assert data.attributes["racePctHisp"][0] == 0.17


def test_pendigits(real):
    data = real("pendigits")
    assert data.X.shape == (10_992, 16)
    assert (data.X.min(), data.X.max()) == (0, 100)
    train = [780, 779, 780, 719, 780, 720, 720, 778, 719, 719]
    test = [363, 364, 364, 336, 364, 335, 336, 364, 336, 336]
    assert np.bincount(data.part("train").y).tolist() == train
    assert np.bincount(data.part("test").y).tolist() == test


def test_segment(real):
    scaled, raw = real("segment"), real("segment", form="raw")
    assert (scaled.X.shape, raw.X.shape) == ((2_310, 18), (2_310, 19))
    assert np.bincount(scaled.y).tolist() == [330] * 7
    assert "region-pixel-count" not in scaled.feature_names
    assert (raw.X[:, 2] == 9).all()
    np.testing.assert_allclose(scaled.X.min(axis=0), -1.0)
    np.testing.assert_allclose(scaled.X.max(axis=0), 1.0)
    for name in ("hue-mean", "exred-mean"):  # linear in the published values
        j, k = scaled.feature_names.index(name), raw.feature_names.index(name)
        assert np.corrcoef(scaled.X[:, j], raw.X[:, k])[0, 1] == pytest.approx(1.0)


def test_usps(real):
    data = real("usps", form="esl")
    assert data.X.shape == (9_298, 256)
    assert (data.X.min(), data.X.max()) == (-1, 1)
    train = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    test = [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]
    assert np.bincount(data.part("train").y).tolist() == train
    assert np.bincount(data.part("test").y).tolist() == test


def test_usps_smoothing_gives_the_test_file_of_libsvm(real):
    from sklearn.datasets import load_svmlight_file

    data = real("usps").part("test")
    X, y = load_svmlight_file(io.BytesIO(read("usps", "usps.t")), n_features=256)
    np.testing.assert_array_equal(data.y, y - 1)
    assert np.abs(data.X - X.toarray()).max() < 1e-6


def test_loans(real):
    data = real("loans")
    assert data.X.shape == (42_535, 156)
    assert counts(data.y) == {0: 34_116 + 1_988, 1: 6_431}
    assert counts(data.attributes["home_ownership"]) == {
        "RENT": 20_181,
        "MORTGAGE": 18_959,
        "OWN": 3_251,
        "OTHER": 136,
        "NONE": 8,
    }
    assert (rate(data, "mortgage"), rate(data, "other")) == (0.1424, 0.1583)


@pytest.mark.parametrize(
    ("variant", "each", "mortgage"), [("2019", 6_090, 5_800), ("2020Q1", 2_351, 2_131)]
)
def test_young_loans(real, variant, each, mortgage):
    data = real("loans", variant=variant)
    assert counts(data.y) == {0: each, 1: each}
    assert counts(data.groups)["mortgage"] == mortgage


@pytest.mark.parametrize("variant", ["2007-2011", "2019", "2020Q1"])
def test_loans_hold_nothing_from_after_the_loan_was_made(real, variant):
    data = real("loans", variant=variant)
    late = (
        "total_pymnt total_rec recoveries recovery last_ out_prncp settlement hardship pymnt_plan"
    )
    for word in late.split():
        assert not any(name.startswith(word) for name in data.feature_names)
    # nor anything that alone gives the label away
    assert (
        max(abs(np.corrcoef(column, data.y)[0, 1]) for column in data.X.T if np.ptp(column)) < 0.5
    )


def test_mslr(real):
    data = real("mslr")
    assert data.X.shape == (10_000, 136)
    train, test = data.part("train"), data.part("test")
    assert np.bincount(train.attributes["relevance"]).tolist() == [2_792, 1_458, 665, 55, 30]
    assert np.bincount(test.attributes["relevance"]).tolist() == [2_847, 1_442, 579, 98, 34]
    np.testing.assert_array_equal(data.y, data.attributes["relevance"] > 1)
    assert len(np.unique(train.query)) == len(np.unique(test.query)) == 43
    assert data.X[0, :5].tolist() == [3, 3, 0, 0, 3]


def test_mslr_quality(real):
    data = real("mslr", quality="QualityScore")
    score = data.attributes["QualityScore"]
    np.testing.assert_array_equal(score, data.X[:, 131])
    for rows in data.split.values():
        assert np.quantile(score[rows], [0.4, 0.5, 0.6]).tolist() == [4, 6, 9]
    np.testing.assert_array_equal(data.groups == "high quality", score > 4)
    other = real("mslr")
    np.testing.assert_array_equal(other.attributes["QualityScore2"], data.X[:, 132])
    cut = np.quantile(other.part("train").X[:, 132], 0.4)
    np.testing.assert_array_equal(other.groups == "high quality", data.X[:, 132] > cut)


@pytest.mark.parametrize("name", ["loans", "mslr"])
def test_substitutes_say_so(real, name):
    assert real(name).note.startswith("SUBSTITUTE")
