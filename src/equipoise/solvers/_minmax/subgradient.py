"""Projected subgradients for the largest of convex functions, with a lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise._array import TINY, Array, dot, norm, to_numpy
from equipoise._problem import Problem
from equipoise.solvers._minmax.minmax import Bracket, MinMax, functions, largest, lowest, reach
from equipoise.solvers._solver import Guarantee


@dataclass(frozen=True)
class Averages:
    """The bracket, the iterate, and the weighted means that make the lower bound."""

    bracket: Bracket
    x: Array  # (d,) iterate
    mean: Array  # (d,) mean of the iterates
    slope: Array  # (d,) mean of the subgradients
    height: float  # mean of P(x) - <g, x> + mu/2 |x|^2
    weights: np.ndarray  # (m + 1,) how often each function was the largest
    total: float  # sum of the weights of the mean
    steepest: float  # largest |g| seen


@dataclass(frozen=True, kw_only=True)
class MinMaxSubgradient(MinMax[Averages]):
    r"""Projected subgradient descent on P, for functions with kinks.

    1. g <- gradient of the largest function at x
    2. means of x, g and P(x) - <g, x> + mu/2 |x|^2, with weights k + 1 (eta_k where mu = 0)
    3. lower <- max(lower, minimum over X of the mean of the minorants)
    4. x <- P_X(x - eta_k g), eta_k = 2 / (mu (k+2)), or D / (|g|_max sqrt(k+1)) where mu = 0

    Output: the iterate with the least P.

    Guarantee: P - H = O(1/k) for mu > 0, O(1/sqrt k) for mu = 0.

    References
    ----------
    Lacoste-Julien, Schmidt & Bach 2012; Nesterov 2004.
    """

    name: ClassVar[str] = "minmax_subgradient"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="the largest of convex functions, non-smooth",
        quantity="P(x) - H <= eps",
        rate="O(eps^-1) strongly convex, O(eps^-2) convex",
        reference="Lacoste-Julien, Schmidt & Bach 2012; Nesterov 2004",
    )

    def init(self, problem: Problem, x0: Array) -> Averages:
        """Return the state before the first step."""
        p = functions(problem, x0)[1]
        bracket = Bracket(x0, float(p.max()), -math.inf, largest(p))
        return Averages(bracket, x0, x0, 0 * x0, 0.0, 0 * bracket.weights, 0.0, 0.0)

    def step(self, problem: Problem, state: Averages, t: int, rng: np.random.Generator) -> Averages:
        """Return the state after step `t`."""
        X, x, mu, k = problem.domain, state.x, self.mu, state.bracket.steps
        point, p = functions(problem, x)
        P, i = float(p.max()), int(p.argmax())
        g = point.gradient(i)  # 1
        steepest = max(state.steepest, norm(g))
        eta = 2 / (mu * (k + 2)) if mu else reach(X, x) / (max(steepest, TINY) * math.sqrt(k + 1))
        total = state.total + (k + 1 if mu else eta)  # 2
        a = (k + 1 if mu else eta) / total
        mean = (1 - a) * state.mean + a * x
        slope = (1 - a) * state.slope + a * g
        height = (1 - a) * state.height + a * (P - dot(g, x) + 0.5 * mu * dot(x, x))
        weights = (1 - a) * state.weights + a * largest(p)
        lower = height + dot(slope, mean) - 0.5 * mu * dot(mean, mean)  # 3
        lower += lowest(X, to_numpy(mean), to_numpy(slope), mu)
        bracket = state.bracket.improved(x, P, lower, weights)
        x = X.project(x - eta * g)  # 4
        return Averages(bracket, x, mean, slope, height, weights, total, steepest)

    def bracket(self, state: Averages) -> Bracket:
        """Return what is known of the minimum."""
        return state.bracket
