"""The methods, one file each, and their registry."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.solvers._auto import choose
from equipoise.solvers._methods.apg import AcceleratedProjectedGradient
from equipoise.solvers._methods.augmented_lagrangian import AugmentedLagrangian
from equipoise.solvers._methods.augmented_newton import AugmentedNewton
from equipoise.solvers._methods.conex import ConEx
from equipoise.solvers._methods.exact_penalty import Add, ExactPenalty, Multiply
from equipoise.solvers._methods.feasibility import FeasibilityPhase
from equipoise.solvers._methods.imela import IMELa
from equipoise.solvers._methods.ipp_ssg import ipp_conex, ipp_ssg, iqrc_theory
from equipoise.solvers._methods.ippp import IPPP
from equipoise.solvers._methods.iqrc import IQRC
from equipoise.solvers._methods.level_set import LevelSet
from equipoise.solvers._methods.plada import PLADA
from equipoise.solvers._methods.proxy_lagrangian import ProxyLagrangian
from equipoise.solvers._methods.smoothing import Smoothing
from equipoise.solvers._methods.sp_lm import SPLM
from equipoise.solvers._methods.strong_switching import StrongSwitching
from equipoise.solvers._methods.switching import SwitchingSubgradient, static_theory
from equipoise.solvers._methods.yu_neely_wei import YuNeelyWei
from equipoise.solvers._oracle import Oracle
from equipoise.solvers._parts.steps import Constant, InverseSqrt, Normalised, Polyak, StepRule
from equipoise.solvers._plada.reduced import StepSizeWarning
from equipoise.solvers._plada.theta_prox_linear import ProxLinear
from equipoise.solvers._plada.theta_steps import ExactProx, Subgradient
from equipoise.solvers._proxy.players import AdditiveSwapRegret, ExternalRegret, SwapRegret
from equipoise.solvers._sequence import Then
from equipoise.solvers._solver import Guarantee, Need, Solver, UnsuitableSolverError
from equipoise.solvers._wrappers import Averaged, BestCertified, Restarted

SOLVERS: dict[str, Callable[[], Solver]] = {
    "switching": SwitchingSubgradient,
    "feasibility": FeasibilityPhase,
    "iqrc": IQRC,
    "ipp_ssg": ipp_ssg,
    "ipp_conex": ipp_conex,
    "strong_switching": StrongSwitching,
    "yu_neely_wei": YuNeelyWei,
    "conex": ConEx,
    "apg": AcceleratedProjectedGradient,
    "augmented_lagrangian": AugmentedLagrangian,
    "augmented_newton": AugmentedNewton,
    "smoothing": Smoothing,
    "level_set": LevelSet,
    "exact_penalty": ExactPenalty,
    "plada": PLADA,
    "imela": IMELa,
    "ippp": IPPP,
    "sp_lm": SPLM,
    "proxy_lagrangian": ProxyLagrangian,
}
"""Every method by its name; tests, the command line and the guarantee table are computed from it."""

__all__ = [
    "SOLVERS",
    "Solver",
    "Oracle",
    "Guarantee",
    "Need",
    "UnsuitableSolverError",
    "StepRule",
    "Constant",
    "InverseSqrt",
    "Normalised",
    "Polyak",
    "SwitchingSubgradient",
    "static_theory",
    "FeasibilityPhase",
    "IQRC",
    "iqrc_theory",
    "ipp_ssg",
    "ipp_conex",
    "StrongSwitching",
    "YuNeelyWei",
    "ConEx",
    "AcceleratedProjectedGradient",
    "AugmentedLagrangian",
    "AugmentedNewton",
    "Smoothing",
    "LevelSet",
    "ExactPenalty",
    "PLADA",
    "IMELa",
    "IPPP",
    "SPLM",
    "ProxyLagrangian",
    "choose",
    "Add",
    "Multiply",
    "Subgradient",
    "ProxLinear",
    "ExactProx",
    "StepSizeWarning",
    "SwapRegret",
    "AdditiveSwapRegret",
    "ExternalRegret",
    "Then",
    "BestCertified",
    "Averaged",
    "Restarted",
]
