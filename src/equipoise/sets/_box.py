"""A box: bounds on every coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, norm
from equipoise.sets._linear_rows import LinearRows
from equipoise.sets._set import ACTIVE, Set
from equipoise.sets._stored import recalled, stored


@final
@dataclass(frozen=True, eq=False, repr=False)
class Box(Set):
    r"""The box :math:`\{x : l \le x \le u\}`.

    The projection clips. The projection of `v` on the tangent cone at `x` keeps the
    coordinate `v_i` where `x_i` lies inside, or where `v_i` points inwards, and puts 0
    elsewhere.

    Parameters
    ----------
    lower, upper : array-like of shape (d,) or float
        The bounds ``l <= u``; a number stands for all coordinates. Infinite bounds are
        allowed, and make the diameter infinite.
    dim : int, optional
        The dimension; needed when both bounds are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> Box(0, [1, 2]).project(np.array([-1.0, 3.0]))
    array([0., 2.])
    >>> Box(-1, 1, dim=100)
    Box(lower=-1.0, upper=1.0, dim=100)
    """

    name: ClassVar[str] = "box"

    lower: Array  # (d,) after construction, as upper
    upper: Array
    dim: int | None = None

    def __post_init__(self) -> None:
        lower, upper = _bound("lower", self.lower), _bound("upper", self.upper)
        dim = None if self.dim is None else _check.count("Box", "dim", self.dim, 1)
        shapes = {bound.shape for bound in (lower, upper) if bound.ndim == 1}
        if dim is None and not shapes:
            _check.fail("Box", "dim", "must be given when both bounds are numbers", None)
        shape = (dim,) if dim is not None else next(iter(shapes))
        for parameter, bound in (("lower", lower), ("upper", upper)):
            if bound.ndim == 1 and bound.shape != shape:
                _check.fail(
                    "Box", parameter, f"must be a number or have shape {shape}", bound.shape
                )
        lower, upper = np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)
        if np.any(lower == np.inf) or np.any(upper == -np.inf):
            reason = "`lower` must be below inf and `upper` above -inf."
            raise _check.InputError("Box", reason, "lower")
        if np.any(lower > upper):
            i = int(np.argmax(lower > upper))
            rule = f"must not exceed `upper` (entry {i} of `upper` is {upper[i]:g})"
            _check.fail("Box", "lower", rule, float(lower[i]))
        object.__setattr__(self, "lower", stored(lower))
        object.__setattr__(self, "upper", stored(upper))
        object.__setattr__(self, "dim", shape[0])

    def __repr__(self) -> str:
        if np.all(self.lower == self.lower[0]) and np.all(self.upper == self.upper[0]):
            return f"Box(lower={self.lower[0]}, upper={self.upper[0]}, dim={self.dim})"
        if self.lower.size <= 4:
            return f"Box(lower={self.lower.tolist()}, upper={self.upper.tolist()})"
        return f"Box(dim={self.dim})"

    @property
    def diameter(self) -> float:
        """The length of the diagonal, ``|u - l|``."""
        return norm(self.upper - self.lower)

    def project(self, x: Array) -> Array:
        """Return `x` clipped to the bounds."""
        x = self._checked(x)
        return namespace(x).clip(x, recalled(self.lower, x), recalled(self.upper, x))

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the map that puts 0 where `x` is at a bound and `v` does not point inwards."""
        x = self._checked(x)
        xp = namespace(x)
        low, high = (recalled(bound, x) for bound in self._reached)
        keep = ((x > low) | (v > 0)) & ((x < high) | (v < 0))
        return lambda w: xp.where(keep, w, xp.zeros_like(w))

    @cached_property
    def _reached(self) -> tuple[np.ndarray, np.ndarray]:
        """Where `x` is at the lower, and at the upper bound: ``x <= low``, ``x >= high``."""
        width = self.upper - self.lower
        # A thousandth of the width, so that a tiny box keeps an interior.
        most = np.where(width > 0, 1e-3 * width, np.inf)
        return (
            self.lower + np.minimum(_tolerance(self.lower), most),
            self.upper - np.minimum(_tolerance(self.upper), most),
        )

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the steps from `x` that stay in the set."""
        low, high = np.minimum(self.lower - x, 0.0), np.maximum(self.upper - x, 0.0)
        return LinearRows.of(x.size, low, high)


def _tolerance(bound: np.ndarray) -> np.ndarray:
    size = np.abs(bound, where=np.isfinite(bound), out=np.zeros(bound.size))
    return ACTIVE * np.maximum(1.0, size)


def _bound(parameter: str, value: Any) -> np.ndarray:
    """Return a bound as a number or vector without NaN."""
    if _check.is_number(value):
        return np.asarray(_check.number("Box", parameter, value))
    bound = _check.array("Box", parameter, value, ("d",))
    if bound.size == 0:
        _check.fail("Box", parameter, "must be a number or have shape (d,), d >= 1", bound.shape)
    return bound
