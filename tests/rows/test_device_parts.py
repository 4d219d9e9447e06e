"""Rows that are a tensor are divided as rows in NumPy are: promises, margins and the search are the same.

`EQUIPOISE_DEVICE` names another device than the CPU; PyTorch's default device holds no numbers here.
"""

import os
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from equipoise import AUCClassifier, ConstrainedClassifier, NeymanPearsonClassifier
from equipoise._array import to_numpy
from equipoise.constraints import auc_parity, churn, demographic_parity, equalized_odds
from equipoise.datasets import make_census
from equipoise.estimators._infeasible import InfeasibleWarning
from equipoise.rows import DeviceTable, MemoryTable

torch = pytest.importorskip("torch")
DEVICE = os.environ.get("EQUIPOISE_DEVICE", "cpu")
DATA = make_census(6000, seed=0)
SEX = np.asarray(DATA.groups)
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, SEX.size)
REFERENCE = np.asarray(DATA.y)

MODELS = {
    "the search": ConstrainedClassifier(demographic_parity(0.03)),
    "another scorer": ConstrainedClassifier(demographic_parity(0.03), scoring="f1"),
    "confidence": ConstrainedClassifier(equalized_odds(0.15), confidence=0.9),
    "confidence, the last rows": ConstrainedClassifier(
        demographic_parity(0.1), confidence=0.9, ordered=True, scoring=None
    ),
    "margin": ConstrainedClassifier(demographic_parity(0.05), margin="auto", scoring=None),
    "churn": ConstrainedClassifier(churn(0.2, REFERENCE), confidence=0.9, scoring=None),
    "Neyman-Pearson": NeymanPearsonClassifier(0.1, confidence=0.9),
    "AUC": AUCClassifier(auc_parity("inter", 0.1), confidence=0.9),
}


@pytest.fixture(autouse=True)
def elsewhere():
    with torch.device("meta"):
        yield


def there(array):
    return torch.tensor(np.asarray(array), device=DEVICE)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_is_that_of_rows_in_numpy(name):
    model = MODELS[name]
    groups = {} if name == "Neyman-Pearson" else {"sensitive_features": SEX}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InfeasibleWarning)
        host = clone(model).fit(DATA.X, DATA.y, **groups)
        tensors = clone(model).fit(there(DATA.X), there(DATA.y), **groups)
    assert tensors.status_ == host.status_
    np.testing.assert_allclose(tensors.coef_, host.coef_, rtol=1e-4, atol=1e-5)
    ours, theirs = tensors.report_, host.report_
    if ours.choice is not None:
        assert ours.choice.chosen == theirs.choice.chosen
        assert ours.choice.rows == theirs.choice.rows
    assert (ours.promise is None) == (theirs.promise is None)
    if ours.promise is not None:
        assert ours.promise.rows_held_out == theirs.promise.rows_held_out
        for line, other in zip(ours.promise.lines, theirs.promise.lines):
            assert line.held_out == pytest.approx(other.held_out, abs=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_part_of_a_part_has_the_labels_groups_and_weights_of_its_rows(weighted):
    weight = WEIGHT if weighted else None
    groups = {"sex": SEX, "decade": (np.arange(SEX.size) % 7).astype(str)}
    host = MemoryTable(DATA.y, DATA.X, groups, weight=weight)
    device = DeviceTable(there(DATA.y), there(DATA.X), groups, weight=weight)
    host, device = (t.class_weighted({1: 3.0}) for t in (host, device))
    device.labelled()  # found before the table is divided
    for rows in (np.arange(5000, 10, -3), np.flatnonzero(np.arange(1664) % 7 < 2)):
        host, device = host.part(rows), device.part(rows)
        assert device.divisible
        np.testing.assert_array_equal(to_numpy(device.X), host.X)
        np.testing.assert_array_equal(device.y, host.y)
        np.testing.assert_array_equal(device.class_counts(), host.class_counts())
        for over in ("sample", "objective"):
            np.testing.assert_allclose(to_numpy(device.weights(over)), host.weights(over))
            np.testing.assert_allclose(device.labelled().weights(over), host.weights(over))
            assert device.total(over) == pytest.approx(host.total(over))
        for column, values in host.groups.arrays.items():
            np.testing.assert_array_equal(device.groups.arrays[column], values)
            ours, theirs = (t.groups.columns[column] for t in (device, host))
            assert (ours.values, ours.labels) == (theirs.values, theirs.labels)
            np.testing.assert_array_equal(ours.counts, theirs.counts)
        np.testing.assert_array_equal(device.labelled().own(REFERENCE), host.own(REFERENCE))
    assert len(host.groups.columns["decade"].values) < 7  # a value that no row has is not there


def test_class_weights_reach_labels_that_were_asked_for_before():
    device = DeviceTable(there(DATA.y), there(DATA.X))
    device.labelled()
    heavy = device.class_weighted({1: 3.0})
    np.testing.assert_allclose(
        heavy.labelled().weights("objective"), to_numpy(heavy.weights("objective"))
    )
