"""The theta-step of PLADA for constraints |c_i| <= bound_i: only c_i is linearised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear, minimize

from equipoise._array import Array, like, to_numpy
from equipoise._problem import Point, Problem
from equipoise.solvers._plada.theta_steps import ThetaStep
from equipoise.solvers._solver import UnsuitableSolverError

# The weight of the proximal term in `_box_qp`; its error is about the square. Chosen.
PROXIMAL_WEIGHT = 1e-10


@dataclass(frozen=True)
class ProxLinearStep(ThetaStep):
    r"""``G_i = |c_i| - bound_i`` with every smooth ``c_i`` linearised inside the absolute value.

    Where ``lam_i < 0`` the whole term is linearised: ``-|c_i|`` lies below its tangents. With
    ``w_i = lam_i grad c_i`` (lam > 0), ``v = x - eta (grad F + the linear terms)`` and
    ``r_i = c_i + <grad c_i, v - x>``,

        min_{y in X} sum_i lam_i |c_i + <grad c_i, y - x>| + |y - v|^2 / (2 eta)

    has the solution ``y = P(v - eta sum_i s_i w_i)``, where s in [-1, 1]^m solves the dual problem;
    for one constraint and an inactive domain ``s = clip(r / (eta lam |grad c|^2), -1, 1)``.

    Needs a problem with an attribute `bound`: `equipoise.problems._absolute.AbsoluteProblem`.
    """

    def check(self, problem: Problem) -> None:
        """Raise unless the problem knows its bounds."""
        if problem.bound is None:
            raise UnsuitableSolverError(
                "ProxLinearStep needs constraints |c_i| - bound_i with known `bound`: state them as "
                "AbsoluteProblem(base, bound), or choose another `theta_step`."
            )

    def __call__(self, problem: Problem, point: Point, lam: np.ndarray, eta: float) -> Array:
        """Return the next iterate."""
        # The sign of c_i cancels: |c + <grad c, d>| = ||c| + <sign(c) grad c, d>|.
        assert problem.bound is not None  # see `check`
        size = point.constraints + problem.bound
        pull = lam > 0
        v = point.x - eta * point.lagrangian_gradient(np.where(pull, 0.0, lam))
        if not pull.any():
            return problem.domain.project(v)
        rows = to_numpy(point.gradients(1 + np.flatnonzero(pull)))
        dual = _StepDual(problem, v, lam[pull, None] * rows, lam[pull] * size[pull], eta, point.x)
        return dual.primal(dual.solve())


@dataclass(frozen=True, eq=False)
class _StepDual:
    """The dual ``max_{|s| <= 1} min_{y in X} sum_i s_i (q_i + <W_i, y - x>) + |y - v|^2 / (2 eta)``."""

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
        """Return the negative dual function and its gradient, scaled; the gradient is Danskin's."""
        y = self.primal(s)
        slope = self.q + self.W @ to_numpy(y - self.x)
        away = to_numpy(y - self.v)
        return -float(s @ slope + away @ away / (2 * self.eta)) / scale, -slope / scale


def _box_qp(H: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Minimise ``s'Hs/2 - r's`` over ``[-1, 1]^k``, for trace(H) = 1.

    By two proximal-point steps, each a bounded least-squares problem: H may be singular.
    """
    s, R = np.zeros(r.size), np.linalg.cholesky(H + PROXIMAL_WEIGHT * np.eye(r.size)).T
    for _ in range(2):
        target = solve_triangular(R, r + PROXIMAL_WEIGHT * s, trans="T")
        answer = lsq_linear(R, target, (-1.0, 1.0), "bvls", tol=1e-15, max_iter=100 * r.size)
        s = answer.x
    return s
