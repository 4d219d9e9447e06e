"""Comparisons: constraints made by the algebra of rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from equipoise import _check
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._pair_rate import PairRate
from equipoise.constraints._rate import Each, Rate

if TYPE_CHECKING:
    from equipoise.constraints._expression import Expression
    from equipoise.constraints._sample import Sample


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
        ``|expression| <= bound``: two inequalities.
    name : str or None
        The rule's name; by default its formula.
    factor : float
        Scales the function, not the rule.
    denominator : Expression or None
        What the expression is divided by, for a ratio.
    """

    expression: Expression
    sense: str
    bound: float
    absolute: bool = False
    name: str | None = None
    factor: float = 1.0
    denominator: Expression | None = None

    def __post_init__(self) -> None:
        owner = "Comparison"
        _check.choice(owner, "sense", self.sense, ("<=", ">="))
        _check.real(owner, "bound", self.bound)
        _check.flag(owner, "absolute", self.absolute)
        if self.name is not None:
            _check.text(owner, "name", self.name)
        _check.positive(owner, "factor", self.factor)

    def named(self, name: str) -> Comparison:
        """Return the same rule with a name for reports."""
        return replace(self, name=name)

    @property
    def _parts(self) -> tuple[tuple[float, Rate | PairRate], ...]:
        below = () if self.denominator is None else self.denominator.parts
        return self.expression.parts + below

    @property
    def needs(self) -> frozenset[str]:
        """Groups, if a rate is over one; all rows, if predictions for them are compared with."""
        grouped = any(part.group is not None for _, part in self._parts)
        compared = any(part.kind == "churn" for _, part in self._parts)
        needed = {"groups": grouped, "all_rows": compared}
        return frozenset(name for name, holds in needed.items() if holds)

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality, or one for each group; two where absolute."""
        quantifiers = {part.group for _, part in self._parts if isinstance(part.group, Each)}
        if len(quantifiers) > 1:
            listed = ", ".join(map(str, quantifiers))
            _check.fail("rate", "group", "must use the same Each() in one comparison", listed)
        if not quantifiers:
            return self._sides(sample, self.expression, self.denominator, "")
        found = []
        for column in sample.columns(self.title, quantifiers.pop()):
            for cell, label in column:
                above = self.expression.with_group(cell)
                below = None if self.denominator is None else self.denominator.with_group(cell)
                found += self._sides(sample, above, below, label)
        return found

    @property
    def title(self) -> str:
        """The name, or the formula."""
        return self.name if self.name is not None else str(self)

    def _sides(
        self, sample: Sample, expression: Expression, denominator: Expression | None, label: str
    ) -> list[Inequality]:
        parts = expression.parts + (() if denominator is None else denominator.parts)
        named = [
            sample.label(self.title, part.group) for _, part in parts if part.group is not None
        ]
        groups = tuple(dict.fromkeys(named))
        sides = [(self.sense, self.bound)]
        if self.absolute:
            sides.append((">=", -self.bound))
        found = []
        for sense, bound in sides:
            name = self.title if not label else f"{self.title}: {label}"
            if self.name is None:
                name = f"{_fraction(expression, denominator)} {sense} {bound:g}"
            elif len(sides) > 1:
                name += f" ({'at most' if sense == '<=' else 'at least'} {bound:g})"
            rule = (name, self.title, groups, expression, sense, bound, self, self.factor)
            found.append(Inequality(*rule, denominator))
        return found

    def __bool__(self) -> bool:
        raise TypeError(
            "rate: a constraint has no truth value. Instead of `a <= rate <= b` write two "
            "constraints, [rate >= a, rate <= b]; do not join them with `and`."
        )

    def __str__(self) -> str:
        left = _fraction(self.expression, self.denominator)
        left = f"|{left}|" if self.absolute else left
        return f"{left} {self.sense} {self.bound:g}"

    def __repr__(self) -> str:
        return str(self) if self.name is None else f"{self.name}: {self}"


def _fraction(above: Expression, below: Expression | None) -> str:
    return str(above) if below is None else f"({above}) / ({below})"


def number_of(value: Any) -> float | None:
    """Return a finite float, or None if `value` is not a number."""
    return _check.real("rate", "number", value) if _check.is_number(value) else None
