"""Constraints as data: written before any data is seen, bound at fit.

A new constraint is one function and one line in the registry `CONSTRAINTS`.
"""

from __future__ import annotations

from collections.abc import Callable

from equipoise.constraints._auc import AUC_PARITIES, AUCParity, auc, auc_parity, pair_loss
from equipoise.constraints._bind import bind, bind_table
from equipoise.constraints._binding import Binding
from equipoise.constraints._bounds import (
    bounded_group_loss,
    churn,
    coverage,
    error_rate,
    f_score,
    false_negative_rate,
    false_positive_rate,
    group_loss,
    precision,
    recall,
)
from equipoise.constraints._comparison import Comparison
from equipoise.constraints._constraint import Constraint, Inequality
from equipoise.constraints._custom import Custom, custom
from equipoise.constraints._expression import Expression, rate
from equipoise.constraints._from_papers import loss_budget, minority_coverage, parity_pair
from equipoise.constraints._objective import Unfairness, unfairness
from equipoise.constraints._pair_rate import Subset
from equipoise.constraints._parity import (
    Parity,
    demographic_parity,
    equal_opportunity,
    equalized_odds,
    false_negative_parity,
    false_positive_parity,
)
from equipoise.constraints._quotient import Quotient
from equipoise.constraints._rate import KINDS, Each
from equipoise.constraints._rate_table import RateInfo

CONSTRAINTS: dict[str, Callable[..., Constraint]] = {
    function.__name__: function
    for function in (
        demographic_parity,
        equal_opportunity,
        equalized_odds,
        false_positive_parity,
        false_negative_parity,
        auc_parity,
        bounded_group_loss,
        group_loss,
        coverage,
        recall,
        precision,
        f_score,
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
    "auc",
    "pair_loss",
    "Each",
    "Subset",
    *CONSTRAINTS,
    "unfairness",
    "bind",
    "bind_table",
    "Binding",
    "Inequality",
    "RateInfo",
    "Constraint",
    "Comparison",
    "Parity",
    "AUCParity",
    "AUC_PARITIES",
    "Custom",
    "Expression",
    "Quotient",
    "Unfairness",
    "KINDS",
    "CONSTRAINTS",
]
