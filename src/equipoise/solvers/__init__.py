"""The methods, one file each, and their registry."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.solvers.apg import AcceleratedProjectedGradient
from equipoise.solvers.augmented_lagrangian import AugmentedLagrangian
from equipoise.solvers.augmented_newton import AugmentedNewton
from equipoise.solvers.auto import choose
from equipoise.solvers.conex import ConEx
from equipoise.solvers.exact_penalty import Add, ExactPenalty, Multiply
from equipoise.solvers.feasibility import FeasibilityPhase
from equipoise.solvers.imela import IMELa
from equipoise.solvers.ippp import IPPP
from equipoise.solvers.iqrc import IQRC
from equipoise.solvers.iqrc_presets import ipp_conex, ipp_ssg, iqrc_theory
from equipoise.solvers.level_set import LevelSet
from equipoise.solvers.oracle import Oracle
from equipoise.solvers.plada import PLADA
from equipoise.solvers.players import AdditiveSwapRegret, ExternalRegret, SwapRegret
from equipoise.solvers.proxy_lagrangian import ProxyLagrangian
from equipoise.solvers.reduced import StepSizeWarning
from equipoise.solvers.smoothing import Smoothing
from equipoise.solvers.solver import Guarantee, Need, Solver, UnsuitableSolverError
from equipoise.solvers.splm import SPLM
from equipoise.solvers.steps import Constant, InverseSqrt, Normalised, Polyak, StepRule
from equipoise.solvers.strong_switching import StrongSwitching
from equipoise.solvers.switching import SwitchingSubgradient, static_theory
from equipoise.solvers.then import Then
from equipoise.solvers.theta_prox_linear import ProxLinear
from equipoise.solvers.theta_steps import ExactProx, Subgradient
from equipoise.solvers.wrappers import Averaged, BestCertified, Restarted
from equipoise.solvers.yu_neely_wei import YuNeelyWei

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
