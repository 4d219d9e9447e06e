"""The only place where input is validated, and where the messages are written.

Every message names the class or function, the parameter, the rule and the value:
``L1Ball: `radius` must be positive, got -1.``
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from equipoise._array import Array, all_finite, to_numpy


class InputError(ValueError):
    """Input that cannot be used.

    Attributes
    ----------
    owner : str
        The class or function it was given to.
    reason : str
        What is wrong with it, as a sentence without the owner.
    parameter : str or None
        The parameter, where it is one.
    """

    def __init__(self, owner: str, reason: str, parameter: str | None = None) -> None:
        super().__init__(owner, reason, parameter)
        self.owner, self.reason, self.parameter = owner, reason, parameter

    def __str__(self) -> str:
        return f"{self.owner}: {self.reason}"


def fail(owner: str, parameter: str, rule: str, value: Any) -> NoReturn:
    """Raise the library's one form of error for a parameter's value."""
    raise InputError(owner, f"`{parameter}` {rule}, got {value!r}.", parameter)


def kind(owner: str, parameter: str, value: Any, expected: type) -> None:
    """Raise a `TypeError` unless `value` is an `expected`."""
    if not isinstance(value, expected):
        raise TypeError(f"{owner}: `{parameter}` must be a {expected.__name__}, got {value!r}.")


def positive(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a finite float > 0."""
    number = _number(owner, parameter, value)
    if not (math.isfinite(number) and number > 0):
        fail(owner, parameter, "must be positive and finite", value)
    return number


def non_negative(owner: str, parameter: str, value: Any) -> float:
    """Return `value` as a finite float >= 0."""
    number = _number(owner, parameter, value)
    if not (math.isfinite(number) and number >= 0):
        fail(owner, parameter, "must be non-negative and finite", value)
    return number


def between(owner: str, parameter: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float with ``low <= value <= high``."""
    number = _number(owner, parameter, value)
    if not low <= number <= high:
        fail(owner, parameter, f"must lie between {low:g} and {high:g}", value)
    return number


def count(owner: str, parameter: str, value: Any, least: int = 0) -> int:
    """Return `value` as an int >= `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        fail(owner, parameter, f"must be an integer of at least {least}", value)
    return int(value)


def vector(owner: str, parameter: str, value: Any, dim: int | None = None) -> np.ndarray:
    """Return `value` as a finite float64 vector of length `dim`."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        reason = f"`{parameter}` must be an array of numbers."
        raise InputError(owner, reason, parameter) from None
    if array.ndim != 1 or (dim is not None and array.shape != (dim,)):
        size = "(d,)" if dim is None else f"({dim},)"
        fail(owner, parameter, f"must have shape {size}", array.shape)
    finite(owner, parameter, array)
    return array


def point(owner: str, parameter: str, value: Any, dim: int) -> Array:
    """Return a finite floating-point vector (dim,): a tensor as it is, all else as a NumPy copy."""
    if not hasattr(value, "detach"):
        single = isinstance(value, np.ndarray) and value.dtype == np.float32
        array = np.array(vector(owner, parameter, value, dim))
        return array.astype(np.float32) if single else array
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
    flat = np.ravel(np.asarray(value))
    where = int(np.flatnonzero(~np.isfinite(flat))[0])
    reason = f"`{parameter}` must be finite, but entry {where} is {flat[where]}."
    raise InputError(owner, reason, parameter)


def choice(owner: str, parameter: str, value: Any, options: Any) -> Any:
    """Return `value` if it is one of `options`."""
    if value not in tuple(options):
        listed = ", ".join(repr(option) for option in options)
        fail(owner, parameter, f"must be one of {listed}", value)
    return value


def _number(owner: str, parameter: str, value: Any) -> float:
    if isinstance(value, bool):
        fail(owner, parameter, "must be a number", value)
    try:
        return float(value)
    except (TypeError, ValueError):
        fail(owner, parameter, "must be a number", value)
