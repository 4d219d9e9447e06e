"""Modules of PyTorch as models."""

import numpy as np
import torch

from equipoise import demographic_parity, rate
from equipoise.torch import (
    ConstrainedNetClassifier,
    ConstrainedOptimizer,
    GroupBatchSampler,
    ModuleModel,
)
from tests.inputs.examples.estimators import shared, weights
from tests.inputs.examples.shared import GROUPS, PARITY, X, Y
from tests.inputs.zoo import also, count, flag, optional, positive, share, strict, told_as

MODULE = torch.nn.Linear(2, 1)
PROMISING = ConstrainedNetClassifier(
    demographic_parity(0.9), max_epochs=1, max_steps=3, on_infeasible="ignore", confidence=0.5
)
taken = {name: kind for name, kind in shared.items() if name not in ("solver", "warm_start")}


def network(**parameters):
    """Fit a constrained network."""
    ConstrainedNetClassifier(**parameters).fit(X, Y, sensitive_features=GROUPS)


MODEL = ModuleModel(MODULE, X)
OPTIMIZER = torch.optim.SGD(MODULE.parameters(), 0.1)
RULE = rate("positive") <= 0.5
LABELS = np.array([0, 1, 0, 1])
SCORES = MODULE(torch.zeros(4, 2))
CONSTRAINED = ConstrainedOptimizer(OPTIMIZER, RULE, LABELS)
TRAINED = torch.nn.Linear(2, 1)  # changed by `finish`
FINISHING = ConstrainedOptimizer(torch.optim.SGD(TRAINED.parameters(), 0.1), RULE, LABELS)
ROWS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 3.0]])
LEAF = torch.zeros(4, requires_grad=True)  # whose sum can be gone through often

EXAMPLES = {
    "torch.ConstrainedNetClassifier": (
        network,
        {
            "constraints": also(strict(PARITY), "empty list", "empty array"),
            "objective": optional(strict(rate("loss"))),
            "module": optional(strict(None)),
            "hidden_layer_sizes": optional(also(strict([4]), "empty list", "empty array")),
            "dropout": share(0.1),
            "learning_rate": share(1e-3),
            "weight_decay": share(0.01),
            "batch_size": optional(count(8)),
            "max_epochs": optional(count(1)),
            "patience": count(1),
            "validation_fraction": share(0.1),
            "device": strict("cpu"),
            "pos_label": optional(strict(0)),
            "class_weight": optional(strict("balanced")),
            "min_cell": count(2),
            "small_cells": strict("skip"),
            **taken,
        },
    ),
    "torch.ConstrainedNetClassifier.fit": (
        PROMISING.fit,
        {
            "X": strict(X),
            "y": strict(Y),
            "sensitive_features": strict(GROUPS),
            "sample_weight": weights,
            "groups": optional(strict(np.arange(40))),
        },
    ),
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
    "torch.ConstrainedOptimizer.step": (
        CONSTRAINED.step,
        {
            "loss": optional(strict(LEAF.sum())),
            "scores": strict(LEAF),
            "y": strict(LABELS),
            "constraints": optional(strict({})),
        },
    ),
    "torch.ConstrainedOptimizer.evaluate": (
        CONSTRAINED.evaluate,
        # of labels of another number, the message says how many scores there must be
        {
            "scores": strict(SCORES),
            "y": told_as(strict(LABELS), "scores"),
            "confidence": share(0.9),
        },
    ),
    "torch.ConstrainedOptimizer.finish": (
        FINISHING.finish,
        {
            "module": strict(TRAINED),
            "X": strict(ROWS),
            # of its parts, the message says that they are of `validation`
            "validation": told_as(optional(strict((ROWS, LABELS))), "X"),
            "C": positive(1.0),
            "on_infeasible": strict("ignore"),
        },
    ),
    "torch.ConstrainedOptimizer.load_state_dict": (
        CONSTRAINED.load_state_dict,
        {"state_dict": strict(CONSTRAINED.state_dict())},
    ),
    "torch.GroupBatchSampler": (
        GroupBatchSampler,
        {
            "y": strict(LABELS),
            "sensitive_features": optional(strict(LABELS)),
            "batch_size": count(2),
            "seed": count(0),
        },
    ),
    "torch.GroupBatchSampler.load_state_dict": (
        GroupBatchSampler(LABELS).load_state_dict,
        {"state_dict": strict({"epoch": 0, "drawn": 0})},
    ),
    "torch.ModuleModel.module_at": (MODEL.module_at, {"x": strict(np.zeros(3))}),
}
