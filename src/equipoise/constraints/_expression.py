"""Linear combinations of rates, and the comparisons that make constraints of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from equipoise import _check
from equipoise.constraints._comparison import Comparison, number_of
from equipoise.constraints._pair_rate import PairRate
from equipoise.constraints._quotient import Absolute, Quotient
from equipoise.constraints._rate import Rate, cell_of
from equipoise.rows import ReferencePredictions
from equipoise.terms import loss_of


@_check.owned
def rate(
    kind: str,
    group: Any = None,
    label: Any = None,
    *,
    per: str | None = None,
    loss: Any = None,
    reference: Any = None,
) -> Expression:
    """Return a rate, to be added, scaled and compared.

    Parameters
    ----------
    kind : str
        What is counted. With the prediction "positive" where the score is above 0:
        ``"positive"``, ``"negative"``; ``"true_positive"``, ``"false_negative"`` among the rows of
        the positive class; ``"false_positive"``, ``"true_negative"`` among those of the negative
        class; ``"error"``, ``"accuracy"``; ``"churn"``, predictions that differ from `reference`;
        ``"loss"``, the mean loss.
    group : value, dict or Each, optional
        Only over this group: a value of a sensitive column, ``{column: value, ...}`` for a
        column by name or an intersection, or ``Each()`` for every group in turn. By default
        everyone.
    label : optional
        Only over the rows of this class.
    per : {"group", "all"}, optional
        Divide by the size of the group, or of the whole sample, instead of by the rows counted:
        ``rate("true_positive", per="all")`` is the share of all rows that are true positives.
    loss : Pointwise or str, optional
        For ``"loss"``; by default the loss that is minimised.
    reference : array of labels, optional
        For ``"churn"``: the other model's predictions for the training rows.

    Returns
    -------
    Expression
        Supports ``+``, ``-``, ``*`` and ``/`` with numbers, ``/`` with another expression, `abs`, and
        ``<=``, ``>=`` with numbers or other expressions.

    Examples
    --------
    >>> rate("positive", group="F") >= 0.8 * rate("positive", group="M")
    positive[F] - 0.8 positive[M] >= 0
    >>> abs(rate("error", group="F") - rate("error", group="M")) <= 0.05
    |error[F] - error[M]| <= 0.05
    >>> rate("true_positive", per="all") / rate("positive") >= 0.9
    (true positive per all) / (positive) >= 0.9
    """
    return Expression(
        (
            (
                1.0,
                Rate(
                    kind,
                    cell_of(group),
                    label,
                    per,
                    None if loss is None else loss_of("rate", loss),
                    None if reference is None else ReferencePredictions.of(reference),
                ),
            ),
        )
    )


@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A linear combination of rates and a constant; see `rate`."""

    parts: tuple[tuple[float, Rate | PairRate], ...]
    constant: float = 0.0

    __array_ufunc__ = None  # let NumPy numbers leave the arithmetic to this class

    def __add__(self, other: Any) -> Expression:
        other = _expression(other)
        if other is None:
            return NotImplemented
        return Expression(_merged(self.parts + other.parts), self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Expression:
        if isinstance(factor, Expression):
            raise TypeError("rate: a product of two rates is not linear; multiply by a number.")
        number = number_of(factor)
        if number is None:
            return NotImplemented
        parts = tuple((number * coefficient, part) for coefficient, part in self.parts)
        return Expression(_merged(parts), number * self.constant)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if isinstance(divisor, Expression):
            return Quotient(self, divisor)
        number = number_of(divisor)
        if number is None:
            raise TypeError("rate: divide by a number or by another rate.")
        if number == 0.0:
            raise ZeroDivisionError("rate: division by zero.")
        return self * (1.0 / number)

    def __neg__(self) -> Expression:
        return self * -1.0

    def __sub__(self, other: Any) -> Expression:
        other = _expression(other)
        return NotImplemented if other is None else self + (-other)

    def __rsub__(self, other: Any) -> Expression:
        return (-self) + other

    def with_group(self, group: Any) -> Expression:
        """Return the expression with one group in the place of "each group"."""
        return Expression(tuple((c, part.in_group(group)) for c, part in self.parts), self.constant)

    def __abs__(self) -> Absolute:
        return Absolute(self)

    def __le__(self, other: Any) -> Comparison:
        return _compare(self, "<=", other)

    def __ge__(self, other: Any) -> Comparison:
        return _compare(self, ">=", other)

    def __lt__(self, other: Any) -> NoReturn:
        raise TypeError("rate: write <= or >=; a strict inequality cannot be enforced.")

    __gt__ = __lt__

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("rate: an equality is two constraints: write a <= b and a >= b.")

    __ne__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("rate: a rate has no truth value before it is compared and fitted.")

    def __str__(self) -> str:
        text = ""
        for coefficient, part in self.parts:
            sign = ("-" if not text else " - ") if coefficient < 0 else (" + " if text else "")
            factor = "" if abs(coefficient) == 1.0 else f"{abs(coefficient):g} "
            text += f"{sign}{factor}{part}"
        if self.constant or not text:
            sign = ("-" if not text else " - ") if self.constant < 0 else (" + " if text else "")
            text += f"{sign}{abs(self.constant):g}"
        return text

    __repr__ = __str__


def _compare(left: Expression, sense: str, other: Any) -> Comparison:
    """Return ``rates <= number``, with all rates on the left."""
    right = _expression(other)
    if right is None:
        raise TypeError(f"rate: compare with a number or another rate, got {other!r}.")
    difference = left - right
    if not difference.parts:
        raise TypeError(f"rate: no rate is left in {left} {sense} {right}.")
    return Comparison(Expression(difference.parts), sense, 0.0 - difference.constant)


def _merged(
    parts: tuple[tuple[float, Rate | PairRate], ...],
) -> tuple[tuple[float, Rate | PairRate], ...]:
    """Add up the coefficients of equal rates."""
    total: dict[Rate | PairRate, float] = {}
    for coefficient, part in parts:
        total[part] = total.get(part, 0.0) + coefficient
    return tuple((c, part) for part, c in total.items() if c != 0.0)


def _expression(value: Any) -> Expression | None:
    if isinstance(value, Expression):
        return value
    number = number_of(value)
    return None if number is None else Expression((), number)
