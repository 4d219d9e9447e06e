"""Measures of any model's scores."""

import numpy as np

from equipoise import metrics
from tests.inputs.examples.shared import GROUPS, X, Y
from tests.inputs.zoo import count, optional, share, strict, told_as

weight = optional(strict(np.ones(40)))

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
}
EXAMPLES = {f"metrics.{name}": (getattr(metrics, name), given) for name, given in ARGUMENTS.items()}
