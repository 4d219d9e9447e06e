"""The only place that uses private names of scikit-learn, with a replacement for each.

`Interval`, `StrOptions`, `check_parameters` and `take_rows` are scikit-learn's own where it has them, so
that its users meet the rules and messages they know. Where a version has moved or dropped one, the
replacement below takes its place, with the same rules and messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_non_negative

from equipoise import _check


@dataclass(frozen=True)
class _Interval:
    """Numbers of one type between two bounds, where None is no bound."""

    type: Any  # Real or Integral
    left: float | None
    right: float | None
    _: KW_ONLY
    closed: str

    def is_satisfied_by(self, value: Any) -> bool:
        if not isinstance(value, self.type) or np.isnan(value):
            return False
        low, high = self._bounds()
        above = value >= low if self.closed in ("left", "both") else value > low
        return bool(above and (value <= high if self.closed in ("right", "both") else value < high))

    def _bounds(self) -> tuple[float, float]:
        low = -math.inf if self.left is None else self.left
        high = math.inf if self.right is None else self.right
        return (low, high) if self.type is Integral else (float(low), float(high))

    def __str__(self) -> str:
        number = "an int" if self.type is Integral else "a float"
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        low, high = self._bounds()
        return f"{number} in the range {opening}{low}, {high}{closing}"


@dataclass(frozen=True)
class _StrOptions:
    """One of some strings."""

    options: set[str]

    def is_satisfied_by(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


@dataclass(frozen=True)
class _InstanceOf:
    """A value of a type."""

    type: type

    def is_satisfied_by(self, value: Any) -> bool:
        return isinstance(value, self.type)

    def __str__(self) -> str:
        module, name = self.type.__module__, self.type.__qualname__
        return f"an instance of {name if module == 'builtins' else f'{module}.{name}'!r}"


@dataclass(frozen=True)
class _Nothing:
    """None."""

    def is_satisfied_by(self, value: Any) -> bool:
        return value is None

    def __str__(self) -> str:
        return "None"


# Seeds are what NumPy takes: 32 bits, or a generator of the old kind.
_SEED = (_Interval(Integral, 0, 2**32 - 1, closed="both"), _InstanceOf(np.random.RandomState), None)
_WORDS: dict[Any, tuple] = {"boolean": (bool, np.bool_), "random_state": _SEED}


def _rules(entry: Any) -> list[Any]:
    """Return the alternatives that an entry of `_parameter_constraints` stands for."""
    if isinstance(entry, str):
        return [rule for part in _WORDS[entry] for rule in _rules(part)]
    if entry is None:
        return [_Nothing()]
    return [_InstanceOf(entry) if isinstance(entry, type) else entry]


def _check_parameters(estimator: BaseEstimator) -> None:
    """Raise unless every parameter is what `_parameter_constraints` says of it."""
    owner = type(estimator).__name__
    for name, value in estimator.get_params(deep=False).items():
        entries = estimator._parameter_constraints.get(name)
        if entries is None:
            continue
        groups = [_rules(entry) for entry in entries]
        if any(rule.is_satisfied_by(value) for group in groups for rule in group):
            continue
        rule = _either([_either([str(rule) for rule in group]) for group in groups])
        raise ValueError(
            f"The {name!r} parameter of {owner} must be {rule}. Got {value!r} instead."
        )


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


@contextmanager
def naming(owner: str, *parameters: str) -> Iterator[None]:
    """Let scikit-learn's messages say whose they are, and of which parameter; its own words follow."""
    try:
        yield
    except _check.InputError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        listed = " or ".join(f"`{name}`" for name in parameters)
        reason = f"{listed} cannot be used: {error}"
        if isinstance(error, TypeError):
            raise TypeError(f"{owner}: {reason}") from None
        raise _check.InputError(owner, reason, parameters[0]) from None


def _refuse_odd_numbers(estimator: BaseEstimator) -> None:
    """Raise where a number is True or False, as in Python they are numbers too, or beyond all floats."""
    owner = type(estimator).__name__
    for name, value in estimator.get_params(deep=False).items():
        rules = estimator._parameter_constraints.get(name, ["boolean"])
        if isinstance(value, bool | np.bool_) and "boolean" not in rules:
            _check.fail(owner, name, "must not be a truth value", value)
        if isinstance(value, int) and abs(value) > _check.LARGEST_COUNT:
            _check.fail(owner, name, f"must be at most {_check.LARGEST_COUNT}", value)


def check_sample_weight(sample_weight: Any, X: Any, may_vanish: bool = False) -> np.ndarray:
    """Return weights of the rows of `X` as (n,) float64: at least 0, and not all 0 unless they `may_vanish`.

    The rules and messages are those of scikit-learn 1.9 for every version, from public parts alone.
    """
    n = X.shape[0]
    if isinstance(sample_weight, bool):
        raise ValueError(f"Sample weights must be numbers, got {sample_weight}.")
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weight.ndim}D array. "
            f"Expected either a scalar value or a 1D array of length {n}."
        )
    if weight.shape != (n,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if not weight.any() and not may_vanish:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    check_non_negative(weight, "`sample_weight`")
    return weight


def _take_rows(values: Any, index: np.ndarray) -> Any:
    """Return the rows at some positions: of an array, a sparse matrix, a data frame or a list."""
    if hasattr(values, "iloc"):
        return values.iloc[index]
    return values[index] if hasattr(values, "shape") else [values[i] for i in index]


try:
    from sklearn.utils._param_validation import Interval, StrOptions

    _validate: Callable[[Any], None] = BaseEstimator._validate_params
except (ImportError, AttributeError):
    Interval, StrOptions, _validate = _Interval, _StrOptions, _check_parameters

try:
    from sklearn.utils import _safe_indexing as take_rows
except ImportError:
    take_rows = _take_rows


def check_parameters(estimator: Any) -> None:
    """Raise unless every parameter is what `_parameter_constraints` says of it."""
    _refuse_odd_numbers(estimator)
    _validate(estimator)
