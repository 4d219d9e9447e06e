"""The registry: one line for each method.

The file of a method lists in ``__all__`` what it offers. `SOLVERS`, the names that `equipoise.solvers`
exports, the contract tests, the command line and the guarantee table follow from these lines.
"""

# ruff: noqa: F403
from collections.abc import Callable as _Callable
from typing import Any as _Any

from equipoise.solvers._methods.apg import *
from equipoise.solvers._methods.augmented_lagrangian import *
from equipoise.solvers._methods.augmented_newton import *
from equipoise.solvers._methods.conex import *
from equipoise.solvers._methods.constrained_bundle import *
from equipoise.solvers._methods.exact_penalty import *
from equipoise.solvers._methods.feasibility import *
from equipoise.solvers._methods.imela import *
from equipoise.solvers._methods.ipp_conex import *
from equipoise.solvers._methods.ipp_ssg import *
from equipoise.solvers._methods.ippp import *
from equipoise.solvers._methods.iqrc import *
from equipoise.solvers._methods.level_set import *
from equipoise.solvers._methods.multiplier_model import *
from equipoise.solvers._methods.plada import *
from equipoise.solvers._methods.proxy_lagrangian import *
from equipoise.solvers._methods.sfls import *
from equipoise.solvers._methods.smd import *
from equipoise.solvers._methods.smoothing import *
from equipoise.solvers._methods.sp_lm import *
from equipoise.solvers._methods.sqp import *
from equipoise.solvers._methods.stochastic_lagrangian import *
from equipoise.solvers._methods.strong_switching import *
from equipoise.solvers._methods.switching import *
from equipoise.solvers._methods.yu_neely_wei import *
from equipoise.solvers._solver import Solver as _Solver


def _registered(offered: dict[str, _Any]) -> dict[str, _Callable[[], _Solver]]:
    """Return, by name, the classes and presets that make a claim."""
    makers = [item for item in offered.values() if "claim" in getattr(item, "__dict__", ())]
    return {make.name: make for make in makers}


SOLVERS: dict[str, _Callable[[], _Solver]] = _registered(dict(globals()))
"""Every method by its name."""
