"""Random functions that can be evaluated in extended precision, with every gradient at a kink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

EXTENDED = np.longdouble
UNIT = float(np.finfo(float).eps)
# Sums of about a hundred terms lose at most this many units in the last place.
UNITS = 200.0


@dataclass(frozen=True)
class Shape:
    """A function of one number: value, first and second derivative, and bounds on these."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    bend: Callable[[Any], Any]
    steepest: float  # at least |slope|
    least: float  # at most bend
    most: float  # at least bend


SHAPES = {
    "sin": Shape(np.sin, np.cos, lambda t: -np.sin(t), 1.0, -1.0, 1.0),
    "tanh": Shape(
        np.tanh,
        lambda t: 1 - np.tanh(t) ** 2,
        lambda t: -2 * np.tanh(t) * (1 - np.tanh(t) ** 2),
        1.0,
        -0.77,
        0.77,
    ),
    "root": Shape(
        lambda t: np.sqrt(1 + t * t),
        lambda t: t / np.sqrt(1 + t * t),
        lambda t: (1 + t * t) ** -1.5,
        1.0,
        0.0,
        1.0,
    ),
    "softplus": Shape(
        lambda t: np.logaddexp(0, t),
        lambda t: 0.5 * (1 + np.tanh(t / 2)),
        lambda t: 0.25 * (1 - np.tanh(t / 2) ** 2),
        1.0,
        0.0,
        0.25,
    ),
    "quartic": Shape(lambda t: t**4, lambda t: 4 * t**3, lambda t: 12 * t**2, np.inf, 0.0, np.inf),
    "cubic": Shape(lambda t: t**3, lambda t: 3 * t**2, lambda t: 6 * t, np.inf, -np.inf, np.inf),
}


@dataclass(frozen=True, eq=False)
class Function:
    """``s (y'Py/2 + q'y + c + sum_k a_k shape_k(w_k'y + b_k) + sum of maxima of linear functions)``.

    Here ``y = stretch x - shift``. The last three fields make a function that breaks its promises.
    """

    q: np.ndarray
    P: np.ndarray | None = None
    c: float = 0.0
    ridges: tuple[tuple[float, str, np.ndarray, float], ...] = ()  # a, shape, w, b
    maxima: tuple[tuple[np.ndarray, np.ndarray], ...] = ()  # rows A, numbers b: max(A y + b)
    scale: float = 1.0
    stretch: np.ndarray | float = 1.0
    shift: np.ndarray | float = 0.0
    jump: tuple[np.ndarray, float, float] | None = None  # w, b, height: added where w'x > b
    hole: tuple[np.ndarray, float] | None = None  # w, b: NaN where w'x > b
    twist: np.ndarray | None = field(
        default=None
    )  # a wrong gradient: this matrix times the true one

    def inner(self, x: np.ndarray) -> np.ndarray:
        return self.stretch * x - self.shift

    def value(self, x: np.ndarray) -> Any:
        y = self.inner(x)
        total = self.q @ y + self.c
        if self.P is not None:
            total = total + y @ (self.P @ y) / 2
        for a, shape, w, b in self.ridges:
            total = total + a * SHAPES[shape].value(w @ y + b)
        for A, b in self.maxima:
            total = total + np.max(A @ y + b)
        total = self.scale * total
        given = np.asarray(
            x, dtype=float
        )  # on which side of a break: as the library's user computes it
        if self.jump is not None and self.jump[0] @ given > self.jump[1]:
            total = total + self.jump[2]
        if self.hole is not None and self.hole[0] @ given > self.hole[1]:
            total = total * np.nan
        return total

    def smooth_gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient without the maxima."""
        y = self.inner(x)
        total = self.q + 0 * y
        if self.P is not None:
            total = total + self.P @ y
        for a, shape, w, b in self.ridges:
            total = total + a * SHAPES[shape].slope(w @ y + b) * w
        return self.turned(total)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient that is handed to the library: one subgradient where there are several."""
        y, total = self.inner(x), self.smooth_gradient(x)
        for A, b in self.maxima:
            total = total + self.turned(A[int(np.argmax(A @ y + b))])
        return total

    def jumps(self, x: np.ndarray, radius: float) -> list[np.ndarray]:
        """For each maximum, the gradients of the rows that can be largest within `radius` of `x`."""
        y, active = self.inner(x), []
        for A, b in self.maxima:
            values = A @ y + b
            reach = np.linalg.norm(np.asarray(A * self.stretch, dtype=float), axis=1) * radius
            near = values + reach >= np.max(values - reach) - 1e-12 * np.abs(values).max()
            active.append(np.array([self.turned(row) for row in A[near]]))
        return active

    def turned(self, row: np.ndarray) -> np.ndarray:
        row = self.scale * self.stretch * row
        return row if self.twist is None else self.twist @ row

    def product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The Hessian times `v`, away from kinks."""
        y, u = self.inner(x), self.stretch * v
        total = 0 * u if self.P is None else self.P @ u
        for a, shape, w, b in self.ridges:
            total = total + a * SHAPES[shape].bend(w @ y + b) * (w @ u) * w
        return self.scale * self.stretch * total

    def size(self, x: np.ndarray) -> float:
        """How large the terms are that add up to the value: its rounding error is a few units of it."""
        y = np.abs(self.stretch * x) + np.abs(self.shift)
        total = np.abs(self.q) @ y + abs(self.c)
        if self.P is not None:
            total = total + y @ (np.abs(self.P) @ y)
        for a, shape, w, b in self.ridges:
            reach = np.abs(w) @ y + abs(b)
            steep = np.abs(SHAPES[shape].slope(reach)) + 1
            total = total + abs(a) * (
                np.abs(SHAPES[shape].value(w @ self.inner(x) + b)) + steep * reach
            )
        for A, b in self.maxima:
            total = total + np.max(np.abs(A) @ y + np.abs(b))
        with np.errstate(over="ignore"):
            return float(abs(self.scale) * total)

    def steepness(self, x: np.ndarray) -> float:
        """How large the terms of the gradient are; its own rounding error is a few units of it."""
        y = np.abs(self.inner(x))
        total = np.abs(self.q) + 0 * y
        if self.P is not None:
            total = total + np.abs(self.P) @ y
        for a, shape, w, b in self.ridges:
            total = total + abs(a) * np.abs(SHAPES[shape].slope(w @ self.inner(x) + b)) * np.abs(w)
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(self.scale * self.stretch * total))

    def bends(self) -> tuple[float, float]:
        """Bounds on the eigenvalues of the Hessian, away from kinks."""
        low = high = 0.0
        if self.P is not None:
            eigenvalues = np.linalg.eigvalsh(self.P)
            low, high = float(eigenvalues[0]), float(eigenvalues[-1])
        for a, shape, w, _ in self.ridges:
            ends = sorted((a * SHAPES[shape].least, a * SHAPES[shape].most))
            low, high = low + min(ends[0], 0.0) * (w @ w), high + max(ends[1], 0.0) * (w @ w)
        factor = self.scale * float(np.max(np.abs(self.stretch))) ** 2
        return min(factor * low, factor * high), max(factor * low, factor * high)
