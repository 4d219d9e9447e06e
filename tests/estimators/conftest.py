"""Small data for the estimators' tests, made once."""

import functools
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from equipoise.datasets import load, make_census

FOLDERS = {"adult": "adult_a9a", "bank": "bank_marketing"}


@functools.cache
def _census(n, seed):
    return make_census(n, seed=seed)


@pytest.fixture
def census():
    """1500 people; X of very different scales, groups female and male."""
    return _census(1500, 0)


@pytest.fixture
def frame(census):
    """The same people as a data frame with the sensitive columns among the features."""
    frame = pd.DataFrame(census.X, columns=list(census.feature_names))
    return frame.assign(sex=census.attributes["sex"], race=census.attributes["race"])


@functools.cache
def _load(name):
    return load(name)


@pytest.fixture
def real():
    """Load a real data set once, or skip: tests never reach for the network."""

    def loader(name):
        root = os.environ.get("EQUIPOISE_DATA")
        if not root:
            pytest.skip("EQUIPOISE_DATA is not set: no real data here")
        folder = FOLDERS.get(name, name)
        if not (Path(root) / folder).is_dir():
            pytest.skip(f"EQUIPOISE_DATA has no folder {folder}")
        return _load(name)

    return loader


@pytest.fixture
def gaps():
    """Count gaps between groups, in NumPy alone."""

    def count(y, predicted, groups):
        y, predicted = np.asarray(y), np.asarray(predicted)
        spread = {}
        for name, rows in {"positive": y == y, "tpr": y == 1, "fpr": y == 0}.items():
            rates = [predicted[rows & (groups == g)].mean() for g in np.unique(groups)]
            spread[name] = max(rates) - min(rates)
        return spread

    return count
