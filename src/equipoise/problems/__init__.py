"""Problems: from functions, from autodiff, quadratic, regularised; and references."""

from equipoise.problems._learning import LearningProblem
from equipoise.problems.absolute import AbsoluteProblem
from equipoise.problems.autodiff import JaxProblem, TorchProblem
from equipoise.problems.checking import ProblemCheck, check_problem
from equipoise.problems.function import FunctionProblem
from equipoise.problems.merit import (
    AugmentedLagrangianMerit,
    Lagrangian,
    Maximum,
    Merit,
    MeritProblem,
    QuadraticPenalty,
)
from equipoise.problems.proximal import ProximalProblem
from equipoise.problems.proxy import ProxyProblem
from equipoise.problems.quadratic import QuadraticProblem
from equipoise.problems.reference import REFERENCES, KKTPoint, Reference

__all__ = [
    "FunctionProblem",
    "QuadraticProblem",
    "TorchProblem",
    "JaxProblem",
    "LearningProblem",
    "AbsoluteProblem",
    "ProxyProblem",
    "ProximalProblem",
    "MeritProblem",
    "Merit",
    "Lagrangian",
    "AugmentedLagrangianMerit",
    "QuadraticPenalty",
    "Maximum",
    "check_problem",
    "ProblemCheck",
    "REFERENCES",
    "Reference",
    "KKTPoint",
]
