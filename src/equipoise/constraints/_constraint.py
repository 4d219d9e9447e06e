"""Constraint: a rule as data; inequalities: what it becomes for a sample."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.constraints._expression import Expression
    from equipoise.constraints._sample import Sample


@dataclass(frozen=True)
class Inequality:
    """One inequality of a bound constraint, and where it comes from.

    Attributes
    ----------
    name : str
        Unique in its binding, such as ``"demographic parity: F - M"``.
    kind : str
        The rule, such as ``"demographic parity"``.
    groups : tuple of str
        The groups it compares or bounds; empty for everyone.
    expression : Expression or None
        The rates on the left, their groups resolved; None for a callable.
    sense : {"<=", ">="}
    bound : float
        The number on the right.
    source : Constraint
        The rule the inequality was made from.
    factor : float
        Scales the function, not the rule.
    denominator : Expression or None
        For a ratio: what the expression is divided by before it is compared.
    function : callable or None
        For `custom`.
    smooth : bool
        Whether the gradient of `function` is Lipschitz.

    Notes
    -----
    The function is ``factor * (expression - bound * denominator)`` for ``<=``, its negative for
    ``>=``: linear in the rates for ratios too.
    """

    name: str
    kind: str
    groups: tuple[str, ...]
    expression: Expression | None
    sense: str
    bound: float
    source: Constraint
    factor: float = 1.0
    denominator: Expression | None = None
    function: Callable[..., Any] | None = None
    smooth: bool = True

    @property
    def counted(self) -> bool:
        """Whether predictions are counted in it; losses and callables are what they are."""
        kinds = [] if self.expression is None else [rate.kind for _, rate in self.expression.parts]
        return any(
            map("loss".__ne__, kinds)
        )  # a generator that is closed early would swallow Ctrl-C

    def measured(self, value: float, scale: float = 1.0) -> float:
        """Return the left-hand side, in the user's terms, for a value of the function.

        `scale` is the value of the denominator; a ratio with denominator 0 has no value.
        """
        if scale == 0.0:
            return math.nan
        return self.bound + (value if self.sense == "<=" else -value) / (self.factor * scale)


class Constraint(ABC):
    """A rule that a model must satisfy, written before any data is seen.

    A concrete constraint is a frozen dataclass of numbers; `bind` turns it into inequalities.
    """

    @property
    @abstractmethod
    def needs(self) -> frozenset[str]:
        """What `bind` must be given: a subset of ``{"groups", "best_loss", "all_rows"}``.

        The last one: predictions or scores of the very rows that it was written for.
        """

    @abstractmethod
    def expand(self, sample: Sample) -> list[Inequality]:
        """Return the inequalities for the groups of a sample."""
