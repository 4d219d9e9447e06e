"""scikit-learn estimators; nothing below this layer knows scikit-learn."""

from equipoise.estimators.classifier import ConstrainedClassifier
from equipoise.estimators.curve import Frontier, FrontierPoint
from equipoise.estimators.infeasible import InfeasibleError, InfeasibleWarning
from equipoise.estimators.neyman_pearson import NeymanPearsonClassifier
from equipoise.estimators.report import ConstraintLine, GroupLine, Report
from equipoise.estimators.stream import Stream
from equipoise.estimators.tradeoff import frontier

__all__ = [
    "ConstrainedClassifier",
    "NeymanPearsonClassifier",
    "frontier",
    "Frontier",
    "FrontierPoint",
    "InfeasibleError",
    "InfeasibleWarning",
    "Report",
    "ConstraintLine",
    "GroupLine",
    "Stream",
]
