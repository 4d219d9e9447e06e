"""Objectives other than the mean loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from equipoise import _check
from equipoise.constraints._expression import Expression
from equipoise.constraints._parity import Parity
from equipoise.constraints._rate import Each

if TYPE_CHECKING:
    from equipoise.constraints._sample import Sample

NOTIONS = {
    "demographic_parity": ("positive",),
    "equal_opportunity": ("true_positive",),
    "equalized_odds": ("true_positive", "false_positive"),
}


@final
@dataclass(frozen=True)
class Unfairness:
    """Half the sum of squared gaps between groups; made by `unfairness`."""

    parity: Parity

    def __post_init__(self) -> None:
        _check.kind("unfairness", "parity", self.parity, Parity)

    def gaps(self, sample: Sample) -> list[Expression]:
        """Return each gap once."""
        return [gap.expression for gap in self.parity.gaps(sample)][::2]


@_check.owned
def unfairness(
    notion: str = "demographic_parity",
    reference: str = "pairs",
    *,
    column: Any = None,
    groups: Any = None,
    intersections: bool = False,
) -> Unfairness:
    """Return the objective ``sum R^2 / 2`` over the gaps `R` between groups (Huang, Lin & Xu 2025).

    Parameters
    ----------
    notion : {"demographic_parity", "equal_opportunity", "equalized_odds"}
        Which rates are compared.
    reference, column, groups, intersections : as in `demographic_parity`.
    """
    _check.choice("unfairness", "notion", notion, NOTIONS)
    each = Each(column, groups, intersections)
    return Unfairness(Parity("unfairness", NOTIONS[notion], 0.0, reference, each))
