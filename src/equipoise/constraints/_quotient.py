"""Ratios and absolute values of rates, which become linear when they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from equipoise import _check
from equipoise.constraints._comparison import Comparison, number_of

if TYPE_CHECKING:
    from equipoise.constraints._expression import Expression


@dataclass(frozen=True, eq=False)
class Absolute:
    """The absolute value of an expression; only an upper bound makes a constraint of it."""

    expression: Expression

    __array_ufunc__ = None

    def __le__(self, other: Any) -> Comparison:
        number = number_of(other)
        if number is None:
            raise TypeError("rate: compare an absolute value with a number: abs(a - b) <= 0.05.")
        if self.expression.constant:
            raise TypeError("rate: an absolute value must hold rates only, no constant.")
        return Comparison(self.expression, "<=", number, absolute=True)

    def __ge__(self, other: Any) -> NoReturn:
        raise TypeError("rate: only abs(a - b) <= number is a constraint.")


@dataclass(frozen=True, eq=False, repr=False)
class Quotient:
    """A ratio of two expressions; compared with a number, or minimised as an objective.

    The bound ``a / b >= c`` is written ``a - c b >= 0``, which is linear in the rates and holds where `b`
    is 0; reports show the ratio itself.
    """

    numerator: Expression
    denominator: Expression

    __array_ufunc__ = None

    def __post_init__(self) -> None:
        from equipoise.constraints._expression import Expression  # which makes quotients itself

        for parameter in ("numerator", "denominator"):
            _check.kind("rate", parameter, getattr(self, parameter), Expression)

    def __neg__(self) -> Quotient:
        return Quotient(-self.numerator, self.denominator)

    def __le__(self, other: Any) -> Comparison:
        return self._compared("<=", other)

    def __ge__(self, other: Any) -> Comparison:
        return self._compared(">=", other)

    def _compared(self, sense: str, other: Any) -> Comparison:
        number = number_of(other)
        if number is None:
            raise TypeError("rate: compare a ratio with a number: a / b >= 0.8.")
        if self.numerator.constant:
            raise TypeError("rate: the numerator of a ratio must hold rates only, no constant.")
        return Comparison(self.numerator, sense, number, denominator=self.denominator)

    def __bool__(self) -> bool:
        raise TypeError("rate: a ratio has no truth value before it is compared and fitted.")

    def __str__(self) -> str:
        return f"({self.numerator}) / ({self.denominator})"

    __repr__ = __str__
