"""Which of two classes is the positive one, in rules and reports.

scikit-learn sorts the classes, and scores are positive for the second. A table has the negative class
first and the positive one second; where that is not the sorted order, a model is turned round between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check


def with_positive_last(owner: str, classes: np.ndarray, pos_label: Any) -> np.ndarray:
    """Return two classes, the positive one last: `pos_label`, or by default the last as they are."""
    if pos_label is None or len(classes) != 2:
        return classes
    known = classes.tolist()
    if not is_among(known, _check.label(owner, "pos_label", pos_label)):
        _check.fail(owner, "pos_label", f"must be one of the classes {known}", pos_label)
    return classes if known.index(pos_label) == 1 else classes[::-1]


def with_absent_positive(known: list[Any], pos_label: Any) -> list[Any]:
    """Return the classes that occur, and the positive one where it is named and no row is of it."""
    if len(known) != 1 or pos_label is None or is_among(known, pos_label):
        return known
    (only,) = known
    alike = all(isinstance(only, kind) == isinstance(pos_label, kind) for kind in (str, bool))
    return sorted([only, pos_label]) if alike else known


def is_turned(labels: np.ndarray) -> bool:
    """Whether the positive class of a table is the first in sorted order."""
    return len(labels) == 2 and not np.array_equal(np.sort(labels), labels)


def turned(labels: np.ndarray, *parts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return weights and intercepts for the classes of a table from those for sorted ones, or back."""
    return tuple(0.0 - part for part in parts) if is_turned(labels) else parts


def is_among(known: list[Any], label: Any) -> bool:
    """Whether a label is one of the classes; True is not the class 1."""
    truth = [value for value in known if isinstance(value, bool | np.bool_)]
    return label in (truth if isinstance(label, bool | np.bool_) else known)
