"""Rows, wherever they are, and sums over them."""

import numpy as np
import torch

from equipoise import rows
from equipoise.rows import MemoryGroups, MemorySums
from tests.inputs.examples.shared import GROUPS, LOSS, MODEL, TABLE, TERMS, X, Y
from tests.inputs.zoo import count, function, optional, strict, text, told_as

weight = optional(strict(np.ones(40)))
TENSOR = torch.tensor(np.asarray(X))
SUMS = MemorySums(MODEL, TERMS.sums)

# A table speaks of its columns as the estimators do that make it.
ARGUMENTS = {
    "MemoryTable": {
        "y": told_as(strict(Y), "X"),
        "X": optional(strict(X)),
        "groups": told_as(optional(strict(GROUPS)), "sensitive_features"),
        "weight": told_as(weight, "sample_weight"),
        "objective_weight": weight,
        "classes": optional(strict((0, 1))),
        "owner": text("me"),
    },
    "DeviceTable": {
        "y": strict(Y),
        "X": strict(TENSOR),
        "groups": told_as(optional(strict(GROUPS)), "sensitive_features"),
        "weight": told_as(weight, "sample_weight"),
        "classes": optional(strict((0, 1))),
        "owner": text("me"),
    },
    "Blocks": {"parts": strict([TABLE]), "starts": optional(strict([0]))},
    "MemorySums": {"model": strict(MODEL), "sums": strict(LOSS)},
    "BlockSums": {
        "parts": strict([SUMS]),
        "whole": optional(strict(LOSS)),
        "gather": optional(function(list)),
    },
    "MemoryGroups": {
        "features": told_as(strict(GROUPS), "sensitive_features"),
        "n": count(40),
        "owner": text("me"),
    },
    "DeviceGroups": {
        "features": told_as(strict(GROUPS), "sensitive_features"),
        "beside": strict(TENSOR),
        "owner": text("me"),
    },
    "BlockGroups": {"parts": strict([MemoryGroups(GROUPS, 40)])},
    "column_scales": {"owner": text("me"), "table": strict(TABLE)},
}
EXAMPLES = {f"rows.{name}": (getattr(rows, name), given) for name, given in ARGUMENTS.items()}
