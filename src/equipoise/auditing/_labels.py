"""The two classes of labels and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._positive import is_among, with_absent_positive


def two_classes(
    owner: str, y: np.ndarray, predicted: np.ndarray | None, pos_label: Any
) -> tuple[Any, Any]:
    """Return the negative and the positive class of labels and predictions."""
    found = np.unique(y).tolist()
    other = [] if predicted is None else np.unique(predicted).tolist()
    if predicted is not None and y.dtype.kind != predicted.dtype.kind and not _alike(y, predicted):
        rule = f"must hold labels such as those of `y`, {tuple(found[:5])}"
        _check.fail(owner, "predictions", rule, other[:5])
    classes = sorted({*found, *other})
    if pos_label is not None:
        _check.label(owner, "pos_label", pos_label)
        classes = with_absent_positive(classes, pos_label)
        if not is_among(classes, pos_label):
            _check.fail(owner, "pos_label", f"must be one of {tuple(classes[:5])}", pos_label)
        classes = [label for label in classes if label != pos_label] + [pos_label]
    if len(found) > 2:
        _check.fail(owner, "y", "must hold labels of two classes", found[:5])
    if len(classes) != 2:
        name = "y" if predicted is None else "predictions"
        _check.fail(
            owner, name, f"must hold labels of two classes, those of `y` {found}", classes[:5]
        )
    return classes[0], classes[1]


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of labels hold values that can be compared: numbers, or texts."""
    numbers = "iufb"
    return (a.dtype.kind in numbers) == (b.dtype.kind in numbers)
