"""Constraints as data: written before any data is seen, bound at fit.

A new constraint is one function and one line in the registry `CONSTRAINTS`.
"""

from __future__ import annotations

from collections.abc import Callable

from equipoise.constraints.bind import Binding, bind
from equipoise.constraints.bounds import (
    bounded_group_loss,
    churn,
    coverage,
    error_rate,
    false_negative_rate,
    false_positive_rate,
    group_loss,
    precision,
    recall,
)
from equipoise.constraints.comparison import Comparison
from equipoise.constraints.constraint import Constraint, Row
from equipoise.constraints.custom import Custom, custom
from equipoise.constraints.expression import Expression, rate
from equipoise.constraints.groups import GroupColumn, Groups
from equipoise.constraints.objective import Unfairness, unfairness
from equipoise.constraints.papers import loss_budget, minority_coverage, parity_pair
from equipoise.constraints.parity import (
    Parity,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    false_negative_parity,
    false_positive_parity,
)
from equipoise.constraints.rate import KINDS, Each
from equipoise.constraints.rate_table import RateInfo

CONSTRAINTS: dict[str, Callable[..., Constraint]] = {
    function.__name__: function
    for function in (
        demographic_parity,
        equal_opportunity,
        equalized_odds,
        false_positive_parity,
        false_negative_parity,
        bounded_group_loss,
        group_loss,
        coverage,
        recall,
        precision,
        false_positive_rate,
        false_negative_rate,
        error_rate,
        churn,
        minority_coverage,
        parity_pair,
        loss_budget,
        custom,
    )
}
"""Every constraint function, by name."""

__all__ = [
    "rate",
    "Each",
    *CONSTRAINTS,
    "unfairness",
    "bind",
    "Binding",
    "Row",
    "RateInfo",
    "Groups",
    "GroupColumn",
    "Constraint",
    "Comparison",
    "Parity",
    "Custom",
    "Expression",
    "Unfairness",
    "KINDS",
    "CONSTRAINTS",
]
