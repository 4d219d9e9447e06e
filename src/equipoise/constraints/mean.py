"""The mean of a constraint over groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from equipoise.constraints.comparison import Comparison
from equipoise.constraints.constraint import Constraint, Row
from equipoise.constraints.expression import Expression

if TYPE_CHECKING:
    from equipoise.constraints.sample import Sample


@final
@dataclass(frozen=True)
class MeanOverGroups(Constraint):
    """One constraint: the mean of a comparison's rows, over all groups of all columns."""

    comparison: Comparison

    @property
    def needs(self) -> frozenset[str]:
        """What the comparison needs."""
        return self.comparison.needs

    def expand(self, sample: Sample) -> list[Row]:
        """Return one row."""
        rows = self.comparison.expand(sample)
        parts = tuple(
            (coefficient / len(rows), part)
            for row in rows
            for coefficient, part in row.expression.parts  # type: ignore[union-attr]
        )
        first, title = rows[0], self.comparison.title
        groups = tuple(dict.fromkeys(group for row in rows for group in row.groups))
        expression = Expression(parts) * 1.0  # adds up what is equal
        return [Row(f"{title}: mean", title, groups, expression, first.sense, first.bound, self)]
