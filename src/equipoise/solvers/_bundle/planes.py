"""Tangent planes below convex functions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import norm, to_numpy
from equipoise._problem import Point

# Planes without weight are dropped, but for the newest one of every function, where there are as many planes
# as the first number for each variable, and as the second in all. Chosen among these and (4, 60) on 74
# random problems of `benchmarks/hunt` (kinds convex_kinks and kinked_equalities): with more planes quadratic
# programs fail more often, and runs end farther from the solution.
PLANES_PER_VARIABLE, LEAST_PLANES = 2, 10

# Values are known to this, relative to the numbers they are computed from; chosen, above the unit of
# rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class TangentPlanes:
    """Planes ``offsets_j + <slopes_j, y>``, each below one function."""

    slopes: np.ndarray  # (n, d)
    offsets: np.ndarray  # (n,)
    owners: np.ndarray  # (n,) the function each belongs to, 0 the objective
    weights: (
        np.ndarray
    )  # (n,) in the last quadratic program; those of the objective's have the sum 1

    @staticmethod
    def at(point: Point, functions: np.ndarray) -> TangentPlanes:
        """Return the planes of these functions at a point, without weight."""
        slopes = to_numpy(point.gradients(functions))
        offsets = point.values[functions] - slopes @ to_numpy(point.x)
        return TangentPlanes(slopes, offsets, functions, np.zeros(functions.size))

    @property
    def of_objective(self) -> np.ndarray:
        """Which planes are the objective's."""
        return self.owners == 0

    def heights(self, y: np.ndarray) -> np.ndarray:
        """Return the values of the planes at `y`."""
        return self.offsets + self.slopes @ y

    def errors(self, y: np.ndarray) -> np.ndarray:
        """Return the rounding errors of these values."""
        return ROUNDING * (np.abs(self.offsets) + np.linalg.norm(self.slopes, axis=1) * norm(y))

    def missed(self, point: Point) -> np.ndarray:
        """Return the functions whose planes are too low at a point: the objective, violated constraints."""
        y = to_numpy(point.x)
        known = np.full(point.values.size, -np.inf)
        np.maximum.at(known, self.owners, self.heights(y) + self.errors(y))
        above = point.values > known
        above[1:] &= point.constraints > 0.0
        return np.flatnonzero(above)

    def joined(self, more: TangentPlanes, weights: np.ndarray) -> TangentPlanes:
        """Return these with their new weights and more; where they are many, those without weight go."""
        old = replace(self, weights=weights)
        if weights.size >= max(LEAST_PLANES, PLANES_PER_VARIABLE * self.slopes.shape[1]):
            old = old.used()
        return TangentPlanes(
            np.vstack((old.slopes, more.slopes)),
            np.append(old.offsets, more.offsets),
            np.append(old.owners, more.owners),
            np.append(old.weights, more.weights),
        )

    def used(self) -> TangentPlanes:
        """Return the planes with weight, and the newest one of every function."""
        keep = self.weights > 0.0
        keep[list({int(i): j for j, i in enumerate(self.owners)}.values())] = True
        return TangentPlanes(
            self.slopes[keep], self.offsets[keep], self.owners[keep], self.weights[keep]
        )
