"""Solvers around solvers: keep the best output, average the outputs, start again from them."""

from equipoise.solvers._wrappers.averaged import Averaged
from equipoise.solvers._wrappers.best_certified import BestCertified
from equipoise.solvers._wrappers.restarted import Restarted

__all__ = ["Averaged", "BestCertified", "Restarted"]
