"""Rules as they are given: one or several, and what can be made of them with the rows there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from equipoise import _check
from equipoise.constraints._constraint import Constraint
from equipoise.constraints._expression import Expression
from equipoise.constraints._quotient import Quotient

T = TypeVar("T")


def listed(owner: str, constraints: Any, parameter: str = "constraints") -> list[Constraint]:
    """Return rules as a list, whether one or several were given; raise for anything else."""
    found = one_or_several(constraints)
    for given in found:
        if isinstance(given, Expression | Quotient):
            rule = "must be compared with a bound, as in rate('positive') <= 0.3"
            _check.fail(owner, parameter, rule, given)
        if not isinstance(given, Constraint):
            rule = "must be rules such as demographic_parity(0.02) or rate('positive') <= 0.3"
            _check.fail(owner, parameter, rule, given)
    return found


def one_or_several(constraints: Any) -> list[Any]:
    """Return what was given as a list, unchecked."""
    several = isinstance(constraints, Iterable) and not isinstance(constraints, Constraint | str)
    return list(constraints) if several else [constraints]


def needing(constraints: Any, what: str) -> list[Constraint]:
    """Return the rules, of one or several, whose `needs` are among others `what`; unchecked too."""
    given = one_or_several(constraints)
    return [rule for rule in given if isinstance(rule, Constraint) and what in rule.needs]


def defined(
    make: Callable[[], T], left_out: list[tuple[str, str]] | None, name: str | None = None
) -> T | None:
    """Return what `make` returns; None where rows are missing for it, which is noted in `left_out`.

    Without `left_out`, missing rows are an error. `name` is what is being made.
    """
    try:
        return make()
    except _check.MissingRowsError as error:
        if left_out is None:
            raise
        left_out.append((name or error.owner, error.reason))
        return None
