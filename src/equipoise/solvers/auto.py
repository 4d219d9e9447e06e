"""Choosing a solver by what is known of the problem."""

from __future__ import annotations

import math

from equipoise.problem import Problem
from equipoise.solvers.augmented_newton import AugmentedNewton
from equipoise.solvers.solver import Solver
from equipoise.solvers.steps import InverseSqrt, Normalised
from equipoise.solvers.switching import SwitchingSubgradient
from equipoise.solvers.then import Then


def choose(problem: Problem, tol: float = 1e-8) -> Solver:
    """Return the method that suits a problem, set up to reach `tol`; nothing is left to tune.

    Smooth deterministic problems get Newton-CG on the augmented Lagrangian. Problems with kinks, and
    stochastic ones, get switching subgradients with steps of a length that fits the domain, whatever
    the functions' scale. Where nothing is known, the first is tried, and the second takes over
    where it stalls.
    """
    newton = AugmentedNewton(tol=0.9 * tol if tol > 0 else 1e-9)
    diameter = problem.domain.diameter
    length = min(max(0.05 * diameter, 0.01), 1.0) if math.isfinite(diameter) else 0.2
    switching = SwitchingSubgradient(step_size=Normalised(length), slack=InverseSqrt(1e-3))
    if problem.facts.stochastic or problem.facts.smooth is False:
        return switching
    return newton if problem.facts.smooth else Then(newton, switching)
