"""Pointwise: a function of one score, and the numbers that bound it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from equipoise._array import Array
from equipoise.terms._scores import Scores


@dataclass(frozen=True)
class Kink:
    """Where a convex function's slope jumps: all slopes between are subgradients there."""

    at: float
    left: float  # slope
    right: float  # slope


class Pointwise(ABC):
    """A function ``phi(z)`` of a score or margin, with slope and curvature.

    A concrete function is a frozen dataclass of a few numbers. Losses are non-increasing functions
    of the margin ``z = b s`` with ``b = 1`` for the positive and ``-1`` for the negative class.

    Attributes
    ----------
    lipschitz : float or None
        The largest slope in absolute value; None if unbounded.
    curvatures : tuple of float
        The least and the largest second derivative; so ``phi`` is ``-least``-weakly convex. At a kink
        the largest is infinite.
    kink : Kink or None
        Where the slope jumps, if it does.
    range : tuple of float
        Numbers that no value is below or above.
    counts : bool
        Whether the function stands for a count of predictions, as a sigmoid does.
    """

    name: ClassVar[str]
    kink: ClassVar[Kink | None] = None
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    counts: ClassVar[bool] = False

    @property
    @abstractmethod
    def lipschitz(self) -> float | None:
        """The largest slope in absolute value."""

    @property
    @abstractmethod
    def curvatures(self) -> tuple[float, float]:
        """The least and the largest second derivative."""

    @abstractmethod
    def value(self, z: Scores) -> Array:
        """Return ``phi(z)``, like `z`."""

    @abstractmethod
    def slope(self, z: Scores) -> Array:
        """Return ``phi'(z)``; at a kink any subgradient."""

    @abstractmethod
    def curvature(self, z: Scores) -> Array:
        """Return ``phi''(z)``; 0 on linear pieces."""

    def thresholded(self, z: Scores) -> Array:
        """Return what `phi` stands for: the 0-1 function of a sigmoid; a loss stands for itself."""
        return self.value(z)

    def sharpened(self, k: float) -> Pointwise:
        """Return the function with sharpness `k`, where it has one."""
        return self

    def smoothed(self, width: float) -> Pointwise:
        """Return a smooth function within `width` of this one; it differs only around the kink."""
        return self
