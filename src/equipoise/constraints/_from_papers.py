"""Constraints of the papers: minority coverage, parity pair, loss budget."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, final

from equipoise import _check
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._expression import Expression
from equipoise.constraints._rate import Each, Rate, cell_of
from equipoise.terms import loss_of

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample


@final
@dataclass(frozen=True)
class MinorityCoverage(Constraint):
    """At least the share `c` of all positive predictions goes to one group; Ma, Lin & Yang 2019."""

    c: float
    group: Any
    normalise: bool = True

    @property
    def needs(self) -> frozenset[str]:
        """Groups."""
        return frozenset({"groups"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality."""
        name = "minority coverage"
        label = sample.label(name, self.group)
        expression = Expression(
            ((1.0, Rate("positive", self.group, per="all")), (-self.c, Rate("positive")))
        )
        factor = 1.0 if self.normalise else sample.table.total()
        return [Inequality(f"{name}: {label}", name, (label,), expression, ">=", 0.0, self, factor)]


@final
@dataclass(frozen=True)
class ParityPair(Constraint):
    """``E_a[sigma(s)] + beta E_b[sigma(-s)] <= r`` in both orders (Ma, Lin & Yang 2019)."""

    r: float
    beta: float = 1.0
    groups: tuple[Any, ...] | None = None
    column: Any = None

    @property
    def needs(self) -> frozenset[str]:
        """Groups."""
        return frozenset({"groups"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return an inequality for every ordered pair of groups."""
        name, found = "parity pair", []
        for column in sample.columns(name, Each(self.column, self.groups)):
            if len(column) < 2:
                labels = [label for _, label in column]
                _check.missing(name, "groups", "needs at least two groups to compare", labels)
            for (a, first), (b, second) in permutations(column, 2):
                expression = Expression(
                    ((1.0, Rate("positive", a)), (self.beta, Rate("negative", b)))
                )
                title = f"{name}: {first}, {second}"
                found.append(
                    Inequality(title, name, (first, second), expression, "<=", self.r, self)
                )
        return found


@final
@dataclass(frozen=True)
class LossBudget(Constraint):
    """The loss at most ``(1 + kappa)`` times the best loss; Huang, Lin & Xu 2025."""

    kappa: float
    loss: Any = None

    @property
    def needs(self) -> frozenset[str]:
        """The best loss, which is found at fit."""
        return frozenset({"best_loss"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return one inequality."""
        name = "loss budget"
        if sample.best_loss is None:
            reason = (
                "the best loss is needed; pass `best_loss`, the least loss without constraints."
            )
            raise _check.InputError(name, reason, "best_loss")
        bound = (1.0 + self.kappa) * sample.best_loss
        expression = Expression(((1.0, Rate("loss", loss=self.loss, over="objective")),))
        return [Inequality(name, name, (), expression, "<=", bound, self)]


@_check.owned
def minority_coverage(c: float, group: Any, normalise: bool = True) -> MinorityCoverage:
    """Return: at least the share `c` of all positive predictions goes to `group` (Ma, Lin & Yang 2019).

    The function is ``(c sum_S sigma - sum_group sigma) / |S|``: at scores 0 it is
    ``(c - |group| / |S|) / 2``.

    Parameters
    ----------
    c : float
        Above 0 and below 1.
    group : value or dict
    normalise : bool, default True
        Divide by ``|S|``. The paper does not, and its constants then grow with the data.
    """
    owner = "minority_coverage"
    c = _check.inside(owner, "c", c, 0.0, 1.0)
    if group is None or isinstance(group, Each):
        _check.fail(owner, "group", "must be one group", group)
    cell = _check.label(owner, "group", cell_of(group))
    return MinorityCoverage(c, cell, _check.flag(owner, "normalise", normalise))


@_check.owned
def parity_pair(
    r: float, beta: float = 1.0, groups: Any = None, *, column: Any = None
) -> ParityPair:
    """Return: ``E_a[sigma(s)] + beta E_b[sigma(-s)] <= r`` for groups a, b in both orders.

    A rule of Ma, Lin & Yang (2019). With ``beta = 1`` it is demographic parity with the bound
    ``r - 1``. At scores 0 the functions are ``(1 + beta) / 2 - r``.

    Parameters
    ----------
    r : float
        Positive.
    beta : float, default 1
        Non-negative.
    groups : pair of values, optional
        By default every two groups.
    column : str, optional
        The sensitive column; by default every one.
    """
    owner = "parity_pair"
    each = Each(column, groups)
    r, beta = _check.positive(owner, "r", r), _check.non_negative(owner, "beta", beta)
    return ParityPair(r, beta, each.groups, each.column)


@_check.owned
def loss_budget(kappa: float, *, loss: Any = None) -> LossBudget:
    """Return: the loss is at most ``(1 + kappa)`` times the best loss (Huang, Lin & Xu 2025).

    To be used with an objective such as `unfairness`. The best loss is found at fit and passed as
    ``bind(..., best_loss=...)``.

    Parameters
    ----------
    kappa : float
        Non-negative; ``0.01`` lets the loss rise by one percent.
    loss : Pointwise or str, optional
        By default the loss of the fit.
    """
    owner = "loss_budget"
    return LossBudget(
        _check.non_negative(owner, "kappa", kappa), None if loss is None else loss_of(owner, loss)
    )
