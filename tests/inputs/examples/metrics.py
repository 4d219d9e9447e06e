"""Measures of any model's scores."""

import numpy as np

from equipoise import metrics
from tests.inputs.examples.shared import GROUPS, PARITY, X, Y
from tests.inputs.zoo import (
    also,
    count,
    label,
    non_negative,
    optional,
    share,
    strict,
    text,
    told_as,
)

weight = optional(strict(np.ones(40)))

GAPS = ("demographic_parity_gap", "equal_opportunity_gap", "equalized_odds_gap")
GIVEN = {
    "y_true": told_as(strict(Y), "y_pred"),
    "y_pred": told_as(strict(Y[::-1]), "y_true"),
    "sensitive_features": strict(GROUPS),
    "sample_weight": weight,
    "pos_label": optional(strict(0)),
}

# Of two that do not fit together, a message names the second.
ARGUMENTS = {
    "subset_auc": {
        "y_score": told_as(strict(X[:, 0]), "sample_weight"),
        "above": strict(Y == 1),
        "below": strict(Y == 0),
        "sample_weight": weight,
        "ties": strict("half"),
    },
    "auc_gap": {
        "y_true": told_as(strict(Y), "y_score"),
        "y_score": strict(X[:, 0]),
        "sensitive_features": strict(GROUPS),
        "kind": strict("inter"),
        "sample_weight": weight,
    },
    "worst_groups": {
        "y_true": told_as(strict(Y), "y_pred"),
        "y_pred": told_as(strict(Y), "y_true"),
        "sensitive_features": strict(GROUPS),
        "kind": strict("positive"),
        "depth": count(1),
        "min_rows": count(5),
        "bound": share(0.1),
        "confidence": share(0.9),
        "by": strict("gap"),
        "most": count(3),
    },
    "auc_gap_scorer": {"kind": strict("inter")},
    **dict.fromkeys(GAPS, GIVEN),
    "violation": {**GIVEN, "rules": also(strict(PARITY), "empty list", "empty array")},
    "violation_scorer": {
        "rules": also(strict(PARITY), "empty list", "empty array"),
        "pos_label": optional(label(1)),
    },
    "feasible_first": {
        "score": text("accuracy"),
        "violation": text("violation"),
        "tolerance": non_negative(0.0),
    },
}
EXAMPLES = {f"metrics.{name}": (getattr(metrics, name), given) for name, given in ARGUMENTS.items()}
