"""Choosing a solver by what is known of the problem."""

from __future__ import annotations

from equipoise.problem import Problem
from equipoise.solvers.augmented_newton import AugmentedNewton
from equipoise.solvers.solver import Solver
from equipoise.solvers.switching import SwitchingSubgradient


def choose(problem: Problem, tol: float = 1e-8) -> Solver:
    """Return the method that suits a problem, set up to reach `tol`.

    Smooth deterministic problems get Newton-CG on the augmented Lagrangian; problems with kinks,
    and stochastic ones, the switching subgradient method.
    """
    if problem.facts.smooth is True and not problem.facts.stochastic:
        return AugmentedNewton(tol=0.1 * tol if tol > 0 else 1e-9)
    return SwitchingSubgradient()
