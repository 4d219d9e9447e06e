"""Models: parameters to scores."""

import numpy as np
from scipy import sparse

from equipoise import models
from equipoise.models import LinearUnits
from tests.inputs.examples.shared import X
from tests.inputs.zoo import count, flag, kind, optional, strict, told_as

scale = optional(strict([1.0, 2.0]))
features = {"scale": scale, "center": optional(strict([0.0, 1.0]))}

ARGUMENTS = {
    "LinearModel": {"A": strict(X), "intercept": flag(True), **features},
    "MultiClassLinearModel": {
        "A": strict(X),
        "n_classes": count(3),
        "intercept": flag(True),
        **features,
    },
    "LinearUnits": {
        "n_columns": count(2),
        "intercept": flag(True),
        **features,
        "n_classes": optional(count(3)),
    },
    "linear_model": {"X": told_as(strict(X), "A"), "units": strict(LinearUnits(2))},
    "linear_scores": {
        "X": strict(X),
        "coef": strict(np.ones((1, 2))),
        "intercept": kind("half", "huge", "negative")(np.zeros(1)),
    },
    "Features": {"A": strict(X), **features},
    "canonical": {"A": strict(sparse.csr_array(X))},
}
EXAMPLES = {f"models.{name}": (getattr(models, name), given) for name, given in ARGUMENTS.items()}
EXAMPLES["models.LinearUnits.parameters"] = (
    LinearUnits(2).parameters,
    {"coef": strict([1.0, 2.0]), "intercept": kind("half", "huge", "negative")([0.0])},
)
