"""Reading sensitive columns: what a user may give, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from equipoise import _check
from equipoise._array import on_host

SENSITIVE_FEATURES = "sensitive_features"

# Groups of a sensitive column, at the most: with more, a column of numbers was probably meant. Chosen.
MAX_GROUPS = 1000

# Names that a message lists, at the most. Chosen.
NAMES_LISTED = 8


def columns_of(owner: str, features: Any) -> dict[str, Any]:
    """Return the columns by name, from any of the accepted kinds."""
    if isinstance(features, Mapping):
        named = {str(name): column for name, column in features.items()}
    elif hasattr(features, "columns") and hasattr(features, "shape"):  # a data frame
        named = {str(name): features[name] for name in features.columns}
    elif hasattr(features, "to_numpy"):  # a series
        named = {str(getattr(features, "name", None) or "group"): features}
    else:
        array = on_host(features)
        array = array if isinstance(array, np.ndarray) else _from_list(owner, array)
        if array.ndim == 2 and array.shape[1] != 1:
            named = {f"column {i}": array[:, i] for i in range(array.shape[1])}
        else:
            named = {"group": array[:, 0] if array.ndim == 2 else array}
    if not named:
        _check.fail(owner, SENSITIVE_FEATURES, "must have at least one column", features)
    return named


def _from_list(owner: str, values: Any) -> np.ndarray:
    """Return a list as an array, without turning values of several kinds into strings."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different length
        kind = type(values).__name__
        _check.fail(owner, SENSITIVE_FEATURES, "must hold one value for each row and column", kind)
    if array.dtype.kind in "US":
        plain = np.asarray(values, dtype=object)
        if any(not isinstance(value, str | bytes) for value in plain.ravel()):
            return plain
    return array


def array_of(owner: str, name: str, column: Any, n: int) -> np.ndarray:
    """Return a column as a NumPy vector of length `n`."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else on_host(column)
    array = array if isinstance(array, np.ndarray) else _from_list(owner, array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        _check.fail(owner, SENSITIVE_FEATURES, "must hold one value for each row", array.shape)
    if len(array) != n:
        reason = f"must have as many rows as `y` ({n}), but column {name!r} has {len(array)}."
        raise _check.InputError(owner, f"`{SENSITIVE_FEATURES}` {reason}", SENSITIVE_FEATURES)
    return array


def coded(owner: str, name: str, array: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Return the distinct values and the code of each row, in one pass over the rows."""
    missing = 0
    if array.dtype.kind == "f":
        missing = int(np.isnan(array).sum())
    elif array.dtype.kind in "mM":
        missing = int(np.isnat(array).sum())
    if array.dtype.kind == "O":
        rows = array.tolist()
        try:
            distinct = dict.fromkeys(rows)
        except TypeError:
            kind = type(rows[0]).__name__
            reason = f"must hold plain values, but column {name!r} holds {kind} objects."
            raise _check.InputError(
                owner, f"`{SENSITIVE_FEATURES}` {reason}", SENSITIVE_FEATURES
            ) from None
        absent = {value for value in distinct if _is_missing(value)}
        if absent:
            missing = sum(value in absent or _is_missing(value) for value in rows)
    if missing:
        reason = (
            f"must not have missing values, but column {name!r} has {missing}. "
            "Fill them, for instance with a group of their own such as 'unknown'."
        )
        raise _check.InputError(owner, f"`{SENSITIVE_FEATURES}` {reason}", SENSITIVE_FEATURES)
    if array.dtype.kind != "O":
        unique, inverse = np.unique(array, return_inverse=True)
        check_count(owner, name, len(unique), len(array))
        return unique.tolist(), inverse.ravel()
    check_count(owner, name, len(distinct), len(array))
    values = in_order(distinct)
    position = {value: code for code, value in enumerate(values)}
    codes = np.fromiter(map(position.__getitem__, rows), dtype=np.int64, count=len(rows))
    return values, codes


def in_order(values: Iterable[Any]) -> list[Any]:
    """Return values sorted, also where they are of several kinds."""
    values = list(values)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, str(v)))


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True


def check_count(owner: str, name: str, count: int, n: int) -> None:
    if count > MAX_GROUPS or (count > 20 and count > n / 2):
        too_many(owner, name, count, n)


def too_many(owner: str, name: str, count: int, n: int) -> NoReturn:
    """Raise: this column is no column of groups."""
    reason = (
        f"must hold groups of several rows, but column {name!r} has {count} different values in "
        f"{n} rows. Choose another column, or merge its values into few groups (bin a number, "
        f"shorten a code); {MAX_GROUPS} groups is the most."
    )
    raise _check.InputError(owner, f"`{SENSITIVE_FEATURES}` {reason}", SENSITIVE_FEATURES)


def first_in_words(values: Any) -> str:
    """Return the first values in words."""
    values = list(values)
    shown = ", ".join(repr(value) for value in values[:NAMES_LISTED])
    return shown + (f", ... ({len(values)} in all)" if len(values) > NAMES_LISTED else "")
