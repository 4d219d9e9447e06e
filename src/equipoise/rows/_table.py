"""Table: the training rows, wherever they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from equipoise.models import LinearUnits
from equipoise.rows._entries import RateEntry, SumSpec, Tally
from equipoise.rows._groups import Groups
from equipoise.rows._row_sums import RowSums
from equipoise.terms import ScoreSum

if TYPE_CHECKING:
    from equipoise.rows._memory_table import MemoryTable


@dataclass(frozen=True)
class ColumnMoments:
    """Weighted sums over every column, (d,) each."""

    entries: np.ndarray
    squares: np.ndarray
    present: np.ndarray  # the weight of the entries that are not 0

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Return the sums over the rows of both."""
        names = [field.name for field in fields(self)]
        return ColumnMoments(*(getattr(self, name) + getattr(other, name) for name in names))


class Table(ABC):
    """Features, labels, weights and groups of the training rows, and every sum over them.

    Attributes
    ----------
    n_rows, n_columns : int
    labels : ndarray of shape (K,)
        The classes: the negative and the positive one, or more; sorted unless they were given.
    groups : Groups or None
        The sensitive columns.
    weighted : bool
        Whether rows have weights of their own.
    is_sparse : bool
    dtype : dtype
        Of the features.
    order : ndarray of shape (n,) or None
        Which row stands at each place, by its number among the rows given; None: they stand as given.
    divisible : bool
        Whether `part` gives a table of some rows, as fits that leave rows out need.
    """

    divisible: ClassVar[bool] = False

    n_rows: int
    n_columns: int
    labels: np.ndarray
    groups: Groups | None
    weighted: bool
    is_sparse: bool
    dtype: np.dtype
    order: np.ndarray | None

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes as plain Python values."""
        return tuple(self.labels.tolist())

    @property
    @abstractmethod
    def y(self) -> np.ndarray:
        """The labels of all rows, in one place."""

    @abstractmethod
    def ordered(self) -> Table:
        """Return the table with its rows in an order that depends on their content alone.

        Fits use it: then the order in which rows are given changes nothing. Where that takes long beside
        the fit, or is not needed (many rows in few groups), the table itself.
        """

    @abstractmethod
    def total(self, over: str = "sample") -> float:
        """Return the weight of all rows; over "objective" with class weights."""

    @abstractmethod
    def class_counts(self) -> np.ndarray:
        """Return the number of rows of every class."""

    @abstractmethod
    def class_totals(self) -> np.ndarray:
        """Return the weight of the rows of every class."""

    @abstractmethod
    def class_weighted(self, weights: Mapping[Any, float]) -> Table:
        """Return the table with the objective's weights multiplied by a weight for each class."""

    @abstractmethod
    def tallies(self, entries: Sequence[RateEntry]) -> list[Tally]:
        """Return what the subgroups of these rates hold."""

    @abstractmethod
    def labelled(self) -> MemoryTable:
        """Return labels, weights and groups of all rows in one place, for functions of all scores."""

    @abstractmethod
    def moments(self) -> ColumnMoments:
        """Return weighted sums over the columns."""

    @abstractmethod
    def variances(self, center: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return weighted sums of squared distances from the centre, for some columns."""

    @abstractmethod
    def heaviest_row(self) -> tuple[float, np.ndarray] | None:
        """Return the largest weight and the features of a row that has it; None for sparse data."""

    @abstractmethod
    def row_sums(self, units: LinearUnits, specs: Sequence[SumSpec]) -> RowSums:
        """Return sums over the rows as functions of the parameters of a linear model."""

    @abstractmethod
    def score_sums(self, specs: Sequence[SumSpec], known: ScoreSum | None = None) -> ScoreSum:
        """Return sums over the rows as functions of all their scores, in one place.

        Those `known` of the same rows may lend what they are made of.
        """

    @abstractmethod
    def digest(self) -> str:
        """Return a short text that differs where the rows do."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return the same from checksums, and features of some rows only, which is much quicker."""
