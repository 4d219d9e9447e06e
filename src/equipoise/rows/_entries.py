"""What is summed over rows, as data: it can be sent to wherever the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, final

import numpy as np

from equipoise import _check
from equipoise.rows._group_column import Cell
from equipoise.terms import (
    ClassLosses,
    FunctionOfScores,
    JoinedSums,
    PairFunction,
    Pointwise,
    ScoreSum,
)

if TYPE_CHECKING:
    from equipoise.rows._memory_table import MemoryTable
    from equipoise.rows._table import Table


@dataclass(frozen=True)
class ReferencePredictions:
    """Another model's predictions for the training rows, compared by content."""

    digest: str
    predictions: np.ndarray = field(compare=False, repr=False)

    @classmethod
    def of(cls, predictions: Any) -> ReferencePredictions:
        """Return the reference of an array of labels."""
        array = _check.labels("rate", "reference", predictions)
        content = array if array.dtype.kind != "O" else array.astype(str)
        return cls(sha256(np.ascontiguousarray(content).tobytes()).hexdigest()[:16], array)


@dataclass(frozen=True)
class Subgroup:
    """The rows that a rate is over; rows of weight 0 are left out."""

    cell: Cell | None = None  # one group; None: everyone
    positives: bool | None = None  # only rows of this class; None: of both
    over: str = "sample"  # whose weights count: "sample" or "objective"


@dataclass(frozen=True)
class Tally:
    """What a subgroup holds."""

    rows: int
    weight: float
    squares: float  # the sum of squared weights
    true: float  # the weight of rows with the label, or the reference prediction, "positive"

    @property
    def effective_rows(self) -> float:
        """The rows that equal weights would need for the same spread."""
        return self.weight**2 / self.squares

    def __add__(self, other: Tally) -> Tally:
        """Return what both hold together."""
        return Tally(
            self.rows + other.rows,
            self.weight + other.weight,
            self.squares + other.squares,
            self.true + other.true,
        )


@dataclass(frozen=True)
class RateEntry:
    """One rate: a weighted mean of a pointwise function over a subgroup.

    The bases "error" and "churn" are means of ``(1 - 2 truth) * prediction``, the truth being the
    label or the reference prediction.
    """

    base: str  # "positive", "error", "churn" or "loss": what is averaged
    function: Pointwise
    subgroup: Subgroup
    reference: ReferencePredictions | None = None
    total: float = 1.0  # the weight of the subgroup, over all rows wherever they are

    @property
    def of_margin(self) -> bool:
        """Whether the function is applied to the margin, as losses are, and not to the score."""
        return self.base == "loss"

    def part(self, start: int, rows: int) -> RateEntry:
        """Return the rate with the reference predictions of some rows only."""
        if self.reference is None:
            return self
        own = self.reference.predictions[start : start + rows]
        return replace(self, reference=replace(self.reference, predictions=own))


@dataclass(frozen=True)
class PairEntry:
    """One mean over pairs: of a function of the score differences between two subgroups."""

    function: PairFunction
    above: Subgroup
    below: Subgroup
    totals: tuple[float, float] = (1.0, 1.0)  # the weights of the subgroups, over all rows


class SumSpec(ABC):
    """Sums over rows, said without rows; `on` makes them for the rows of a table."""

    additive: bool = True

    @abstractmethod
    def on(self, table: Any) -> ScoreSum:
        """Return the sums over the rows of a table in memory, or their part of a larger one."""

    def part(self, start: int, rows: int) -> SumSpec:
        """Return what some rows need of it."""
        return self


@final
@dataclass(frozen=True)
class RateSpec(SumSpec):
    """Rates, grouped by their pointwise function, and by whether it is one of the margin."""

    groups: tuple[tuple[Pointwise, tuple[RateEntry, ...]], ...]

    def on(self, table: MemoryTable) -> ScoreSum:
        """Return the rates of every function."""
        made = [table.rates(function, entries) for function, entries in self.groups]
        return made[0] if len(made) == 1 else JoinedSums(made)

    def part(self, start: int, rows: int) -> RateSpec:
        """Return the rates with the reference predictions of some rows only."""
        return RateSpec(
            tuple((f, tuple(e.part(start, rows) for e in entries)) for f, entries in self.groups)
        )


@final
@dataclass(frozen=True)
class PairSpec(SumSpec):
    """Means over pairs, of one function of score differences."""

    function: PairFunction
    entries: tuple[PairEntry, ...]
    additive = False

    def on(self, table: Table) -> ScoreSum:
        """Return the means, over pairs of all rows."""
        return table.labelled().pairs(self.function, self.entries)


@final
@dataclass(frozen=True)
class FunctionSpec(SumSpec):
    """A user's function of all scores, labels and groups."""

    function: Callable[..., Any]
    name: str
    smooth: bool = True
    additive = False

    def on(self, table: Table) -> ScoreSum:
        """Return the function, with the labels and groups of all rows."""
        groups: Any = None
        if table.groups is not None:
            arrays = table.groups.arrays
            groups = next(iter(arrays.values())) if len(arrays) == 1 else dict(arrays)
        name, smooth = self.name, self.smooth
        order = table.order
        return FunctionOfScores(
            self.function, table.y, groups, name=name, smooth=smooth, order=order
        )


@final
@dataclass(frozen=True, eq=False)
class ClassLossSpec(SumSpec):
    """The losses of all classes; see `ClassLosses`."""

    classes: Sequence[Any]
    totals: np.ndarray  # the weight of each class, over all rows wherever they are

    def on(self, table: MemoryTable) -> ScoreSum:
        """Return the losses."""
        codes = np.searchsorted(np.asarray(self.classes), table.y)
        return ClassLosses(codes, len(self.classes), table.weight, totals=self.totals)
