"""AUC as a rate, and parity of AUCs between groups (Yao, Lin & Yang 2023)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

from equipoise import _check
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._expression import Expression
from equipoise.constraints._pair_rate import PairRate, Subset
from equipoise.constraints._rate import Each, cell_of
from equipoise.terms import PAIR_LOSSES, PairFunction

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample

POSITIVES, NEGATIVES = Subset(positive=True), Subset(positive=False)


@_check.owned
def auc(above: Any = None, below: Any = None) -> Expression:
    """Return the share of pairs in which a row of one subset has a higher score than one of another.

    Ties count as one half. It is a rate like those of `rate`: to be added, scaled and compared.

    Parameters
    ----------
    above, below : Subset, or a group, optional
        Where the two rows of a pair are from. A group stands for its positives above, and for its
        negatives below; by default all positives and all negatives, which is the AUC.

    Examples
    --------
    >>> from equipoise import auc
    >>> auc() >= 0.85
    AUC[positives > negatives] >= 0.85
    >>> abs(auc("F", "M") - auc("M", "F")) <= 0.05
    |AUC[positives of F > negatives of M] - AUC[positives of M > negatives of F]| <= 0.05
    """
    return Expression(((1.0, PairRate(*_sides(above, below))),))


@_check.owned
def pair_loss(
    loss: PairFunction | str = "logistic", above: Any = None, below: Any = None
) -> Expression:
    """Return the mean of a function of score differences over pairs, to be minimised or bounded.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge", "quadratic"} or PairFunction
        For a smooth AUC itself, minimise ``1 - auc()``.
    above, below : as in `auc`

    Examples
    --------
    >>> from equipoise import pair_loss
    >>> pair_loss("squared_hinge")
    squared_hinge pair loss[positives > negatives]
    """
    if isinstance(loss, str):
        loss = PAIR_LOSSES[_check.choice("pair_loss", "loss", loss, PAIR_LOSSES)]()
    _check.kind("pair_loss", "loss", loss, PairFunction)
    return Expression(((1.0, PairRate(*_sides(above, below), loss)),))


def _sides(above: Any, below: Any) -> tuple[Subset, Subset]:
    return _subset("above", above, True), _subset("below", below, False)


def _subset(parameter: str, given: Any, positive: bool) -> Subset:
    if isinstance(given, Subset):
        return given
    cell = cell_of(given)
    return Subset(None if cell is None else _check.label("auc", parameter, cell), positive)


def _of(above: Subset, below: Subset) -> Expression:
    return Expression(((1.0, PairRate(above, below)),))


def _half(rate: Expression) -> Expression:
    """Return the distance of an AUC from that of a random order."""
    return rate - 0.5


AUCGap = Callable[[Any, Any], Expression]
BETWEEN_GROUPS: dict[str, AUCGap] = {
    "group": lambda a, b: _half(_of(Subset(a), Subset(b))),
    "inter": lambda a, b: auc(a, b) - auc(b, a),
    "intra": lambda a, b: auc(a, a) - auc(b, b),
}
"""Differences of AUCs between two groups."""
OF_ONE_GROUP: dict[str, AUCGap] = {
    "positive": lambda a, _: _half(_of(Subset(a, True), POSITIVES)),
    "negative": lambda a, _: _half(_of(Subset(a, False), NEGATIVES)),
    "background": lambda a, _: _of(POSITIVES, Subset(a, False)) - _of(Subset(a, True), NEGATIVES),
}
"""Differences of AUCs between one group and everyone."""
AUC_PARITIES = (*BETWEEN_GROUPS, *OF_ONE_GROUP)
"""Every kind of parity of AUCs."""


@final
@dataclass(frozen=True)
class AUCParity(Constraint):
    """Two AUCs that differ by at most a bound, for every group or every two groups; see `auc_parity`."""

    kind: str
    bound: float
    each: Each = Each()

    def __post_init__(self) -> None:
        _check.choice("auc_parity", "kind", self.kind, AUC_PARITIES)
        bound = _check.between("auc_parity", "bound", self.bound, 0.0, 1.0)
        object.__setattr__(self, "bound", bound)
        _check.kind("auc_parity", "each", self.each, Each)

    @property
    def needs(self) -> frozenset[str]:
        """Groups."""
        return frozenset({"groups"})

    def expand(self, sample: Sample) -> list[Inequality]:
        """Return two inequalities for every difference."""
        title = f"AUC parity, {self.kind}"
        found = []
        for label, groups, gap in self._gaps(sample):
            for side, sense, bound in (
                ("", "<=", self.bound),
                (" (below)", ">=", 0.0 - self.bound),
            ):
                name = f"{title}: {label}{side}"
                found.append(Inequality(name, title, groups, gap, sense, bound, self))
        return found

    def _gaps(self, sample: Sample) -> Iterator[tuple[str, tuple[str, ...], Expression]]:
        for column in sample.columns("auc_parity", self.each):
            if len(column) < 2:
                rule, labels = (
                    "needs at least two groups to compare",
                    [label for _, label in column],
                )
                _check.missing("auc_parity", "sensitive_features", rule, labels)
            if self.kind in BETWEEN_GROUPS:
                for (a, first), (b, second) in combinations(column, 2):
                    yield f"{first} - {second}", (first, second), BETWEEN_GROUPS[self.kind](a, b)
            else:
                for cell, label in column:
                    yield label, (label,), OF_ONE_GROUP[self.kind](cell, None)


@_check.owned
def auc_parity(kind: str, bound: float, *, column: Any = None, groups: Any = None) -> AUCParity:
    """AUCs of groups may differ by at most `bound`.

    Parameters
    ----------
    kind : str
        Between every two groups a and b: ``"group"``, a row of a ranks above one of b as often as below;
        ``"inter"``, positives of a above negatives of b as often as positives of b above negatives
        of a; ``"intra"``, the AUC within a equals that within b. For every group a: ``"positive"`` and
        ``"negative"``, its positives (negatives) rank above all positives (negatives) as often as
        below; ``"background"``, all positives above its negatives as often as its positives above
        all negatives.
    bound : float
        Between 0 and 1. Where "as often as below" is asked, by how much the AUC may differ from one half; it
        is half the difference of how often a row ranks above and how often below.
    column, groups : optional
        The sensitive column, and only these of its groups.

    Examples
    --------
    >>> from equipoise import auc_parity
    >>> auc_parity("inter", 0.05).bound
    0.05
    """
    return AUCParity(kind, bound, Each(column, groups))
