"""Audits of any model's predictions."""

import numpy as np

from equipoise import audit, auditing
from tests.inputs.examples.shared import GROUPS, PARITY, Y
from tests.inputs.zoo import also, optional, share, strict, told_as

# Of two that do not fit together, a message names the second.
ARGUMENTS = {
    "y": told_as(strict(Y), "predictions", "scores"),
    "predictions": strict(Y[::-1].copy()),
    "constraints": also(strict(PARITY), "empty list", "empty array"),
    "sensitive_features": strict(GROUPS),
    "confidence": share(0.9),
    "sample_weight": optional(strict(np.ones(40))),
    "scores": optional(strict(np.arange(40.0))),
    "pos_label": optional(strict(1)),
}
EXAMPLES = {"audit": (audit, ARGUMENTS), "auditing.audit": (auditing.audit, ARGUMENTS)}
