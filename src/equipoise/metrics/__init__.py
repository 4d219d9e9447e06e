"""What a user measures of any model: AUCs between subsets, gaps between groups, groups nobody named."""

from equipoise.metrics._auc import auc_gap, auc_gap_scorer, subset_auc
from equipoise.metrics._worst_groups import GroupFinding, worst_groups

__all__ = ["subset_auc", "auc_gap", "auc_gap_scorer", "worst_groups", "GroupFinding"]
