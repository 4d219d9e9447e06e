"""What the theorems need: settings of methods for which they hold, and their constants."""

from equipoise.solvers._theory.imela import imela_theory
from equipoise.solvers._theory.iqrc import IQRCTheory, iqrc_theory, theoretical_steps
from equipoise.solvers._theory.switching import static_theory
from equipoise.solvers._theory.yu_neely_wei import HighProbabilityBounds, high_probability_bounds

__all__ = [
    "imela_theory",
    "IQRCTheory",
    "iqrc_theory",
    "theoretical_steps",
    "static_theory",
    "HighProbabilityBounds",
    "high_probability_bounds",
]
