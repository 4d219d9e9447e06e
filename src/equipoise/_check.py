"""The only place where input is validated, and where the messages are written.

Every message names the class or function, the parameter, the rule and the value:
``L1Ball: `radius` must be positive and finite, got -1.`` There is one function for each kind of value,
those for arrays in `_check_arrays`. Text is never read as a number, a truth value is never one, and NaN
is no value at all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from equipoise._check_arrays import (
    array,
    finite,
    integers,
    is_number,
    labels,
    mask,
    matrix,
    numbers,
    point,
    vector,
)
from equipoise._errors import (
    InputError,
    MissingRowsError,
    NonFiniteInputError,
    WrongKindError,
    fail,
    missing,
    owned,
    shown,
)

LARGEST_COUNT = 2**63 - 1  # count: the last one that NumPy can index

__all__ = [
    "InputError",
    "MissingRowsError",
    "WrongKindError",
    "array",
    "between",
    "choice",
    "count",
    "fail",
    "finite",
    "flag",
    "function",
    "inside",
    "integers",
    "is_number",
    "kind",
    "label",
    "labels",
    "mask",
    "matrix",
    "missing",
    "names",
    "non_negative",
    "number",
    "numbers",
    "owned",
    "path",
    "point",
    "positive",
    "real",
    "sequence",
    "shown",
    "text",
    "vector",
]


def kind(owner: str, parameter: str, value: Any, *expected: type) -> Any:
    """Return `value` if it is an `expected`, or one of them."""
    if not isinstance(value, expected):
        names = [one.__name__ for one in expected]
        rule = "must be " + " or ".join(f"{'an' if n[0] in 'AEIOU' else 'a'} {n}" for n in names)
        raise WrongKindError(owner, f"`{parameter}` {rule}, got {shown(value)}.", parameter)
    return value


def number(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a float; it may be infinite, but not NaN."""
    found = _float(owner, parameter, value)
    if math.isnan(found):
        fail(owner, parameter, "must be a number", value)
    return found


def real(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a finite float."""
    found = _float(owner, parameter, value)
    if not math.isfinite(found):
        reason = f"`{parameter}` must be finite, got {shown(value)}."
        raise NonFiniteInputError(owner, reason, parameter)
    return found


def positive(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a finite float > 0."""
    found = _float(owner, parameter, value)
    if not (math.isfinite(found) and found > 0):
        fail(owner, parameter, "must be positive and finite", value)
    return found


def non_negative(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a finite float >= 0."""
    found = _float(owner, parameter, value)
    if not (math.isfinite(found) and found >= 0):
        fail(owner, parameter, "must be non-negative and finite", value)
    return found


def between(owner: str, parameter: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float with ``low <= value <= high``."""
    found = _float(owner, parameter, value)
    if not low <= found <= high:
        fail(owner, parameter, f"must lie between {low:g} and {high:g}", value)
    return found


def inside(owner: str, parameter: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float with ``low < value < high``."""
    found = _float(owner, parameter, value)
    if not low < found < high:
        fail(owner, parameter, f"must lie strictly between {low:g} and {high:g}", value)
    return found


def count(owner: str, parameter: str, value: Any, least: int = 0) -> int:
    """Return `value` as an int >= `least`; a seed is one of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        fail(owner, parameter, f"must be an integer of at least {least}", value)
    if value > LARGEST_COUNT:
        fail(owner, parameter, f"must be an integer of at most {LARGEST_COUNT}", value)
    return int(value)


def flag(owner: str, parameter: str, value: Any) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, bool | np.bool_):
        fail(owner, parameter, "must be True or False", value)
    return bool(value)


def text(owner: str, parameter: str, value: Any) -> str:
    """Return `value` if it is a string."""
    if not isinstance(value, str):
        fail(owner, parameter, "must be a string", value)
    return value


def label(owner: str, parameter: str, value: Any) -> Any:
    """Return `value` if it can be a class or a group: one plain value, which is not missing."""
    try:
        hash(value)
        missing = value is None or bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # lists and arrays; pandas.NA
        missing = True
    if missing:
        fail(
            owner, parameter, "must be one value that can be compared, and not a missing one", value
        )
    return value


def names(owner: str, parameter: str, value: Any, size: int) -> tuple[str, ...]:
    """Return `value` as a tuple of `size` strings."""
    listed = sequence(owner, parameter, value)
    if len(listed) != size:
        fail(owner, parameter, f"must have {size} entries", value)
    if not all(isinstance(name, str) for name in listed):
        fail(owner, parameter, "must hold strings", value)
    return listed


def sequence(owner: str, parameter: str, value: Any, expected: type | None = None) -> tuple:
    """Return `value` as a tuple, of which every entry is an `expected`."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        fail(owner, parameter, "must be a sequence", value)
    listed = tuple(value)
    for i, entry in enumerate(listed):
        if expected is not None:
            kind(owner, f"{parameter}[{i}]", entry, expected)
    return listed


def function(owner: str, parameter: str, value: Any) -> Any:
    """Return `value` if it can be called."""
    if not callable(value):
        fail(owner, parameter, "must be callable", value)
    return value


def path(owner: str, parameter: str, value: Any) -> str | os.PathLike[str]:
    """Return `value` if it is a path that a file can have."""
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        fail(owner, parameter, "must be a path", value)
    return value


def choice(owner: str, parameter: str, value: Any, options: Iterable[Any]) -> Any:
    """Return `value` if it is one of `options`."""
    known = tuple(options)
    if not any(type(value) is type(option) and value == option for option in known):
        fail(owner, parameter, f"must be one of {', '.join(map(repr, known))}", value)
    return value


def _float(owner: str, parameter: str, value: Any) -> float:
    """Return a number as a float, NaN too: the rules that are asked next refuse it."""
    if not is_number(value):
        fail(owner, parameter, "must be a number", value)
    try:
        return float(value)
    except OverflowError:
        fail(owner, parameter, "must be a number in the range of floating point", value)
