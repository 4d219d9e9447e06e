"""The theta-steps of PLADA: ways to move the parameters, which its paper calls theta."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Point, Problem


class ThetaStep(ABC):
    r"""Lower ``<grad F(x), y> + <lam, G(y)> + |y - x|^2 / (2 eta)`` over y in the domain."""

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raise where the problem lacks what the step needs."""

    @abstractmethod
    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""


@dataclass(frozen=True)
class SubgradientStep(ThetaStep):
    r"""``P(x - eta (grad F + sum_i lam_i G_i'))``, for any G and any sign of lam.

    The descent lemma covers it where G is smooth, not at kinks of G.
    """

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        return problem.domain.project(point.x - eta * point.lagrangian_gradient(lam))


@dataclass(frozen=True)
class ExactProxStep(ThetaStep):
    r"""The analysed step: ``argmin_y <lam, G(y)> + |y - v|^2 / (2 eta)``, ``v = x - eta grad F``.

    Parameters
    ----------
    prox : callable
        ``(v, lam, eta) -> y`` in the domain. Any y no worse than x keeps the descent lemma.
    """

    prox: Callable[[Array, np.ndarray, float], Array]

    def __post_init__(self) -> None:
        if not callable(self.prox):
            _check.fail("ExactProxStep", "prox", "must be callable", self.prox)

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        return self.prox(point.x - eta * point.gradient(0), lam, eta)
