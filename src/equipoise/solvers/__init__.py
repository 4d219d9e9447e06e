"""The methods, one file each, and their registry."""

from __future__ import annotations

from equipoise.solvers.feasibility import FeasibilityPhase
from equipoise.solvers.solver import Guarantee, Need, Solver, UnsuitableSolverError
from equipoise.solvers.steps import Constant, InverseSqrt, Polyak, StepRule
from equipoise.solvers.switching import SwitchingSubgradient, static_theory

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        SwitchingSubgradient,
        FeasibilityPhase,
    )
}
"""Every method by its name; tests, the command line and the guarantee table are computed from it."""

__all__ = [
    "SOLVERS",
    "Solver",
    "Guarantee",
    "Need",
    "UnsuitableSolverError",
    "StepRule",
    "Constant",
    "InverseSqrt",
    "Polyak",
    "SwitchingSubgradient",
    "static_theory",
    "FeasibilityPhase",
]
