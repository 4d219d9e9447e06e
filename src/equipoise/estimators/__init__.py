"""scikit-learn estimators; nothing below this layer knows scikit-learn."""

from equipoise.estimators._auc_classifier import AUCClassifier
from equipoise.estimators._audited import Audited, fit_until_audited
from equipoise.estimators._calibration import Calibration
from equipoise.estimators._classifier import ConstrainedClassifier
from equipoise.estimators._frontier.curve import Frontier, FrontierPoint
from equipoise.estimators._frontier.frontier import frontier
from equipoise.estimators._infeasible import InfeasibleError, InfeasibleWarning
from equipoise.estimators._load_model import load_model
from equipoise.estimators._model_file import ModelFileError, ModelFileWarning
from equipoise.estimators._neyman_pearson import NeymanPearsonClassifier
from equipoise.estimators._promised import Promise, PromiseLine
from equipoise.estimators._report import ConstraintLine, GroupLine, Report
from equipoise.estimators._stream.rules import StreamRule
from equipoise.estimators._stream.stream import Stream

__all__ = [
    "ConstrainedClassifier",
    "NeymanPearsonClassifier",
    "AUCClassifier",
    "load_model",
    "ModelFileError",
    "ModelFileWarning",
    "frontier",
    "fit_until_audited",
    "Audited",
    "Frontier",
    "FrontierPoint",
    "InfeasibleError",
    "InfeasibleWarning",
    "Report",
    "ConstraintLine",
    "GroupLine",
    "Calibration",
    "Promise",
    "PromiseLine",
    "Stream",
    "StreamRule",
]
