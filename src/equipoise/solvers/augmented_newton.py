"""Augmented Lagrangian with Newton-CG steps: the method for smooth problems of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot, norm
from equipoise.problem import Point, Problem
from equipoise.problems.merit import AugmentedLagrangian, Merit
from equipoise.solvers.newton_cg import conjugate_gradients
from equipoise.solvers.solver import DETERMINISTIC, SMOOTH, Guarantee, Solver
from equipoise.status import Status

Product = Callable[[Array], Array]

PATIENCE = 100  # steps after which the multipliers are updated anyway


@dataclass(frozen=True)
class State:
    """The iterate, the multipliers, and the outer loop's tolerances."""

    x: Array  # (d,) iterate
    lam: np.ndarray  # (m,) multipliers
    b: float  # penalty
    accuracy: float  # gradient at which the multipliers are updated
    violation: float  # max_i |min(-f_i, lam_i / b)| at the last update
    residual: float  # KKT residual of (x, pushed multipliers) at the last step
    pushed: np.ndarray  # (m,) [lam + b f(x)]_+, the multipliers of the output
    radius: float  # how long the next step may be
    k: int  # steps since the multipliers changed
    stalled: int  # steps in a row that gained nothing
    stuck: int  # updates in a row that did not lower the violation


@dataclass(frozen=True, kw_only=True)
class AugmentedNewton(Solver[State]):
    r"""Newton-CG on the augmented Lagrangian ``A(x) = f_0 + 1/(2b) sum_i ([lam_i + b f_i]_+^2 - lam_i^2)``.

    1. g <- grad A(x); T <- the linear piece of the tangent projection at (x, -g)
    2. if |T(-g)| <= accuracy (or after 100 steps): lam <- [lam + b f(x)]_+; b <- growth b unless the
       violation fell to a quarter; accuracy <- accuracy / 10; g <- grad A(x) with the new lam
    3. d <- truncated CG for T H T d = T(-g), stopped at negative curvature, where
       H v = (hess f_0 + sum_i [lam_i + b f_i]_+ hess f_i) v + b sum_active grad f_i <grad f_i, v>
       + the bending of X's boundary
    4. x <- P_X(x + s d) with the first s = 1, 1/2, .. that lowers A enough

    H is never formed: a product costs one `hvp` and k inner products, k the active constraints.

    Output: the iterate and ``[lam + b f(x)]_+``. Stops by itself where its KKT residual is at most `tol`, or
    where rounding ends progress, or where six updates in a row did not lower the violation.

    Guarantee: every step lowers A; limit points are KKT points or stationary for the squared
    violation (augmented Lagrangian theory, Bertsekas 1982). Locally superlinear.

    Parameters
    ----------
    tol : float
        The KKT residual at which the method stops by itself.
    penalty : float, optional
        The first b; by default such that the violation at the start counts beside the objective,
        between 10 and 1e4.
    growth : float
        Factor of the penalty.
    multipliers : array of shape (m,), optional
        Where to start, e.g. those of nearly the same problem; 0 by default.
    """

    name: ClassVar[str] = "augmented_newton"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth objective and constraints, convex or not",
        quantity="KKT residual, or stationarity of the squared violation",
        rate="locally superlinear",
        reference="Bertsekas 1982; Birgin & Martinez 2014",
    )
    needs = (SMOOTH, DETERMINISTIC)

    tol: float = 1e-9
    penalty: float | None = None
    growth: float = 5.0
    multipliers: np.ndarray | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check.positive("AugmentedNewton", "tol", self.tol)
        if self.penalty is not None:
            _check.positive("AugmentedNewton", "penalty", self.penalty)
        if not _check.positive("AugmentedNewton", "growth", self.growth) > 1:
            _check.fail("AugmentedNewton", "growth", "must exceed 1", self.growth)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        point = problem.at(x0)
        lam = np.zeros(problem.n_constraints)
        if self.multipliers is not None:
            lam = _check.vector("AugmentedNewton", "multipliers", self.multipliers, lam.size)
        g = norm(problem.domain.tangent(x0, -point.lagrangian_gradient(lam)))
        b = self.penalty or self._first_penalty(problem, point, g)
        accuracy = 0.1 * max(g, 1e-3)
        return State(x0, lam, b, accuracy, np.inf, np.inf, lam, np.inf, 0, 0, 0)

    def _first_penalty(self, problem: Problem, point: Point, g: float) -> float:
        """Enough for the slope of the squared violation to count beside the objective's."""
        over = np.maximum(point.constraints, 0.0)
        if over.size == 0 or over.max() <= 1e-6:
            return 10.0
        pull = problem.domain.tangent(point.x, -point.vjp(np.concatenate(([0.0], over))))
        return float(np.clip(10 * g / max(norm(pull), 1e-12), 10.0, 1e4))

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, lam, b = state.x, state.lam, state.b
        accuracy, violation, k, stuck = state.accuracy, state.violation, state.k + 1, state.stuck
        point = problem.at(x)
        value, slopes = AugmentedLagrangian(lam, b)(point.values)
        g = point.vjp(slopes)  # 1
        piece = problem.domain.tangent_map(x, -g)
        residual = _residual(point, slopes[1:], norm(piece(-g)))
        enough = accuracy * max(1.0, 1e-3 * slopes[1:].sum())
        if lam.size and (norm(piece(-g)) <= enough or k > PATIENCE):  # 2
            lam = slopes[1:]
            infeasible = float(np.abs(np.minimum(-point.constraints, lam / b)).max())
            stuck = 0 if infeasible <= max(0.9 * violation, self.tol) else stuck + 1
            b = b if infeasible <= 0.25 * violation else min(self.growth * b, 1e10)
            violation, accuracy = min(violation, infeasible), max(0.1 * accuracy, 0.1 * self.tol)
            value, slopes = AugmentedLagrangian(lam, b)(point.values)
            g, k = point.vjp(slopes), 0
            piece = problem.domain.tangent_map(x, -g)
        target = piece(-g)
        hessian, bend = _hessian(problem, point, slopes, b), problem.domain.bending(x, -g)
        forcing = min(0.5, norm(target) ** 0.5)
        d = conjugate_gradients(  # 3
            lambda v: piece(hessian(v) + bend * v), target, forcing, floor=0.1 * self.tol
        )
        at, merit = (x, value, g), AugmentedLagrangian(lam, b)
        new, radius = self._search(problem, at, d, merit, state.radius)  # 4
        if new is x:
            new, radius = self._search(problem, at, target, merit, problem.domain.diameter)
        stalled = 0 if new is not x else state.stalled + 1
        pushed = slopes[1:]
        return State(new, lam, b, accuracy, violation, residual, pushed, radius, k, stalled, stuck)

    def _search(
        self,
        problem: Problem,
        at: tuple[Array, float, Array],
        d: Array,
        merit: Merit,
        radius: float,
    ) -> tuple[Array, float]:
        """Armijo's rule along the projection arc; the first step is at most `radius` long.

        Returns `x` itself where nothing is gained, and the radius for the next step.
        """
        x, value, g = at
        rounding = 100 * problem.facts.rounding * max(1.0, abs(value))
        first = s = min(1.0, radius / max(norm(d), 1e-300))
        for _ in range(30):
            new = problem.domain.project(x + s * d)
            fall = dot(g, new - x)
            if merit(problem.at(new).values)[0] <= value + 1e-4 * min(fall, 0.0) + rounding:
                length = norm(new - x)
                if length <= 1e-15 * max(1.0, norm(x)):
                    break
                return new, max(radius, 10 * length) if s == first else 4 * length
            s *= 0.5
        return x, radius

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the iterate and its multipliers."""
        return state.x, state.pushed

    def verdict(self, state: State) -> Status | None:
        """Stop at the tolerance, or where nothing is gained any more."""
        if state.residual <= self.tol:
            return Status.CONVERGED
        return Status.STALLED if state.stalled >= 8 or state.stuck >= 6 else None


def _residual(point: Point, lam: np.ndarray, stationarity: float) -> float:
    """The largest of stationarity, violation and complementarity."""
    if lam.size == 0:
        return stationarity
    return max(stationarity, point.violation, float(np.abs(lam * point.constraints).sum()))


def _hessian(problem: Problem, point: Point, slopes: np.ndarray, b: float) -> Product:
    """Products with the augmented Lagrangian's generalised Hessian."""
    active = np.flatnonzero(slopes[1:] > 0) + 1
    rows = [point.gradient(int(i)) for i in active]
    if point.hvp is not None:
        hvp = point.hvp
        curve: Product = lambda v: hvp(slopes, v)  # noqa: E731
    else:
        base = point.vjp(slopes)

        def curve(v: Array) -> Array:
            h = 1e-6 * max(1.0, norm(point.x)) / max(norm(v), 1e-300)
            return (problem.at(point.x + h * v).vjp(slopes) - base) / h

    def product(v: Array) -> Array:
        total = curve(v)
        for row in rows:
            total = total + (b * dot(row, v)) * row
        return total

    return product
