"""Problems: from functions, from autodiff, quadratic, regularised; and references."""

from equipoise.problems._absolute import AbsoluteProblem
from equipoise.problems._auc_fairness import AUCFairness
from equipoise.problems._auc_stream import AUCStream
from equipoise.problems._autodiff import JaxProblem, TorchProblem
from equipoise.problems._checking import ProblemCheck, check_problem
from equipoise.problems._drawn import DrawnConstraints
from equipoise.problems._function import FunctionProblem
from equipoise.problems._learning import LearningProblem
from equipoise.problems._merit import (
    AugmentedLagrangianMerit,
    Lagrangian,
    Maximum,
    Merit,
    MeritProblem,
    QuadraticPenalty,
)
from equipoise.problems._proximal import ProximalProblem
from equipoise.problems._proxy import ProxyProblem
from equipoise.problems._quadratic import QuadraticProblem
from equipoise.problems._reference import REFERENCES, KKTPoint, Reference

__all__ = [
    "FunctionProblem",
    "QuadraticProblem",
    "TorchProblem",
    "JaxProblem",
    "LearningProblem",
    "AUCFairness",
    "AUCStream",
    "AbsoluteProblem",
    "ProxyProblem",
    "DrawnConstraints",
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
