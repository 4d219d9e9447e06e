r"""Sums over all pairs of a smooth function of score differences, by a lattice.

A row's score is spread over the six lattice nodes around it by a quintic B-spline :math:`\beta`:

.. math:: \sum_{ij} w_i w_j \phi(s_i - s_j) = h_p' \Phi h_q, \; h_p(k) = \sum_{i \in p} w_i \beta(s_i/h - k)

with a Toeplitz matrix :math:`\Phi`, so that one convolution of two histograms gives the sum. What is computed
is itself a smooth function (four times differentiable), and slopes and products are its exact derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import final

import numpy as np
from scipy import fft, signal

from equipoise._array import Array
from equipoise.terms._lattice_cells import LatticeCells
from equipoise.terms._pair_point import PairedRows, PairPoint

# Nodes to a width of the function. Errors fall with the sixth power of their distance for values, with the
# fourth for second derivatives; with 12 the sigmoid of a single pair is right to 1e-11, its second
# derivative to 1e-7 (tests/terms/test_pairs.py).
NODES_PER_WIDTH = 12
# Leading bits of a circle's length that are not 0: lengths are few, so that most spectra are known from an
# earlier point, and a circle is at most an eighth longer than it must be. Chosen.
LENGTH_BITS = 4
# Entries of the inverse of the spline's own filter to either side; they fall by 0.43 each. Derived.
FILTER_REACH = 70


@final
class Lattice:
    """A function on a lattice of differences.

    Parameters
    ----------
    function : callable
        ``phi``, vectorised.
    width : float
        The scale on which it bends.
    reach : float
        In widths: beyond it the function is constant above, and linear below.
    slope_below : float
        The slope of that line.
    """

    def __init__(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        width: float,
        reach: float,
        slope_below: float = 0.0,
    ) -> None:
        self.function, self.h = function, width / NODES_PER_WIDTH
        self.reach, self.slope_below = int(np.ceil(reach * NODES_PER_WIDTH)), slope_below

    def over(self, rows: PairedRows) -> PairPoint:
        """Return the sums over pairs."""
        return _LatticePoint(self, rows)

    def spectrum(self, nodes: int) -> tuple[np.ndarray, int]:
        """Return the spectrum of the Toeplitz entries for so many nodes, and the length of their circle."""
        step = 1 << max(0, nodes.bit_length() - LENGTH_BITS)
        length = 2 * step * -(-nodes // step)
        return _spectrum(self.function, self.h, length), length


@final
class _LatticePoint(PairPoint):
    def __init__(self, lattice: Lattice, rows: PairedRows) -> None:
        self._rows, self._cells = rows, LatticeCells(rows, lattice.h, lattice.reach)
        self._kernel, self._length = lattice.spectrum(self._cells.nodes)
        own = self._spectra(rows.weight, 0)
        self._moved = self._convolved(own, own)
        self._bend: tuple[np.ndarray, Array] | None = None  # the latest weights, and the answer
        far = self._cells.far_shifts(rows.weight)
        self.values = self._paired(own, self._moved[0]) + lattice.slope_below * far

    def _spectra(self, weight: Array, derivative: int) -> np.ndarray:
        """Return the spectra of the histograms of every atom."""
        return fft.rfft(self._cells.histograms(weight, derivative), self._length, axis=1)

    def _convolved(self, above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the spectra of what rows below give to those above them, and the other way round."""
        return below * self._kernel, above * self._kernel.conj()

    def _paired(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the inner products of all pairs of sequences with these spectra, by Parseval's identity."""
        twice = second * (2.0 / self._length)  # but for the two ends, of which there is one each
        twice[:, [0, -1]] *= 0.5
        return first.view(np.float64) @ twice.view(np.float64).T

    def _read(self, U: np.ndarray, moved: tuple[np.ndarray, np.ndarray], derivative: int) -> Array:
        """Return what a potential gives to each row: the derivative of ``<U, M>`` by the histograms."""
        potential = fft.irfft(U @ moved[0] + U.T @ moved[1], self._length, axis=1)
        read = self._cells.read(potential[:, : self._cells.nodes], derivative)
        read *= self._rows.weight
        return read

    def slope(self, U: np.ndarray) -> Array:
        return self._read(U, self._moved, 1)

    def push(self, d: Array) -> np.ndarray:
        change = self._spectra(self._rows.weight * d, 1)
        return self._paired(change, self._moved[0]) + self._paired(self._moved[1], change)

    def bend(self, U: np.ndarray) -> Array:
        if self._bend is None or not np.array_equal(self._bend[0], U):
            self._bend = U.copy(), self._read(U, self._moved, 2)  # CG asks many times for the same
        return self._bend[1]

    def curve(self, U: np.ndarray, d: Array) -> Array:
        change = self._spectra(self._rows.weight * d, 1)
        found = self._read(U, self._convolved(change, change), 1)
        found += self.bend(U) * d
        return found


@lru_cache(maxsize=16)
def _spectrum(function: Callable[[np.ndarray], np.ndarray], h: float, length: int) -> np.ndarray:
    """Return the spectrum of the Toeplitz entries on a circle, the difference 0 in the first place.

    The splines of the rows interpolate `phi` on the lattice: the entries are the samples of `phi`, filtered
    twice by the inverse of the spline's samples.
    """
    most = length // 2 + FILTER_REACH
    samples = function(h * np.arange(-most, most + 1))
    entries = signal.oaconvolve(samples, _inverse_filter(), mode="valid")
    middle = length // 2  # the place of the difference 0
    half = (length + 1) // 2
    return fft.rfft(np.concatenate((entries[middle : middle + half], entries[:middle])))


@cache
def _inverse_filter() -> np.ndarray:
    """Return the inverse of the spline's samples ``(1, 26, 66, 26, 1) / 120``, applied twice."""
    size = 512
    samples = np.zeros(size)
    samples[[0, 1, 2, -2, -1]] = np.array([66.0, 26.0, 1.0, 1.0, 26.0]) / 120.0
    inverse = fft.irfft(1.0 / fft.rfft(samples) ** 2, size)
    return np.roll(inverse, FILTER_REACH)[: 2 * FILTER_REACH + 1]
