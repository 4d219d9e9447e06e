"""The state of `AugmentedNewton`, which its two kinds of step share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.solvers._newton.limited_memory import LimitedMemory
from equipoise.solvers._newton.pair import Pair
from equipoise.solvers._newton.preconditioner import Preconditioner


@dataclass(frozen=True)
class State:
    """The iterate with multipliers, and the tolerances of the outer loop."""

    pair: Pair  # the output
    lam: np.ndarray  # (m,) multipliers of the augmented Lagrangian
    b: float  # penalty
    accuracy: float  # gradient of the augmented Lagrangian at which the multipliers are updated
    jump_residual: float = np.inf  # the least residual after a jump
    violation: float = np.inf  # the least max_i |min(-f_i, lam_i / b)| at an update
    radius: float = np.inf  # how long the next step of the descent may be
    k: int = 0  # steps since the multipliers changed
    stalled: int = 0  # steps in a row that gained nothing
    stuck: int = 0  # updates in a row that did not lower the violation
    slow: int = 0  # steps in a row since a jump halved the least residual
    estimate_suffices: bool = True  # whether jumps take the estimate of the Hessian for the Hessian
    preconditioner: Preconditioner | None = None
    learned: LimitedMemory | None = None  # what steps have told of the curvature
