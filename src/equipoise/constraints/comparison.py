"""Comparisons: constraints made by the algebra of rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from equipoise import _check
from equipoise.constraints.constraint import Constraint, Row
from equipoise.constraints.expression import Expression
from equipoise.constraints.rate import Each

if TYPE_CHECKING:
    from equipoise.constraints.sample import Sample


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Constraint):
    """``expression <= bound`` or ``>= bound``, for everyone or for each group.

    Attributes
    ----------
    expression : Expression
        Rates only, no constant.
    sense : {"<=", ">="}
    bound : float
    absolute : bool
        ``|expression| <= bound``: two rows.
    name : str or None
        The rule's name; by default its formula.
    factor : float
        Scales the function, not the rule.
    """

    expression: Expression
    sense: str
    bound: float
    absolute: bool = False
    name: str | None = None
    factor: float = 1.0

    def named(self, name: str) -> Comparison:
        """Return the same rule with a name for reports."""
        return replace(self, name=name)

    @property
    def needs(self) -> frozenset[str]:
        """Groups, if a rate is over one."""
        grouped = any(part.group is not None for _, part in self.expression.parts)
        return frozenset({"groups"} if grouped else ())

    def expand(self, sample: Sample) -> list[Row]:
        """Return one row, or one for each group; two where absolute."""
        quantifiers = {p.group for _, p in self.expression.parts if isinstance(p.group, Each)}
        if len(quantifiers) > 1:
            listed = ", ".join(map(str, quantifiers))
            _check.fail("rate", "group", "must use the same Each() in one comparison", listed)
        if not quantifiers:
            return self._rows(sample, self.expression, "")
        rows = []
        for column in sample.columns(self.title, quantifiers.pop()):
            for cell, label in column:
                parts = tuple(
                    (c, replace(part, group=cell) if isinstance(part.group, Each) else part)
                    for c, part in self.expression.parts
                )
                rows += self._rows(sample, Expression(parts), label)
        return rows

    @property
    def title(self) -> str:
        """The name, or the formula."""
        return self.name if self.name is not None else str(self)

    def _rows(self, sample: Sample, expression: Expression, label: str) -> list[Row]:
        groups = tuple(
            dict.fromkeys(
                sample.label(self.title, part.group)
                for _, part in expression.parts
                if part.group is not None
            )
        )
        sides = [(self.sense, self.bound)]
        if self.absolute:
            sides.append((">=", -self.bound))
        rows = []
        for sense, bound in sides:
            name = self.title if not label else f"{self.title}: {label}"
            if self.name is None:
                name = f"{expression} {sense} {bound:g}"
            elif len(sides) > 1:
                name += f" ({'at most' if sense == '<=' else 'at least'} {bound:g})"
            rows.append(Row(name, self.title, groups, expression, sense, bound, self, self.factor))
        return rows

    def __bool__(self) -> bool:
        raise TypeError(
            "rate: a constraint has no truth value. Instead of `a <= rate <= b` write two "
            "constraints, [rate >= a, rate <= b]; do not join them with `and`."
        )

    def __str__(self) -> str:
        left = f"|{self.expression}|" if self.absolute else str(self.expression)
        return f"{left} {self.sense} {self.bound:g}"

    def __repr__(self) -> str:
        return str(self) if self.name is None else f"{self.name}: {self}"
