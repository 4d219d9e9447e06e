"""What a user measures of any model: gaps between groups, broken bounds, AUCs, groups nobody named."""

from equipoise.metrics._auc import auc_gap, auc_gap_scorer, subset_auc
from equipoise.metrics._choice import feasible_first
from equipoise.metrics._rules import (
    demographic_parity_gap,
    equal_opportunity_gap,
    equalized_odds_gap,
    violation,
    violation_scorer,
)
from equipoise.metrics._worst_groups import GroupFinding, worst_groups

__all__ = [
    "demographic_parity_gap",
    "equal_opportunity_gap",
    "equalized_odds_gap",
    "violation",
    "violation_scorer",
    "feasible_first",
    "subset_auc",
    "auc_gap",
    "auc_gap_scorer",
    "worst_groups",
    "GroupFinding",
]
