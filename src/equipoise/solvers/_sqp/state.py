"""The state of `SQP`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array
from equipoise.solvers._sqp.filter import Filter
from equipoise.solvers._sqp.merit import ScaledMerit
from equipoise.solvers._sqp.opposites import Opposites


@dataclass(frozen=True)
class State:
    """The iterate with its functions to first order, the model there, and its step."""

    x: Array  # (d,) iterate, in the domain
    values: np.ndarray  # (m + 1,) functions at x
    J: np.ndarray  # (m + 1, d) their gradients
    B: np.ndarray  # (d, d) positive definite, for the Hessian of the Lagrangian
    s: np.ndarray  # (d,) the step of the quadratic program at x
    lam: np.ndarray  # (m,) its multipliers
    unit: np.ndarray  # (d,) the sizes of the variables, as far as the start shows them
    merit: ScaledMerit  # the units of the functions
    filter: Filter
    opposites: Opposites  # pairs of constraints of which one gradient is computed
    residual: float = np.inf  # the largest of the examiner's `Residuals` at x with lam
    least: float = np.inf  # the least residual so far
    halved: float = np.inf  # the least residual when it was last halved
    slow: int = 0  # steps since then
    fresh: bool = True  # whether B has seen no step yet
    exact: bool = False  # whether B was corrected along s by products with the Hessian at x
    elastic: bool = False  # whether the rows at x exclude each other, and s exceeds some
    restoring: float = 0.0  # the violation at which restoration began; 0 where it is not at work
    damping: float = 1e-3  # of the steps of the restoration; chosen for its first step
    kinks: bool = False  # whether gradients changed within a short step as smooth functions' do not
    stuck: bool = False  # whether nothing is gained any more
