"""The proximal bundle method for the largest of convex functions (Lemarechal 1978; Kiwiel 1990)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._array import TINY, Array, like, norm, to_numpy
from equipoise._problem import Problem
from equipoise.solvers._minmax.linearised_maximum import LinearisedMaximum
from equipoise.solvers._minmax.minmax import Bracket, MinMax, functions, largest, lowest
from equipoise.solvers._solver import Guarantee

# Where there are this many planes, those without weight are dropped. Chosen.
MAX_PLANES = 60

# The centre moves where P falls by this share of the predicted decrease. Chosen, a customary value.
SERIOUS_STEP = 0.1


@dataclass(frozen=True)
class Planes:
    """The bracket, whose point is the centre, and the planes below P."""

    bracket: Bracket
    slopes: np.ndarray  # (n, d)
    offsets: np.ndarray  # (n,) plane i is offsets_i + <slopes_i, y>
    owners: np.ndarray  # (n,) the function each plane belongs to
    weights: np.ndarray  # (n,) in the last model's dual
    L: float  # weight of the regularisation

    def joined(
        self, w: np.ndarray, i: int, g: np.ndarray, offset: float, bracket: Bracket, L: float
    ) -> Planes:
        """Return the planes with one more; where there are many, those without weight are dropped."""
        keep = w > 0 if w.size >= MAX_PLANES else np.ones(w.size, dtype=bool)
        return Planes(
            bracket,
            np.vstack((self.slopes[keep], g)),
            np.append(self.offsets[keep], offset),
            np.append(self.owners[keep], i),
            np.append(w[keep], 0.0),
            L,
        )


@dataclass(frozen=True, kw_only=True)
class ProximalBundle(MinMax[Planes]):
    r"""Minimise the largest of all planes seen, regularised around the best point.

    1. y <- argmin_{y in X} max_j plane_j(y) + L/2 |y - x|^2; w <- the weights of the planes in its dual
    2. lower <- max(lower, min_{z in X} sum_j w_j plane_j(z))
    3. add the plane of the largest function at y
    4. if P(x) - P(y) is at least a tenth of the predicted decrease: x <- y, L <- L/2; else, where the
       new plane misses P(x) by more than that decrease: L <- 2 L

    Output: the point with the least P.

    Guarantee: P - H = O(k^-1/3) for constant L, far better in practice; O(log k / k) for mu > 0.

    References
    ----------
    Lemarechal 1978; Kiwiel 1990; for the rate Kiwiel 2000.
    """

    name: ClassVar[str] = "proximal_bundle"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="the largest of convex functions, non-smooth",
        quantity="P(x) - H <= eps",
        rate="O(eps^-3)",
        reference="Kiwiel 1990, 2000",
    )

    def init(self, problem: Problem, x0: Array) -> Planes:
        """Return the state before the first step."""
        point, p = functions(problem, x0)
        i = int(p.argmax())
        g = to_numpy(point.gradient(i))
        bracket = Bracket(x0, float(p[i]), -math.inf, largest(p))
        offset = np.array([p[i] - g @ to_numpy(x0)])
        return Planes(bracket, g[None], offset, np.array([i]), np.ones(1), max(1.0, norm(g)))

    def step(self, problem: Problem, state: Planes, t: int, rng: np.random.Generator) -> Planes:
        """Return the state after step `t`."""
        X, bracket, L = problem.domain, state.bracket, state.L
        x, slopes = to_numpy(bracket.x), state.slopes
        heights = state.offsets + slopes @ x
        model = LinearisedMaximum(X, x, heights, lambda chosen: slopes[chosen], state.weights)
        while True:  # 1
            y, _ = model.solve(L)
            planes = heights + slopes @ (y - x)
            if not model.add(int(planes.argmax())):
                break
        w = model.weights
        lower = float(w @ heights) + lowest(X, x, w @ slopes, 0.0)  # 2
        weights = np.bincount(state.owners, w, bracket.weights.size)
        point, p = functions(problem, like(y, bracket.x))
        i, P = int(p.argmax()), float(p.max())
        g = to_numpy(point.gradient(i))
        predicted = bracket.upper - float(planes.max())
        new = bracket.improved(bracket.x, bracket.upper, lower, weights)
        if bracket.upper - P >= SERIOUS_STEP * max(predicted, TINY):  # 4
            new, L = replace(new, x=point.x, upper=P), L / 2
        elif P - g @ (y - x) < bracket.upper - predicted:
            L = 2 * L
        stuck = predicted <= 1e-15 * max(1.0, abs(P))
        return state.joined(w, i, g, P - g @ y, replace(new, stuck=stuck), L)  # 3

    def bracket(self, state: Planes) -> Bracket:
        """Return what is known of the minimum."""
        return state.bracket
