"""Solvers around solvers: keep the best output, average the outputs, start again from them."""

from equipoise.solvers.wrappers.averaged import Averaged
from equipoise.solvers.wrappers.best_certified import BestCertified
from equipoise.solvers.wrappers.restarted import Restarted

__all__ = ["Averaged", "BestCertified", "Restarted"]
