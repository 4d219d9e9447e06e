"""Models: what maps parameters to scores, and pulls a score-gradient back."""

from equipoise.models.features import Features
from equipoise.models.linear import LinearModel, MultiClassLinearModel
from equipoise.models.model import Model

__all__ = ["Model", "LinearModel", "MultiClassLinearModel", "Features"]
