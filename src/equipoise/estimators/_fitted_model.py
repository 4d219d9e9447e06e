"""What an estimator keeps of a model, to predict with: the same for fits and for streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise._positive import is_turned, turned
from equipoise.estimators._calibration import Calibration, calibrated
from equipoise.estimators._training import Training
from equipoise.rows import RowSums, Table


def fitted_model(training: Training, rows: RowSums, x: np.ndarray) -> dict[str, Any]:
    """Return the attributes of an estimator that scoring needs, in the order of sorted classes."""
    table = training.table
    calibration = Calibration()
    if not training.task.is_likelihood:
        calibration = calibrated(*rows.class_scores(x))
    return _attributes(table, *training.units.coefficients(x), calibration)


def constant_model(table: Table) -> dict[str, Any]:
    """Return the model that knows the shares of the classes alone, each taken as one row larger."""
    negative, positive = table.class_totals() + 1.0
    shares = Calibration(offsets=(float(np.log(positive / negative)),))
    return _attributes(table, np.zeros((1, table.n_columns)), np.zeros(1), shares)


def with_threshold_where_equal(model: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes with the intercept moved to where both classes are equally probable."""
    found = model["calibration_"]
    intercept = model["intercept_"] + found.offsets[0] / found.slope
    return {**model, "intercept_": intercept, "calibration_": Calibration(found.slope)}


def _attributes(
    table: Table, coef: np.ndarray, intercept: np.ndarray, calibration: Calibration
) -> dict[str, Any]:
    labels = table.labels
    coef, intercept = turned(labels, coef, intercept)
    return {
        "classes_": np.sort(labels),
        "pos_label_": table.classes[1],
        "coef_": coef,
        "intercept_": intercept,
        "calibration_": calibration.opposite() if is_turned(labels) else calibration,
    }
