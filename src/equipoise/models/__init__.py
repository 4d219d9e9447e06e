"""Models: what maps parameters to scores, and pulls a score-gradient back."""

from equipoise.models._feature_input import canonical
from equipoise.models._features import Features
from equipoise.models._linear import LinearModel, linear_scores
from equipoise.models._model import Model, ModelPoint
from equipoise.models._multi_class import MultiClassLinearModel, linear_model
from equipoise.models._sketch import Sketch
from equipoise.models._sketch_plan import SketchPlan
from equipoise.models._units import LinearUnits

__all__ = [
    "Model",
    "ModelPoint",
    "LinearModel",
    "MultiClassLinearModel",
    "LinearUnits",
    "linear_model",
    "linear_scores",
    "Features",
    "canonical",
    "Sketch",
    "SketchPlan",
]
