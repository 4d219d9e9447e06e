"""Rates: what a user counts, as data, before any data is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from equipoise import _check
from equipoise.rows import Cell, ReferencePredictions
from equipoise.terms import Pointwise

if TYPE_CHECKING:
    from equipoise.constraints._rate_table import RateTable


class Kind(NamedTuple):
    """How a kind of rate is counted."""

    base: str  # "positive", "error", "churn" or "loss": what is averaged
    positives: bool | None = None  # only over this class; None: over both
    complement: bool = False  # 1 minus that


KINDS: dict[str, Kind] = {
    "positive": Kind("positive"),
    "negative": Kind("positive", complement=True),
    "true_positive": Kind("positive", positives=True),
    "false_negative": Kind("positive", positives=True, complement=True),
    "false_positive": Kind("positive", positives=False),
    "true_negative": Kind("positive", positives=False, complement=True),
    "error": Kind("error"),
    "accuracy": Kind("error", complement=True),
    "churn": Kind("churn"),
    "loss": Kind("loss"),
}
"""Every kind of rate."""


@dataclass(frozen=True)
class Each:
    """Stands for every group in turn, as ``group=Each()``.

    Parameters
    ----------
    column : str or tuple of str, optional
        The sensitive column; several names mean the intersections of their groups. By default
        every column, one after the other.
    groups : tuple, optional
        Only these groups of the column.
    intersections : bool, default False
        The intersections of all sensitive columns.
    """

    column: Any = None
    groups: tuple[Any, ...] | None = None
    intersections: bool = False

    def __post_init__(self) -> None:
        column = self.column
        if column is not None and not _is_column(column):
            names = (
                () if isinstance(column, str | bytes) else _check.sequence("Each", "column", column)
            )
            if not names or not all(map(_is_column, names)):
                _check.fail("Each", "column", "must be the name of a column, or several", column)
            object.__setattr__(self, "column", names)
        if _check.flag("Each", "intersections", self.intersections) and column is not None:
            _check.fail("Each", "column", "must be left out with `intersections`", column)
        if self.groups is not None:
            groups = _check.sequence("Each", "groups", self.groups)
            if not groups:
                _check.fail("Each", "groups", "must be a sequence of groups", self.groups)
            for group in groups:
                _check.label("Each", "groups", group)
            object.__setattr__(self, "groups", groups)


@dataclass(frozen=True)
class Rate:
    """One rate; made by `rate`, which explains the fields."""

    kind: str
    group: Any = None  # None, a value, a Cell, or Each
    label: Any = None
    per: str | None = None
    loss: Pointwise | None = None
    reference: ReferencePredictions | None = None
    over: str = "sample"  # whose weights count: "sample" or "objective"

    def __post_init__(self) -> None:
        owner = "rate"
        _check.choice(owner, "kind", self.kind, KINDS)
        kind = KINDS[self.kind]
        if kind.positives is not None and self.label is not None:
            rule = f"must be left out: {self.kind!r} is a rate among one class"
            _check.fail(owner, "label", rule, self.label)
        if self.per is not None:
            _check.choice(owner, "per", self.per, ("group", "all"))
        if kind.base == "churn" and self.reference is None:
            _check.fail(owner, "reference", "must hold predictions for 'churn'", None)
        if kind.base != "churn" and self.reference is not None:
            _check.fail(owner, "reference", "is only for 'churn'", self.kind)
        if kind.base != "loss" and self.loss is not None:
            _check.fail(owner, "loss", "is only for 'loss'", self.kind)
        if self.group is not None:
            _check.label(owner, "group", self.group)
        if self.label is not None:
            _check.label(owner, "label", self.label)

    def place(self, table: RateTable, owner: str) -> tuple[int, float, float]:
        """Return its place among the sums of a table, and what it is multiplied by and added to."""
        return table.place_rate(owner, self)

    def in_group(self, group: Any) -> Rate:
        """Return the rate of one group, where it was of each."""
        return replace(self, group=group) if isinstance(self.group, Each) else self

    def __str__(self) -> str:
        group = "each group" if isinstance(self.group, Each) else self.group
        conditions = [str(group)] if self.group is not None else []
        if self.label is not None:
            conditions.append(f"label {self.label}")
        inside = f"[{', '.join(conditions)}]" if conditions else ""
        per = f" per {self.per}" if self.per else ""
        return f"{self.kind.replace('_', ' ')}{inside}{per}"


def _is_column(value: Any) -> bool:
    """Whether `value` is the name of a column, or its number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def cell_of(group: Any) -> Any:
    """Return a group given by the user; a dict of columns becomes a `Cell`."""
    if isinstance(group, Mapping):
        if not group:
            _check.fail("rate", "group", "must name at least one column", group)
        return Cell(tuple(group.items()))
    return group
