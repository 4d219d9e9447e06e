"""Means over pairs of rows, as data: AUCs and pairwise losses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from equipoise import _check
from equipoise.constraints._rate import Each, cell_of
from equipoise.terms import PairFunction

if TYPE_CHECKING:
    from equipoise.constraints._rate_table import RateTable


@dataclass(frozen=True)
class Subset:
    """The rows of a group and of a class, from which one row of each pair is taken.

    Parameters
    ----------
    group : value, dict or Each, optional
        As in `rate`; by default everyone.
    positive : bool, optional
        Only rows of the positive class, or only of the negative one; by default both.
    """

    group: Any = None
    positive: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", cell_of(self.group))
        if self.group is not None:
            _check.label("Subset", "group", self.group)
        if self.positive is not None:
            positive = _check.flag("Subset", "positive", self.positive)
            object.__setattr__(self, "positive", positive)

    def in_group(self, group: Any) -> Subset:
        """Return the subset of one group, where it was of each."""
        return replace(self, group=group) if isinstance(self.group, Each) else self

    def __str__(self) -> str:
        classes = {None: "rows", True: "positives", False: "negatives"}[self.positive]
        group = "each group" if isinstance(self.group, Each) else self.group
        return classes if group is None else f"{classes} of {group}"


@dataclass(frozen=True)
class PairRate:
    """The mean of a function of score differences over the pairs of two subsets; see `auc`.

    Attributes
    ----------
    above, below : Subset
    function : PairFunction or None
        None for the share of pairs in the right order.
    """

    above: Subset
    below: Subset
    function: PairFunction | None = None

    @property
    def kind(self) -> str:
        """What it is: "auc", or "loss" where a function is given."""
        return "auc" if self.function is None else "loss"

    @property
    def group(self) -> Any:
        """Each group, if a subset is of each; else a group of one of them, or None."""
        groups = [side.group for side in (self.above, self.below) if side.group is not None]
        quantified = [group for group in groups if isinstance(group, Each)]
        return (quantified or groups or [None])[0]

    def place(self, table: RateTable, owner: str) -> tuple[int, float, float]:
        """Return its place among the sums of a table, and what it is multiplied by and added to."""
        return table.place_pair(owner, self)

    def in_group(self, group: Any) -> PairRate:
        """Return the mean for one group, where it was for each."""
        return replace(self, above=self.above.in_group(group), below=self.below.in_group(group))

    def __str__(self) -> str:
        name = "AUC" if self.function is None else f"{self.function.name} pair loss"
        return f"{name}[{self.above} > {self.below}]"
