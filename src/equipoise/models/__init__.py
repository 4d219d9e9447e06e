"""Models: what maps parameters to scores, and pulls a score-gradient back."""

from equipoise.models.features import Features
from equipoise.models.linear import LinearModel
from equipoise.models.model import Model
from equipoise.models.multi_class import MultiClassLinearModel

__all__ = ["Model", "LinearModel", "MultiClassLinearModel", "Features"]
