"""A proximal bundle method with planes of the constraints too (Lemarechal 1978; Kiwiel 1985)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import TINY, Array, like, norm, to_numpy
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._bundle.model import minimise
from equipoise.solvers._bundle.planes import TangentPlanes
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._solver import CONVEX, DETERMINISTIC, Claim, Guarantee, Solver

__all__ = ["ConstrainedBundle"]

# The centre moves where the penalty function falls by this share of the predicted decrease. Chosen, a
# customary value.
SERIOUS_STEP = 0.1

# Penalties are at least this many times the multipliers; chosen, above 1.
PENALTY_MARGIN = 2.0

# Where a step wins nothing but rounding errors, the weight of the regularisation is changed by this factor;
# so often in a row, before the method stops. Chosen.
CHANGE, PATIENCE = 10.0, 4


@dataclass(frozen=True)
class State:
    """The centre, and the planes below the functions."""

    x: Array  # (d,) the centre
    values: np.ndarray  # (m + 1,) the functions there
    planes: TangentPlanes
    L: float  # weight of the regularisation
    p: np.ndarray  # (m,) penalties
    fall: float  # how far the last step let the planes of the objective fall
    residual: float  # how far the centre was from optimal before the last step, by the planes
    idle: int = 0  # steps in a row that won nothing
    excluded: bool = False  # no point of the domain is below all planes of the constraints

    @property
    def violation(self) -> float:
        """The largest violation at the centre."""
        return max(0.0, float(self.values[1:].max(initial=0.0)))

    def penalised(self, values: np.ndarray) -> float:
        """Return the penalty function."""
        return float(values[0] + self.p @ np.maximum(values[1:], 0.0))


@dataclass(frozen=True, kw_only=True)
class ConstrainedBundle(Solver[State]):
    r"""Minimise the largest plane of the objective where all planes of the constraints are at most 0.

    1. y <- argmin_{y in X} max_j plane_0j(y) + L'/2 |y - x|^2  s.t.  plane_ij(y) <= 0 for all i, j, with an
       L' near L; w <- the weights of the planes in its dual, where those of the objective add up to 1
    2. p_i <- max(p_i, 2 sum_j w_ij) for all constraints
    3. add the planes of the objective and of the violated constraints that are above the others at y
    4. with ``P = f_0 + sum_i p_i [f_i]_+``: if P(x) - P(y) is at least a tenth of what the planes say:
       x <- y, and L <- L/2 where it held the step back; else, where the new plane of the objective misses
       f_0(x) by more than that: L <- 2 L
    5. where there is nothing but rounding errors to win, or nothing new at y: L <- L/10 where it held the
       step back, else 10 L; after four such steps in a row the method stops

    A plane of an affine function is that function. So equations, each written as two inequalities, hold after
    the first step, and no point needs to be strictly feasible.

    Output: x, and the constraints' weights. The method stops by itself where the planes prove x
    optimal within `tol`, where planes of constraints exclude each other, or where rounding errors leave
    nothing to win.

    Guarantee: x converges to a solution, if there is one and multipliers are bounded; after finitely many
    steps where all functions are the largest of affine ones and a solution is sharp.

    Parameters
    ----------
    tol : float
        Stop where these are at most `tol`: the slope of the weighted sum of planes, the square root of how
        far it lies below the objective at x (a subgradient within that distance of the slope is found
        within that distance of x) by more than rounding errors, and the violation.

    References
    ----------
    Lemarechal 1978; Kiwiel 1985, 1990.
    """

    name: ClassVar[str] = "constrained_bundle"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="convex, non-smooth, with or without interior",
        quantity="P(x) - P* <= eps for an exact penalty function P",
        rate="O(eps^-3)",
        reference="Kiwiel 1985, 2000",
    )
    needs = (CONVEX, DETERMINISTIC)
    claim: ClassVar[Claim] = Claim(("convex",), residual=1e-5, steps=500)

    tol: float = 1e-8

    def __post_init__(self) -> None:
        _check.positive("ConstrainedBundle", "tol", self.tol)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        point = problem.at(x0)
        planes = TangentPlanes.at(point, np.arange(point.values.size))
        planes.weights[0] = 1.0
        steepest = norm(planes.slopes[0]) or 1.0
        p = np.zeros(problem.n_constraints)
        return State(x0, point.values, planes, steepest, p, steepest, math.inf)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, f, planes = to_numpy(state.x), state.values, state.planes
        found = minimise(planes, x, linear_rows(problem.domain, x), state.L, state.fall)  # 1
        if found is None:
            fewer = planes.used()  # planes that are nearly the same can be too much for it
            excluded = fewer.owners.size == planes.owners.size
            return replace(state, planes=fewer, excluded=excluded)
        w, L = found.weights, state.L
        multipliers = np.bincount(planes.owners, w, f.size)[1:]
        state = replace(state, p=np.maximum(state.p, PENALTY_MARGIN * multipliers))  # 2
        y = problem.domain.project(x + found.s)
        point = problem.at(like(y, state.x))
        new = planes.missed(point)  # 3
        more = TangentPlanes.at(point, new)
        of_objective, here = planes.of_objective, planes.heights(x)
        low = float(planes.heights(y)[of_objective].max())
        predicted = state.penalised(f) - low
        won = state.penalised(f) - state.penalised(point.values)
        held_back = found.L * float((y - x) @ (y - x)) > SERIOUS_STEP * predicted
        serious = won >= SERIOUS_STEP * predicted > 0  # 4
        error = float(w @ planes.errors(x))
        nothing = predicted <= error or not (serious or new.size)
        if nothing:  # 5
            L = L / CHANGE if held_back else L * CHANGE
        elif serious and held_back:
            L = L / 2
        elif not serious and new.size and new[0] == 0 and f[0] - more.heights(x)[0] > predicted:
            L = 2 * L
        gap = float(w @ np.abs(np.where(of_objective, here - f[0], here)))
        slope = norm(problem.domain.tangent(x, -(w @ planes.slopes)))
        return replace(
            state,
            x=point.x if serious else state.x,
            values=point.values if serious else f,
            planes=planes.joined(more, w),
            L=L,
            fall=max(abs(low - float(here[of_objective].max())), error, TINY),
            residual=max(slope, math.sqrt(max(gap - error, 0.0)), state.violation),
            idle=state.idle + 1 if nothing else 0,
        )

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the centre and its multipliers."""
        planes = state.planes
        return state.x, np.bincount(planes.owners, planes.weights, state.values.size)[1:]

    def verdict(self, state: State) -> Status | None:
        """Stop where x is optimal by the planes, or where there is nothing to win."""
        if state.excluded:
            return Status.LOCALLY_INFEASIBLE if state.violation > self.tol else Status.STALLED
        if state.residual <= self.tol:
            return Status.CONVERGED
        return Status.STALLED if state.idle >= PATIENCE else None
