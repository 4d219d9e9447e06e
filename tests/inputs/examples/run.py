"""Runs: `solve`, its budget and its checkpoints."""

import tempfile
from pathlib import Path

import numpy as np

from equipoise import Budget, Checkpoint, solve
from equipoise.run import Online
from equipoise.solvers import SwitchingSubgradient
from tests.inputs.examples.shared import PROBLEM
from tests.inputs.zoo import count, flag, function, non_negative, optional, strict, text

FOLDER = Path(tempfile.mkdtemp())
path = text(FOLDER / "run")


def solved(**arguments):
    """Solve, without a file that one call leaves to the next."""
    for file in FOLDER.iterdir():
        file.unlink()
    return solve(**arguments)


def entered(stage):
    """Name a stage of a budget."""
    with Budget() as budget:
        budget.enter(stage)


EXAMPLES = {
    "solve": (
        solved,
        {
            "problem": strict(PROBLEM),
            "solver": strict("switching"),
            "x0": optional(strict(np.zeros(2))),
            "max_steps": count(3),
            "tol": non_negative(1e-3),
            "max_seconds": optional(non_negative(10.0)),
            "seed": count(0),
            "callback": optional(function(lambda iteration: None)),
            "progress": flag(False),
            "checkpoint": optional(path),
            "density": optional(count(2)),
            "budget": optional(strict(None)),
            "second_order": flag(True),
            "diagnose": flag(True),
        },
    ),
    "run.Online": (
        Online,
        {
            "problem": strict(PROBLEM),
            "solver": strict(SwitchingSubgradient()),
            "x0": optional(strict(np.zeros(2))),
            "seed": count(0),
        },
    ),
    "Budget": (
        Budget,
        {
            "max_seconds": optional(non_negative(10.0)),
            "callback": optional(function(print)),
            "progress": flag(False),
            "name": text("work"),
        },
    ),
    "Budget.enter": (entered, {"stage": text("first")}),
    "Checkpoint": (Checkpoint, {"path": path, "every": non_negative(1.0)}),
}
