"""Step sizes, penalties and tolerances that change from step to step, as small objects."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from equipoise import _check
from equipoise._array import Array, dot, norm

__all__ = [
    "StepRule",
    "Constant",
    "InverseSqrt",
    "SquareRoot",
    "Inverse",
    "Normalised",
    "Polyak",
]


class StepRule(ABC):
    """A number for step `t`: a step size, a penalty, a tolerance.

    Rules that look at the function get `gap`, how far it lies above its target (None where no target is
    known), and `g`, its (sub)gradient.
    """

    @abstractmethod
    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the step size."""


def check_rule(owner: str, parameter: str, value: object) -> None:
    """Raise unless `value` is a step rule."""
    if not isinstance(value, StepRule):
        _check.fail(owner, parameter, "must be a StepRule, e.g. Constant(0.1)", value)


@dataclass(frozen=True)
class Constant(StepRule):
    """The same ``size`` in every step."""

    size: float

    def __post_init__(self) -> None:
        _check.non_negative("Constant", "size", self.size)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the step size."""
        return self.size


@dataclass(frozen=True)
class InverseSqrt(StepRule):
    """``size / sqrt(t + 1)``: it falls slowly, as subgradient methods need."""

    size: float

    def __post_init__(self) -> None:
        _check.non_negative("InverseSqrt", "size", self.size)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the step size."""
        return self.size / math.sqrt(t + 1)


@dataclass(frozen=True)
class SquareRoot(StepRule):
    """``size * sqrt(t + 1)``: it grows slowly, as a penalty may."""

    size: float

    def __post_init__(self) -> None:
        _check.positive("SquareRoot", "size", self.size)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the value."""
        return self.size * math.sqrt(t + 1)


@dataclass(frozen=True)
class Inverse(StepRule):
    """``size / (t + 1)``: it falls fast, as a tolerance may."""

    size: float

    def __post_init__(self) -> None:
        _check.positive("Inverse", "size", self.size)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the value."""
        return self.size / (t + 1)


@dataclass(frozen=True)
class Normalised(StepRule):
    """``length / (|g| sqrt(t + 1))``: steps of a given length, whatever the function's scale."""

    length: float

    def __post_init__(self) -> None:
        _check.non_negative("Normalised", "length", self.length)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the step size."""
        size = norm(g) if g is not None else 1.0
        return self.length / (size * math.sqrt(t + 1)) if size > 0 else 0.0


@dataclass(frozen=True)
class Polyak(StepRule):
    """``gap / |g|^2`` where a target is known, else the rule `otherwise`."""

    otherwise: StepRule = InverseSqrt(0.1)

    def __post_init__(self) -> None:
        check_rule("Polyak", "otherwise", self.otherwise)

    def __call__(self, t: int, gap: float | None = None, g: Array | None = None) -> float:
        """Return the step size."""
        if gap is None or g is None:
            return self.otherwise(t, gap, g)
        square = dot(g, g)
        return gap / square if square > 0 else 0.0
