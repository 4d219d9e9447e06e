"""The penalty of an exact-penalty method: how it grows, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise.solvers._penalty.linearised_penalty import LinearisedPenalty


class PenaltyRule(ABC):
    """How the penalty grows."""

    @abstractmethod
    def __call__(self, p: float) -> float:
        """Return the next penalty."""


@dataclass(frozen=True)
class Add(PenaltyRule):
    """The next penalty is ``p + amount``."""

    amount: float

    def __post_init__(self) -> None:
        _check.positive("Add", "amount", self.amount)

    def __call__(self, p: float) -> float:
        """Return the next penalty."""
        return p + self.amount


@dataclass(frozen=True)
class Multiply(PenaltyRule):
    """The next penalty is ``p * factor``."""

    factor: float

    def __post_init__(self) -> None:
        if not _check.positive("Multiply", "factor", self.factor) > 1:
            _check.fail("Multiply", "factor", "must exceed 1", self.factor)

    def __call__(self, p: float) -> float:
        """Return the next penalty."""
        return p * self.factor


@dataclass(frozen=True)
class Steered:
    """A penalty that is large enough at a point, and the measures there."""

    p: float
    psi: float  # criticality of the penalty function
    theta: float  # criticality of the violation, or its upper bound h where that suffices
    lam: np.ndarray  # (m,) multipliers of the linear program behind psi


def steer(model: LinearisedPenalty, p: float, xi: float, eps: float, rule: PenaltyRule) -> Steered:
    """Raise `p` until a unit step promises the share `xi` of the best possible fall of the violation."""
    s, lam = model.minimise(p, 1.0)
    theta = h = model.violation
    if model.decrease(s, p) < xi * p * h:  # otherwise p is large enough, as theta <= h
        theta = max(0.0, model.relief(model.restore(1.0)))
    while theta > eps and model.decrease(s, p) < xi * p * theta:
        p = rule(p)
        s, lam = model.minimise(p, 1.0)
    return Steered(p, max(0.0, model.decrease(s, p)), theta, lam)
