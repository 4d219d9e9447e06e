"""Modules of PyTorch as models."""

import numpy as np
import torch

from equipoise import rate
from equipoise.torch import ConstrainedOptimizer, ModuleModel
from tests.inputs.examples.shared import X
from tests.inputs.zoo import also, flag, optional, positive, strict

MODULE = torch.nn.Linear(2, 1)
MODEL = ModuleModel(MODULE, X)
OPTIMIZER = torch.optim.SGD(MODULE.parameters(), 0.1)
RULE = rate("positive") <= 0.5
LABELS = np.array([0, 1, 0, 1])
SCORES = MODULE(torch.zeros(4, 2))
CONSTRAINED = ConstrainedOptimizer(OPTIMIZER, RULE, LABELS)

EXAMPLES = {
    "torch.ModuleModel": (
        ModuleModel,
        {"module": strict(MODULE), "X": strict(X), "smooth": optional(flag(True))},
    ),
    "torch.ConstrainedOptimizer": (
        ConstrainedOptimizer,
        {
            "optimizer": strict(OPTIMIZER),
            "constraints": also(strict(RULE), "empty list", "empty array"),
            "y": strict(LABELS),
            "sensitive_features": optional(strict(LABELS)),
            "sharpness": positive(1.0),
        },
    ),
    "torch.ConstrainedOptimizer.lagrangian": (
        CONSTRAINED.lagrangian,
        {
            "loss": strict(SCORES.sum()),
            "scores": strict(SCORES),
            "y": strict(LABELS),
            "constraints": optional(strict({})),
        },
    ),
    "torch.ModuleModel.module_at": (MODEL.module_at, {"x": strict(np.zeros(3))}),
}
