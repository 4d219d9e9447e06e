"""A closed convex set with a cheap projection."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, final

import numpy as np

from equipoise import _check
from equipoise._array import Array, namespace, norm, square
from equipoise.sets._linear_rows import LinearRows

ACTIVE = 1e-10
"""A bound counts as reached within ``ACTIVE * max(1, scale)``; chosen, far above rounding errors."""


class Set(ABC):
    """A closed convex set `X` of vectors.

    A concrete set implements `diameter`, `project` and `tangent_map`, and may tell its `bending` and its
    `linear_rows`; the rest is final.
    The normal cone of every set here is polyhedral at each of its points, so the
    projection on the tangent cone is linear on pieces, and `tangent_map` gives the piece.
    """

    name: ClassVar[str]
    dim: int | None = None  # None: the set exists in every dimension

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points (an upper bound where exactness is hard)."""

    @abstractmethod
    def project(self, x: Array) -> Array:
        """Return the point of the set nearest to `x`, whose entries must be finite."""

    @abstractmethod
    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the linear map that equals ``tangent(x, .)`` on the piece that holds `v`.

        `x` is a point of the set. The map takes vectors ``(d,)`` or rows ``(k, d)``.
        """

    def bending(self, x: Array, v: Array) -> Array | float:
        """Return the curvature that the boundary at `x` adds to a function with gradient ``-v``.

        A factor per coordinate, for steps along the face: moving by `w` and projecting back costs
        ``bending * |w|^2 / 2`` more than the function says. 0 on flat faces.
        """
        return 0.0

    def linear_rows(self, x: np.ndarray) -> LinearRows | None:
        """Return the steps from the point `x` of the set that stay in it, as rows of a linear program.

        They are exact for polyhedra. Another set may return more steps, from which its user projects;
        None where it has no such rows.
        """
        return None

    @final
    def tangent(self, x: Array, v: Array) -> Array:
        """Return the projection of `v` on the tangent cone of the set at `x`."""
        x, v = self._checked(x), self._checked(v, "v")
        if v.shape != x.shape:
            rule = f"must have the shape {tuple(x.shape)} of `x`"
            _check.fail(type(self).__name__, "v", rule, tuple(v.shape))
        return self.tangent_map(x, v)(v)

    @final
    def normal_distance(self, x: Array, v: Array) -> float:
        """Return the distance of `v` from the normal cone at `x` (Moreau: ``|tangent(x, v)|``)."""
        return norm(self.tangent(x, v))

    @final
    def distance(self, x: Array) -> float:
        """Return the distance of `x` from the set."""
        return norm(x - self.project(x))

    @final
    def contains(self, x: Array, atol: float = 1e-8) -> bool:
        """Whether `x` lies within ``atol * max(1, |x|)`` of the set."""
        atol = _check.non_negative(type(self).__name__, "atol", atol)
        return self.distance(x) <= atol * max(1.0, norm(x))

    @final
    def _checked(self, x: Array, parameter: str = "x") -> Array:
        """Return `x` if it is a finite floating-point vector of the right length."""
        if isinstance(x, np.ndarray):
            floating = x.dtype.kind == "f"
        else:
            floating = hasattr(x, "dtype") and namespace(x).isdtype(x.dtype, "real floating")
        if not floating:
            kind = getattr(x, "dtype", type(x).__name__)
            rule = "must be an array of floating-point numbers"
            _check.fail(type(self).__name__, parameter, rule, str(kind))
        if x.ndim != 1 or x.shape[0] == 0 or (self.dim is not None and x.shape[0] != self.dim):
            size = "d,), d >= 1" if self.dim is None else f"{self.dim},)"
            rule = f"must have shape ({size}"
            _check.fail(type(self).__name__, parameter, rule, tuple(x.shape))
        if not math.isfinite(
            square(x)
        ):  # quick: a finite sum of squares proves that all entries are
            _check.finite(type(self).__name__, parameter, x)
        return x
