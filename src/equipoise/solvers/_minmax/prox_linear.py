"""The prox-linear method for the largest of smooth functions (Nesterov 2004, Section 2.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._array import Array, like, to_numpy
from equipoise._problem import Problem
from equipoise.solvers._minmax.linearised_maximum import LinearisedMaximum
from equipoise.solvers._minmax.minmax import Bracket, MinMax, functions, largest, lowest
from equipoise.solvers._solver import Guarantee

# The factor on L from step to step, before it is doubled where needed: one doubling every other step.
# Chosen; half and twice of it take 16 % and 19 % more work (docs/constants.md).
LOWER_L = 0.7

# Doublings and added functions in one step, at the most: then L is beyond all bounds. Chosen.
MAX_TRIES = 60


@dataclass(frozen=True)
class Momentum:
    """The bracket, and what the acceleration remembers."""

    bracket: Bracket
    previous: Array  # (d,) the point before the best one
    run: int  # steps since the last restart
    L: float  # curvature estimate


@dataclass(frozen=True, kw_only=True)
class MinMaxProxLinear(MinMax[Momentum]):
    r"""Minimise the largest of the linearised functions, regularised, with momentum.

    1. v <- P_X(x + k/(k+3) (x - x_previous)), k the steps since the last restart
    2. y <- argmin_{y in X} max_i { p_i(v) + <grad p_i(v), y - v> } + L/2 |y - v|^2, with L doubled
       until P(y) is at most this value; w <- the weights of the functions in its dual
    3. x <- y if P(y) < P(x), else restart (k <- 0)
    4. lower <- max(lower, min_{z in X} sum_i w_i (p_i(v) + <grad p_i(v), z - v>) + mu/2 |z - v|^2)

    Only the functions that are the largest somewhere get a gradient.

    Output: the point with the least P.

    Guarantee: P - H = O(1/k^2); linear for strongly convex functions, with restarts.

    References
    ----------
    Nesterov 2004, Section 2.3; for the restarts O'Donoghue & Candes 2015.
    """

    name: ClassVar[str] = "minmax_prox_linear"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="the largest of smooth convex functions",
        quantity="P(x) - H <= eps",
        rate="O(eps^-1/2); O(log 1/eps) strongly convex",
        reference="Nesterov 2004, Section 2.3; O'Donoghue & Candes 2015 (restarts)",
    )

    def init(self, problem: Problem, x0: Array) -> Momentum:
        """Return the state before the first step."""
        _, p = functions(problem, x0)
        L = problem.base.facts.smoothness or 1.0  # type: ignore[attr-defined]
        return Momentum(Bracket(x0, float(p.max()), -math.inf, largest(p)), x0, 0, L)

    def step(self, problem: Problem, state: Momentum, t: int, rng: np.random.Generator) -> Momentum:
        """Return the state after step `t`."""
        X, bracket, k = problem.domain, state.bracket, state.run
        x = bracket.x
        v = X.project(x + (k / (k + 3)) * (x - state.previous)) if k else x  # 1
        point, p = functions(problem, v)
        model = LinearisedMaximum(
            X, to_numpy(v), p, lambda i: to_numpy(point.gradients(i)), bracket.weights
        )
        L = LOWER_L * state.L
        for _ in range(MAX_TRIES):  # 2
            y, bound = model.solve(L)
            values = functions(problem, like(y, x))[1]
            if values.max() <= bound + 1e-14 * max(1.0, abs(bound)):
                break
            L = L if model.add(int(values.argmax())) else 2 * L
        lower = float(model.w @ model.heights)  # 4
        lower += lowest(X, to_numpy(v), model.w @ model.rows, self.mu)
        new = bracket.improved(like(y, x), float(values.max()), lower, model.weights)
        if new.upper < bracket.upper:  # 3
            return Momentum(new, x, k + 1, L)
        return Momentum(replace(new, stuck=k == 0), x, 0, L)

    def bracket(self, state: Momentum) -> Bracket:
        """Return what is known of the minimum."""
        return state.bracket
