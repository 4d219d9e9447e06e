"""Modules of PyTorch as models."""

import numpy as np
import torch

from equipoise.torch import ModuleModel
from tests.inputs.examples.shared import X
from tests.inputs.zoo import flag, optional, strict

MODULE = torch.nn.Linear(2, 1)
MODEL = ModuleModel(MODULE, X)

EXAMPLES = {
    "torch.ModuleModel": (
        ModuleModel,
        {"module": strict(MODULE), "X": strict(X), "smooth": optional(flag(True))},
    ),
    "torch.ModuleModel.module_at": (MODEL.module_at, {"x": strict(np.zeros(3))}),
}
