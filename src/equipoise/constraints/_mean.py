"""The mean of a constraint over groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from equipoise.constraints._comparison import Comparison
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._expression import Expression

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample


@final
@dataclass(frozen=True)
class MeanOverGroups(Constraint):
    """One constraint: the mean of a comparison's inequalities, over all groups of all columns."""

    comparison: Comparison

    @property
    def needs(self) -> frozenset[str]:
        """What the comparison needs."""
        return self.comparison.needs

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality."""
        each = self.comparison.expand(sample)
        parts = tuple(
            (coefficient / len(each), part)
            for inequality in each
            for coefficient, part in inequality.expression.parts  # type: ignore[union-attr]
        )
        first, title = each[0], self.comparison.title
        groups = tuple(dict.fromkeys(group for inequality in each for group in inequality.groups))
        expression = Expression(parts) * 1.0  # adds up what is equal
        rule = (f"{title}: mean", title, groups, expression, first.sense, first.bound)
        return [Inequality(*rule, self)]
