"""All functions merged into one: a Lagrangian, a penalty or a maximum makes a problem without constraints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array, square
from equipoise._problem import Facts, Point, Problem


class Merit(ABC):
    """A function of the values ``(f_0, f_1, .., f_m)``: returns its value and its slopes ``(m + 1,)``.

    Attributes
    ----------
    smooth : bool
        Whether it is differentiable in the values.
    linear : bool
        Whether its slopes are the same everywhere; then its Hessian is that of the weighted functions.
    """

    smooth: ClassVar[bool] = True
    linear: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the merit and its derivative with respect to each value."""


@dataclass(frozen=True, eq=False)
class Lagrangian(Merit):
    """``f_0 + sum_i lam_i f_i``."""

    linear: ClassVar[bool] = True

    lam: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", _check.vector("Lagrangian", "lam", self.lam))

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        return float(values[0] + self.lam @ values[1:]), np.concatenate(([1.0], self.lam))


@dataclass(frozen=True, eq=False)
class AugmentedLagrangianMerit(Merit):
    """``f_0 + 1/(2b) sum_i ([lam_i + b f_i]_+^2 - lam_i^2)``."""

    lam: np.ndarray
    b: float

    def __post_init__(self) -> None:
        owner = "AugmentedLagrangianMerit"
        object.__setattr__(self, "lam", _check.vector(owner, "lam", self.lam))
        _check.positive(owner, "b", self.b)

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        pushed = np.maximum(self.lam + self.b * values[1:], 0.0)
        value = values[0] + (square(pushed) - square(self.lam)) / (2 * self.b)
        return float(value), np.concatenate(([1.0], pushed))


@dataclass(frozen=True)
class QuadraticPenalty(Merit):
    """``f_0 + b/2 sum_i [f_i]_+^2``."""

    b: float

    def __post_init__(self) -> None:
        _check.non_negative("QuadraticPenalty", "b", self.b)

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        over = np.maximum(values[1:], 0.0)
        value = values[0] + 0.5 * self.b * (over @ over)
        return float(value), np.concatenate(([1.0], self.b * over))


@dataclass(frozen=True)
class Violation(Merit):
    """``sum_i [f_i]_+^2 / 2``."""

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        over = np.maximum(values[1:], 0.0)
        return float(0.5 * over @ over), np.concatenate(([0.0], over))


@dataclass(frozen=True)
class Maximum(Merit):
    """``max(f_0 - level, f_1, .., f_m)``; ties go to the lowest index."""

    smooth: ClassVar[bool] = False

    level: float = 0.0

    def __post_init__(self) -> None:
        if _check.number("Maximum", "level", self.level) == -np.inf:
            _check.fail("Maximum", "level", "must be above -inf", self.level)

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and slopes."""
        shifted = values.copy()
        shifted[0] -= self.level
        i = int(shifted.argmax())
        slopes = np.zeros(values.size)
        slopes[i] = 1.0
        return float(shifted[i]), slopes


class MeritProblem(Problem):
    """Minimise a merit of another problem's functions over its domain; no constraints are left.

    Parameters
    ----------
    base : Problem
    merit : Merit
    """

    def __init__(self, base: Problem, merit: Merit) -> None:
        self.base = _check.kind("MeritProblem", "base", base, Problem)
        self.merit = _check.kind("MeritProblem", "merit", merit, Merit)
        self.dim, self.domain = base.dim, base.domain
        self.n_constraints, self.names = 0, ()
        self.sketched = base.sketched  # what suits the base suits its merit

    @cached_property
    def facts(self) -> Facts:  # type: ignore[override]
        """What is known of the merit."""
        known = self.base.facts
        return Facts(
            smooth=known.smooth if self.merit.smooth else False,
            convex_constraints=True,
            convex=known.convex,
            stochastic=known.stochastic,
            rounding=known.rounding,
        )

    def at(self, x: Array) -> Point:
        """Evaluate the merit at `x`."""
        point = self.base.at(x)
        value, slopes = self.merit(point.values)
        base_hvp = point.hvp if self.merit.linear else None
        return Point(
            point.x,
            np.array([value]),
            lambda weights: point.vjp(float(weights[0]) * slopes),
            None if base_hvp is None else lambda weights, v: base_hvp(weights[0] * slopes, v),
        )

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return the merit of a mini-batch."""
        batch = self.base.sample(rng)
        return self if batch is self.base else MeritProblem(batch, self.merit)
