"""The whole space: no restriction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from equipoise._array import Array
from equipoise.sets._linear_rows import LinearRows, free_rows
from equipoise.sets._set import Set


@final
@dataclass(frozen=True)
class WholeSpace(Set):
    r"""All of :math:`\mathbb{R}^d`, for problems without a domain.

    Projection and tangent projection are the identity; the normal cone is ``{0}``.

    Examples
    --------
    >>> WholeSpace().diameter
    inf
    """

    name: ClassVar[str] = "whole_space"

    @property
    def diameter(self) -> float:
        """Infinite."""
        return math.inf

    def project(self, x: Array) -> Array:
        """Return `x`."""
        return self._checked(x)

    def tangent_map(self, x: Array, v: Array) -> Callable[[Array], Array]:
        """Return the identity."""
        return lambda w: w

    def linear_rows(self, x: np.ndarray) -> LinearRows:
        """Return the steps from `x` that stay in the set."""
        return free_rows(x.size)
