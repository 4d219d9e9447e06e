"""Checks of arrays: what is given as one becomes real numbers of a shape, or is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from equipoise._array import Array, all_finite, is_tensor, on_host, to_numpy
from equipoise._errors import NonFiniteInputError, fail


def is_number(value: Any) -> bool:
    """Whether `value` is one real number: of Python, of NumPy, or a tensor without axes."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)


def array(owner: str, parameter: str, value: Any, shape: Sequence[int | str]) -> np.ndarray:
    """Return `value` as float64 of a shape; entries may be infinite, but not NaN.

    In `shape` a number is a size, and a letter stands for any size.
    """
    found = numbers(owner, parameter, value)
    sizes = zip(shape, found.shape)
    if len(shape) != found.ndim or any(isinstance(a, int) and a != b for a, b in sizes):
        size = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        fail(owner, parameter, f"must have shape ({size})", found.shape)
    missing = np.isnan(found.ravel())
    if missing.any():
        where = int(missing.argmax())
        raise NonFiniteInputError(
            owner, f"`{parameter}` must be finite, but entry {where} is nan.", parameter
        )
    return found


def vector(owner: str, parameter: str, value: Any, dim: int | None = None) -> np.ndarray:
    """Return `value` as a finite float64 vector of length `dim`."""
    found = array(owner, parameter, value, ("d" if dim is None else dim,))
    finite(owner, parameter, found)
    return found


def matrix(
    owner: str, parameter: str, value: Any, rows: int | str = "n", columns: int | str = "d"
) -> np.ndarray:
    """Return `value` as a finite float64 matrix of shape ``(rows, columns)``."""
    found = array(owner, parameter, value, (rows, columns))
    finite(owner, parameter, found)
    return found


def _as_array(value: Any) -> np.ndarray:
    """Return `value` as an array; one of no shape that fits, where its rows differ in length."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return np.empty((0, 0))


def integers(owner: str, parameter: str, value: Any, below: int, least: int = 0) -> np.ndarray:
    """Return `value` as a vector of integers from `least` to ``below - 1``."""
    found = _as_array(value)
    whole = found.dtype.kind in "iu" or (found.dtype.kind == "f" and found.size == 0)
    if found.ndim != 1 or not whole or np.any((found < least) | (found >= below)):
        fail(owner, parameter, f"must be a vector of integers from {least} to {below - 1}", value)
    return found.astype(np.intp, copy=False)


def mask(owner: str, parameter: str, value: Any, size: int) -> np.ndarray:
    """Return `value` as a vector of `size` truth values."""
    found = _as_array(value)
    if found.shape != (size,) or found.dtype != bool:
        fail(owner, parameter, f"must be a boolean array of shape ({size},)", value)
    return found


def labels(owner: str, parameter: str, value: Any) -> np.ndarray:
    """Return `value` as a vector of labels, one for each row; none is missing."""
    found = _as_array(value)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind in "cV":
        fail(owner, parameter, "must be a vector of labels", value)
    try:
        if found.dtype.kind == "O":
            np.sort(found)  # labels of different kinds have no order
        missing = found.dtype.kind in "fmMO" and bool(np.any(found != found))  # NaN and NaT do
    except (TypeError, ValueError):
        fail(owner, parameter, "must be a vector of labels of one kind, none missing", value)
    if missing:
        fail(owner, parameter, "must not have missing values", value)
    return found


def point(owner: str, parameter: str, value: Any, dim: int) -> Array:
    """Return a finite floating-point vector (dim,): a tensor as it is, all else as a NumPy copy."""
    if not is_tensor(value):
        single = isinstance(value, np.ndarray) and value.dtype == np.float32
        found = np.array(vector(owner, parameter, value, dim))
        return found.astype(np.float32) if single else found
    if tuple(value.shape) != (dim,):
        fail(owner, parameter, f"must have shape ({dim},)", tuple(value.shape))
    if not value.is_floating_point():
        fail(owner, parameter, "must be a tensor of floating-point numbers", str(value.dtype))
    finite(owner, parameter, to_numpy(value))
    return value


def finite(owner: str, parameter: str, value: Array) -> None:
    """Raise unless every entry of `value` is finite; say where the first bad entry is."""
    if all_finite(value):
        return
    flat = np.ravel(to_numpy(value))
    where = int(np.flatnonzero(~np.isfinite(flat))[0])
    reason = f"`{parameter}` must be finite, but entry {where} is {flat[where]}."
    raise NonFiniteInputError(owner, reason, parameter)


def numbers(owner: str, parameter: str, value: Any) -> np.ndarray:
    """Return `value` as float64: neither text, nor truth values, dates or complex numbers are numbers."""
    rule = "must be an array of numbers"
    try:
        found = np.asarray(on_host(value))
        if found.dtype.kind == "O" and all(is_number(entry) for entry in found.flat):
            found = found.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # rows of different length, integers too large
        fail(owner, parameter, rule, value)
    if found.dtype.kind not in "iuf":
        fail(owner, parameter, rule, value)
    return found.astype(np.float64, copy=False)
