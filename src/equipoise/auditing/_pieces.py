"""Pieces: the independent parts of a sum of rates, and the sharpest limits for their sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from equipoise.auditing._bounded_means import BoundedMeans
from equipoise.auditing._box import ShareOfMeasure, SumOfMeasures
from equipoise.auditing._measure import Measure
from equipoise.auditing._one_rate import OneRate
from equipoise.auditing._two_rates import TwoRates


@dataclass(frozen=True, eq=False)
class Piece:
    """``offset + factor * mean`` of independent numbers in [0, 1]: one part of a sum.

    Attributes
    ----------
    members : boolean arrays of shape (n,)
        The rows it depends on.
    draws : int
        Independent draws behind the mean.
    mean, factor, offset : float
    counts : bool
        Whether the numbers are 0 and 1 alone, so that binomial limits are exact.
    apart : OneRate or None
        Of an AUC between a set and a part of it: the share of the set that is not in that part. The mean is
        then of pairs of the part and the rest; any other pair is in order with chance one half.
    """

    members: np.ndarray
    draws: int
    mean: float
    factor: float
    offset: float
    counts: bool
    apart: OneRate | None = None

    @property
    def hits(self) -> int:
        """The number of ones."""
        return round(self.mean * self.draws) if self.draws else 0

    def alone(self) -> Measure:
        """Return the measure of this piece."""
        if self.counts:
            return OneRate.of(self.hits, self.draws, self.factor, self.offset)
        if self.apart is not None:
            half = 0.5 * self.factor
            rest = BoundedMeans.of([self.mean], [self.draws], [self.factor], -half)
            return ShareOfMeasure(self.apart, rest, self.offset + half)
        return BoundedMeans.of([self.mean], [self.draws], [self.factor], self.offset)


def measure_of_sum(pieces: list[Piece], constant: float = 0.0) -> Measure:
    """Return the measure of a sum of pieces and a constant."""
    constant += sum(piece.offset for piece in pieces if piece.factor == 0.0)
    pieces = [piece for piece in pieces if piece.factor != 0.0]
    nested = any(piece.apart is not None for piece in pieces)
    if len(pieces) > 1 and (nested or overlap(pieces)):
        first = replace(pieces[0], offset=pieces[0].offset + constant)
        return SumOfMeasures(tuple(piece.alone() for piece in (first, *pieces[1:])))
    if len(pieces) == 1:
        return replace(pieces[0], offset=pieces[0].offset + constant).alone()
    constant += sum(piece.offset for piece in pieces)
    if len(pieces) == 2 and all(piece.counts for piece in pieces):
        a, b = (OneRate.of(piece.hits, piece.draws, piece.factor) for piece in pieces)
        # a sum is a difference: the second rate is taken the other way round
        hits, rows = (a.hits, b.rows - b.hits), (a.rows, b.rows)
        offset = constant + a.offset + b.offset + b.factor
        return TwoRates(hits, rows, (a.factor, b.factor), offset)
    return BoundedMeans.of(
        [piece.mean for piece in pieces],
        [piece.draws for piece in pieces],
        [piece.factor for piece in pieces],
        constant,
    )


def overlap(pieces: Iterable[Piece]) -> bool:
    """Whether a row is part of two pieces: then they are not independent."""
    return bool((np.sum([piece.members for piece in pieces], axis=0, dtype=np.int16) > 1).any())
