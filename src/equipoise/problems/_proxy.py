"""Constraints that cannot be differentiated, with surrogates that can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Point, Problem

TrueConstraints = Callable[[Problem, Array], Any]


class ProxyProblem(Problem):
    """A problem whose constraints are surrogates, together with the true constraints.

    `at` gives objective and surrogates, and it is the surrogates that the examiner certifies;
    `true_values` gives the constraints that are meant, such as rates that count.

    Parameters
    ----------
    surrogate : Problem
        Objective and differentiable surrogates of the constraints.
    true_constraints : callable
        ``(surrogate, x)`` to the m true values at `x`; of a mini-batch where `surrogate` is one.
    """

    def __init__(self, surrogate: Problem, true_constraints: TrueConstraints) -> None:
        _check.kind("ProxyProblem", "surrogate", surrogate, Problem)
        _check.function("ProxyProblem", "true_constraints", true_constraints)
        self.surrogate, self.true_constraints = surrogate, true_constraints
        self.dim, self.n_constraints = surrogate.dim, surrogate.n_constraints
        self.domain, self.names, self.facts = surrogate.domain, surrogate.names, surrogate.facts
        self.sketched = surrogate.sketched

    def at(self, x: Array) -> Point:
        """Evaluate the objective and the surrogates at `x`."""
        return self.surrogate.at(x)

    def true_values(self, point: Point) -> np.ndarray:
        """Evaluate the true constraints, shape (m,)."""
        values = self.true_constraints(self.surrogate, point.x)
        return _check.vector("ProxyProblem", "true_constraints", values, self.n_constraints)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch of the surrogates with the true constraints on it."""
        batch = self.surrogate.sample(rng)
        return self if batch is self.surrogate else ProxyProblem(batch, self.true_constraints)
