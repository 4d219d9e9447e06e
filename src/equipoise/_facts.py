"""Facts: what is known of a problem's functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise import _check


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a problem's functions on its domain; ``None`` means unknown.

    Attributes
    ----------
    smooth : all functions are differentiable with Lipschitz gradients.
    convex_constraints : every constraint is convex.
    convex : objective and constraints are convex.
    weak_convexity : rho, such that every ``f_i + rho/2 |x|^2`` is convex.
    smoothness : L, a Lipschitz constant of every gradient.
    lipschitz : M, a bound on every (sub)gradient.
    lower_bound : a number not above the objective.
    stochastic : `Problem.sample` draws mini-batches; where it does, this need not be said.
    rounding : the relative rounding error of the values; 1e-7 for single precision.
    """

    smooth: bool | None = None
    convex_constraints: bool | None = None
    convex: bool | None = None
    weak_convexity: float | None = None
    smoothness: float | None = None
    lipschitz: float | None = None
    lower_bound: float | None = None
    stochastic: bool = False
    rounding: float = 1e-16

    def __post_init__(self) -> None:
        for parameter in ("smooth", "convex_constraints", "convex"):
            if getattr(self, parameter) is not None:
                _check.flag("Facts", parameter, getattr(self, parameter))
        for parameter in ("weak_convexity", "smoothness", "lipschitz"):
            if getattr(self, parameter) is not None:
                _check.between("Facts", parameter, getattr(self, parameter), 0.0, math.inf)
        if self.lower_bound is not None:
            _check.real("Facts", "lower_bound", self.lower_bound)
        _check.flag("Facts", "stochastic", self.stochastic)
        _check.non_negative("Facts", "rounding", self.rounding)
