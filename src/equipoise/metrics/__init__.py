"""What a user measures of any model's scores: AUCs between subsets, and gaps between groups."""

from equipoise.metrics._auc import auc_gap, auc_gap_scorer, subset_auc

__all__ = ["subset_auc", "auc_gap", "auc_gap_scorer"]
