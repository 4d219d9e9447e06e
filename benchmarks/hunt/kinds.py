"""The kinds of problems that are hunted."""

from __future__ import annotations

import numpy as np

from benchmarks.hunt import hazards, hopeless, pairs, solvable  # noqa: F401  (they fill KINDS)
from benchmarks.hunt.cases import Case
from benchmarks.hunt.parts import KINDS

__all__ = ["KINDS", "draw"]


def draw(name: str, seed: int) -> Case:
    """The case of this kind with this number."""
    return KINDS[name](np.random.default_rng([seed, *name.encode()]))
