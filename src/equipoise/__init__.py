"""Equipoise: train models under hard constraints, and prove where the training stopped."""

from equipoise import sets, solvers
from equipoise.certificate import Certificate, certify, near_stationarity
from equipoise.problem import Facts, Point, Problem
from equipoise.problems import FunctionProblem, check_problem
from equipoise.run import Checkpoint, Result, solve
from equipoise.status import Status

__version__ = "0.1.0"

__all__ = [
    "solve",
    "certify",
    "near_stationarity",
    "check_problem",
    "Problem",
    "Point",
    "FunctionProblem",
    "Facts",
    "Result",
    "Certificate",
    "Status",
    "Checkpoint",
    "sets",
    "solvers",
]
