"""Row weights that are a tensor, wherever it is."""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise._array import Array, counted, is_tensor, like, namespace, placed, to_numpy
from equipoise.terms._row_weights import RowWeights


@final
class DeviceWeights:
    """The weights of `RowWeights`, kept as a tensor: no product with them leaves its device.

    Parameters
    ----------
    parts : tensor of shape (R, n)
        The weights but for a factor, such as 1 for the rows that a rate is over: exact numbers, so
        that predictions are counted exactly.
    totals : array of shape (R,)
        What each rate is divided by.
    """

    def __init__(self, parts: Array, totals: Any) -> None:
        if not is_tensor(parts) or parts.ndim != 2:
            _check.fail("DeviceWeights", "parts", "must be a tensor of shape (R, n)", parts)
        self._parts = parts
        self._totals = _check.vector("DeviceWeights", "totals", totals, int(parts.shape[0]))
        self._in_dtype: dict[str, Array] = {str(parts.dtype): parts}
        self._moments: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the data, and rates."""
        R, n = self._parts.shape
        return int(n), int(R)

    @property
    def matrix(self) -> Any:
        """The matrix as a sparse one in memory, by rows."""
        return sparse.csr_array((to_numpy(self._parts) / self._totals[:, None]).T)

    def rates(self, phi: Array) -> np.ndarray:
        """Return ``W' phi`` of shape (R,), NumPy float64, summed in double precision."""
        return self._summed(self._parts, phi)

    def spread(self, coefficients: np.ndarray, scores: Array) -> Array:
        """Return ``W coefficients`` of shape (n,), like `scores`."""
        parts = self._as(scores)
        shares = coefficients / self._totals
        if len(shares) == 1:
            return parts[0] * float(shares[0])
        return namespace(parts).matmul(like(shares, scores), parts)

    def columns(self, index: np.ndarray, factor: Array) -> Array:
        """Return the columns `index` of ``diag(factor) W``, (n, k)."""
        shares = like(1.0 / self._totals[index], factor)
        return (self._as(factor)[placed(np.asarray(index), factor)] * shares[:, None] * factor).T

    def by_place(self, places: Array, count: int) -> np.ndarray:
        """Return the sums of the weights of the rows at each of `count` places, (count, R)."""
        sums = [counted(places, part, count) for part in self._parts]
        return np.stack(sums, axis=1) / self._totals if sums else np.zeros((count, 0))

    def rows(self, index: np.ndarray, scale: float) -> RowWeights:
        """Return some rows in memory, times `scale`."""
        found = to_numpy(self._parts[:, placed(index, self._parts)])
        return RowWeights((found * (scale / self._totals)[:, None]).T)

    def moments(self, lengths: Array | None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the `sides` of ``lengths**p``, p = 0, 1, 2 (0 alone without lengths).

        They are remembered for the same array `lengths`.
        """
        if self._moments is None or self._moments[0] is not lengths:
            powers: list[Any] = [1.0]
            powers += [] if lengths is None else [lengths, lengths * lengths]
            self._moments = lengths, [self.sides(power) for power in powers]
        return self._moments[1]

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest weight of a row in every rate, signs left out; shape (R,)."""
        xp = namespace(self._parts)
        found = [float(xp.max(xp.abs(part))) for part in self._parts]
        return np.array(found) / np.abs(self._totals)

    @cached_property
    def used(self) -> Array:
        """Which rows have a weight, a tensor of shape (n,)."""
        return namespace(self._parts).any(self._parts != 0, axis=0)

    def sides(self, phi: Array | float) -> tuple[np.ndarray, np.ndarray]:
        """Return what positive and what negative weights add to ``W' phi``, for ``phi >= 0``."""
        net = self._summed(self._parts, phi)
        if not bool((self._parts < 0).any()):
            return net, np.zeros_like(net)
        total = self._summed(namespace(self._parts).abs(self._parts), phi)
        return (total + net) / 2, (total - net) / 2

    def _summed(self, parts: Array, phi: Array | float) -> np.ndarray:
        """Return the sum over rows of every part times `phi`, divided: one rate at a time."""
        xp = namespace(parts)
        sums = [xp.sum(part * phi, dtype=xp.float64) for part in parts]
        return (to_numpy(xp.stack(sums)) if sums else np.zeros(0)) / self._totals

    def _as(self, scores: Array) -> Array:
        """Return the parts in the precision of the scores."""
        kind = str(scores.dtype)
        if kind not in self._in_dtype:
            self._in_dtype[kind] = namespace(scores).astype(self._parts, scores.dtype)
        return self._in_dtype[kind]
