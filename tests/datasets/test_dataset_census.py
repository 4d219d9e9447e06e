"""The generator: reproducible, as biased as it says, and about as hard as it says."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise.datasets import make_census


def test_shape_and_content():
    data = make_census(2_000, seed=3)
    assert data.X.shape == (2_000, 14)
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert data.group_names == ("female", "male")
    assert set(data.attributes["race"]) == {"white", "black", "asian", "other"}
    np.testing.assert_array_equal(data.groups, data.attributes["sex"])
    np.testing.assert_array_equal(data.X[:, 7:].sum(axis=1), 1.0)
    assert ((data.attributes["merit"] > 0) & (data.attributes["merit"] < 1)).all()
    assert make_census(2_000, seed=3, include_sensitive=True).X.shape == (2_000, 19)


def test_the_seed_decides():
    first, again, other = (
        make_census(500, seed=1),
        make_census(500, seed=1),
        make_census(500, seed=2),
    )
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.groups, again.groups)
    assert not np.array_equal(first.X, other.X)
    with_sensitive = make_census(500, seed=1, include_sensitive=True)
    np.testing.assert_array_equal(with_sensitive.X[:, :14], first.X)
    np.testing.assert_array_equal(with_sensitive.y, first.y)


def test_scales_differ_wildly_and_capital_gain_is_heavy_tailed():
    data = make_census(20_000)
    spread = data.X.std(axis=0)
    assert spread.max() / spread.min() > 1e4
    gain = data.X[:, data.feature_names.index("capital gain")]
    assert 0.02 < (gain > 0).mean() < 0.10
    assert gain.max() > 20 * np.median(gain[gain > 0])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("include", "low", "high"), [(False, 0.16, 0.24), (True, 0.21, 0.29)])
def test_a_plain_logistic_regression_is_good_and_unfair(seed, include, low, high):
    data = make_census(20_000, seed, include_sensitive=include).divide(train=1, test=1)
    train, test = data.part("train"), data.part("test")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train.X, train.y)
    positive = model.predict(test.X)
    female = test.groups == "female"
    assert 0.25 < data.y.mean() < 0.30
    assert 0.80 < (positive == test.y).mean() < 0.85
    assert low < positive[~female].mean() - positive[female].mean() < high


def test_the_bias_is_direct_as_well_as_indirect():
    data = make_census(100_000)
    female, merit = data.groups == "female", data.attributes["merit"]
    # indirect: less merit; direct: fewer labels than merit
    assert merit[~female].mean() - merit[female].mean() > 0.08
    assert merit[female].mean() - data.y[female].mean() > 0.06
    black = data.attributes["race"] == "black"
    assert merit[black].mean() - data.y[black].mean() > 0.05


def test_a_million_rows():
    assert make_census(1_000_000).n == 1_000_000


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_n_must_be_a_count(n):
    with pytest.raises(ValueError, match="make_census: `n` must be an integer of at least 1"):
        make_census(n)


def test_one_person():
    assert make_census(1).X.shape == (1, 14)
