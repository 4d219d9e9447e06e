"""Constraint: a rule as data; rows: what it becomes for a sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.constraints.expression import Expression

if TYPE_CHECKING:
    from equipoise.constraints.sample import Sample


@dataclass(frozen=True)
class Row:
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
        The rule the row was made from.
    factor : float
        The function is ``factor * (expression - bound)`` for ``<=``, its negative for ``>=``.
    function : callable or None
        For `custom`.
    """

    name: str
    kind: str
    groups: tuple[str, ...]
    expression: Expression | None
    sense: str
    bound: float
    source: Constraint
    factor: float = 1.0
    function: Callable[..., Any] | None = None

    def measured(self, value: float) -> float:
        """Return the left-hand side, in the user's terms, for a value of the function."""
        return self.bound + (value if self.sense == "<=" else -value) / self.factor


class Constraint(ABC):
    """A rule that a model must satisfy, written before any data is seen.

    A concrete constraint is a frozen dataclass of numbers; `bind` turns it into rows.
    """

    @property
    @abstractmethod
    def needs(self) -> frozenset[str]:
        """What `bind` must be given: a subset of ``{"groups", "best_loss"}``."""

    @abstractmethod
    def expand(self, sample: Sample) -> list[Row]:
        """Return the inequalities for the groups of a sample."""
