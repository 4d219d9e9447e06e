"""The theta-step of PLADA: its size, and three ways to move the parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear, minimize

from equipoise import _check
from equipoise._array import Array, like, norm, to_numpy
from equipoise.problem import Point, Problem
from equipoise.solvers.solver import UnsuitableSolverError


@dataclass(frozen=True, eq=False)
class StepSize:
    r"""``eta < 1 / (L_F + 3 rho M_G^2)``, given, or measured along the path.

    The measured size rises by 1% a step (so that the multipliers can follow) to 0.9 of the bound with
    the largest secants of grad F and G seen so far; it never falls below the bound from the facts.
    """

    eta: float
    floor: float  # what the facts allow everywhere; 0 where they are unknown
    L: float  # largest secant of grad F
    M: float  # largest secant of G
    seen: tuple[Array, np.ndarray, Array] | None  # x, G, grad F; None: the size is fixed

    @classmethod
    def first(cls, problem: Problem, point: Point, rho: float, eta: float | None) -> StepSize:
        """Return the size for the first step."""
        if eta is not None:
            return cls(eta, eta, 0.0, 0.0, None)
        L, M, m = problem.facts.smoothness, problem.facts.lipschitz, problem.n_constraints
        floor = 0.0 if L is None or M is None else _bound(L, math.sqrt(m) * M, rho)
        if floor > 0.0 and problem.facts.stochastic:
            return cls(floor, floor, 0.0, 0.0, None)
        g = point.gradient(0)
        length = 0.1 * min(problem.domain.diameter, max(1.0, norm(point.x)))
        ahead = problem.domain.project(point.x - (length / max(norm(g), 1e-300)) * g)
        L = _secant(problem.at(ahead).gradient(0) - g, ahead - point.x)
        M = math.hypot(*(norm(point.gradient(i)) for i in range(1, m + 1)))
        eta = max(floor, 0.01 * _bound(L, M, rho))
        return cls(eta, floor, L, M, (point.x, point.constraints, g))

    def next(self, point: Point, rho: float, *, exact: bool) -> StepSize:
        """Return the size for a step from `point`; `exact`: not a mini-batch."""
        if self.seen is None:
            return self
        L, M, seen = self.L, self.M, self.seen
        if exact and norm(point.x - seen[0]) > 1e-8 * max(1.0, norm(point.x)):  # else: rounding
            seen = (point.x, point.constraints, point.gradient(0))
            dx, dG, dg = (new - old for new, old in zip(seen, self.seen))
            L, M = max(L, _secant(dg, dx)), max(M, _secant(dG, dx))
        eta = max(self.floor, min(1.01 * self.eta, _bound(L, M, rho)))
        return StepSize(eta, self.floor, L, M, seen)


def _bound(L: float, M: float, rho: float) -> float:
    return 0.9 / max(L + 3 * rho * M * M, 1e-6)


def _secant(rise: Array, run: Array) -> float:
    return norm(rise) / norm(run) if norm(run) > 0 else 0.0


class ThetaStep(ABC):
    r"""Lower ``<grad F(x), y> + <lam, G(y)> + |y - x|^2 / (2 eta)`` over y in the domain."""

    def check(self, problem: Problem) -> None:  # noqa: B027
        """Raise where the problem lacks what the step needs."""

    @abstractmethod
    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""


@dataclass(frozen=True)
class Subgradient(ThetaStep):
    r"""``P(x - eta (grad F + sum_i lam_i G_i'))``: any G, any sign of lam.

    The descent lemma covers it where G is smooth, not at kinks of G.
    """

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        return problem.domain.project(point.x - eta * point.lagrangian_gradient(lam))


@dataclass(frozen=True)
class ExactProx(ThetaStep):
    r"""The analysed step: ``argmin_y <lam, G(y)> + |y - v|^2 / (2 eta)``, ``v = x - eta grad F``.

    Parameters
    ----------
    prox : callable
        ``(v, lam, eta) -> y`` in the domain. Any y no worse than x keeps the descent lemma.
    """

    prox: Callable[[Array, np.ndarray, float], Array]

    def __post_init__(self) -> None:
        if not callable(self.prox):
            _check.fail("ExactProx", "prox", "must be callable", self.prox)

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        return self.prox(point.x - eta * point.gradient(0), lam, eta)


@dataclass(frozen=True)
class ProxLinear(ThetaStep):
    r"""``G_i = |c_i| - bound_i`` with every smooth ``c_i`` linearised inside the absolute value.

    Where ``lam_i < 0`` the whole term is linearised: ``-|c_i|`` lies below its tangents. With
    ``w_i = lam_i grad c_i`` (lam > 0), ``v = x - eta (grad F + the linear terms)`` and
    ``r_i = c_i + <grad c_i, v - x>``,

        min_{y in X} sum_i lam_i |c_i + <grad c_i, y - x>| + |y - v|^2 / (2 eta)

    has the solution ``y = P(v - eta sum_i s_i w_i)``, where s in [-1, 1]^m solves the dual problem;
    for one constraint and an inactive domain ``s = clip(r / (eta lam |grad c|^2), -1, 1)``.

    Needs a problem with an attribute `bound`: `equipoise.problems.absolute.AbsoluteProblem`.
    """

    def check(self, problem: Problem) -> None:
        """Raise unless the problem knows its bounds."""
        if getattr(problem, "bound", None) is None:
            raise UnsuitableSolverError(
                "ProxLinear needs constraints |c_i| - bound_i with known `bound`: state them as "
                "AbsoluteProblem(base, bound), or choose another `theta_step`."
            )

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        # the sign of c_i cancels: |c + <gc, d>| = ||c| + <sign(c) gc, d>|
        size = point.constraints + problem.bound  # type: ignore[attr-defined]
        pull = lam > 0
        v = point.x - eta * point.lagrangian_gradient(np.where(pull, 0.0, lam))
        if not pull.any():
            return problem.domain.project(v)
        rows = np.stack([to_numpy(point.gradient(1 + int(i))) for i in np.flatnonzero(pull)])
        dual = _Dual(problem, v, lam[pull, None] * rows, lam[pull] * size[pull], eta, point.x)
        return dual.primal(dual.solve())


@dataclass(frozen=True, eq=False)
class _Dual:
    """``max_{|s| <= 1} min_{y in X} sum_i s_i (q_i + <W_i, y - x>) + |y - v|^2 / (2 eta)``."""

    problem: Problem
    v: Array  # (d,)
    W: np.ndarray  # (k, d) lam_i grad c_i
    q: np.ndarray  # (k,) lam_i c_i
    eta: float
    x: Array  # (d,)

    def primal(self, s: np.ndarray) -> Array:
        """Return the inner minimiser."""
        return self.problem.domain.project(self.v - like(self.eta * (s @ self.W), self.v))

    def solve(self) -> np.ndarray:
        """Solve as if the domain were inactive; where it is not, go on with the full dual."""
        H = self.eta * (self.W @ self.W.T)
        scale = float(np.trace(H))
        if scale == 0.0:
            return np.zeros(self.q.size)
        s = _box_qp(H / scale, (self.q + self.W @ to_numpy(self.v - self.x)) / scale)
        if self.problem.domain.contains(self.v - like(self.eta * (s @ self.W), self.v), 1e-14):
            return s
        options = {"ftol": 1e-16, "gtol": 1e-13, "maxiter": 1000}
        bounds = [(-1.0, 1.0)] * s.size
        return minimize(self._value, s, (scale,), jac=True, bounds=bounds, options=options).x

    def _value(self, s: np.ndarray, scale: float) -> tuple[float, np.ndarray]:
        """The negative dual function and its gradient (Danskin), scaled."""
        y = self.primal(s)
        slope = self.q + self.W @ to_numpy(y - self.x)
        away = to_numpy(y - self.v)
        return -float(s @ slope + away @ away / (2 * self.eta)) / scale, -slope / scale


def _box_qp(H: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Minimise ``s'Hs/2 - r's`` over ``[-1, 1]^k``, trace(H) = 1; H may be singular.

    Two proximal-point steps, each a bounded least-squares problem.
    """
    tiny = 1e-10
    s, R = np.zeros(r.size), np.linalg.cholesky(H + tiny * np.eye(r.size)).T
    for _ in range(2):
        target = solve_triangular(R, r + tiny * s, trans="T")
        answer = lsq_linear(R, target, (-1.0, 1.0), "bvls", tol=1e-15, max_iter=100 * r.size)
        s = answer.x
    return s
