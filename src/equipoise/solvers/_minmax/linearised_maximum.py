"""The largest of some linear functions, regularised, minimised over a convex set by its dual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise._array import TINY
from equipoise.sets import Set

# Newton steps on the dual at the most; two or three are the rule. Chosen.
MAX_NEWTON_STEPS = 30

# Tolerances of the quadratic programs: near rounding errors, as all is scaled to size 1.
TIGHT = {"primal_tol": 1e-12, "dual_tol": 1e-14, "zero_tol": 1e-14}

# The dual is solved where the gap between the largest function and the weighted mean is at most this
# share of the regularisation. Chosen.
RELATIVE_GAP = 1e-4

# Armijo's rule, customary value; halvings of a step at the most.
SUFFICIENT_INCREASE, MAX_HALVINGS = 1e-4, 30

# The length, relative to max(1, |y|), along which the projection is differenced. Chosen.
DIFFERENCE_STEP = 1e-7

# Added to the scaled Hessian in turn, until the quadratic program succeeds: rows may be parallel. The
# Newton steps correct what it changes. Chosen.
RIDGES = 1e-9, 1e-7, 1e-5


class LinearisedMaximum:
    r"""``min_{y in X} max_i { p_i + <J_i, y - v> } + L/2 |y - v|^2`` over the functions added so far.

    The dual maximises ``D(w) = sum_i w_i q_i + L/2 |y - v|^2`` over the simplex, where
    ``y = P_X(v - J'w / L)`` and ``q = p + J(y - v)`` is the gradient of D. This is done by Newton's
    method. The derivative of the projection, which is linear on pieces for a polyhedron, is taken by
    differences; the quadratic model is maximised exactly.

    Parameters
    ----------
    domain : Set
    v : ndarray of shape (d,)
    values : ndarray of shape (n,)
        All the p_i; a function with -inf is never the largest.
    gradients : callable
        Indices (k,) to the rows J_i of shape (k, d); asked once for each function that is added.
    weights : ndarray of shape (n,)
        On the simplex, to start from; its support and the largest function are added at once.
    """

    def __init__(
        self,
        domain: Set,
        v: np.ndarray,
        values: np.ndarray,
        gradients: Callable[[np.ndarray], np.ndarray],
        weights: np.ndarray,
    ) -> None:
        self.domain, self.v, self.values, self.gradients = domain, v, values, gradients
        support = np.flatnonzero(weights)
        self.members: list[int] = support.tolist()
        self.rows, self.w = gradients(support), weights[support]
        self.add(int(values.argmax()))

    @property
    def heights(self) -> np.ndarray:
        """The p_i of the functions added."""
        return self.values[self.members]

    @property
    def weights(self) -> np.ndarray:
        """The weights of all functions, (n,)."""
        full = np.zeros(self.values.size)
        full[self.members] = self.w
        return full

    def add(self, i: int) -> bool:
        """Add a function; False if it is here already."""
        if i in self.members:
            return False
        self.members.append(i)
        self.rows = np.vstack((self.rows, self.gradients(np.array([i]))))
        self.w = np.append(self.w, 0.0)
        return True

    def solve(self, L: float) -> tuple[np.ndarray, float]:
        """Return the minimiser and the minimum (from above); the weights are kept."""
        y, q, dual = self._dual(self.w, L)
        for _ in range(MAX_NEWTON_STEPS):
            shift = y - self.v
            gap = float(q.max() - self.w @ q)
            if gap <= RELATIVE_GAP * (0.5 * L * (shift @ shift)) or gap <= 1e-15 * np.abs(q).max():
                break
            ahead = self._newton(q, y, L)
            slope = float(q @ (ahead - self.w))
            for s in 0.5 ** np.arange(MAX_HALVINGS):
                w = self.w + s * (ahead - self.w)
                trial = self._dual(w, L)
                if trial[2] >= dual + SUFFICIENT_INCREASE * s * slope:
                    break
            else:
                break
            if trial[2] <= dual and s < 1:  # a whole Newton step may gain less than rounding shows
                break
            self.w, (y, q, dual) = w, trial
        shift = y - self.v
        return y, float(q.max() + 0.5 * L * (shift @ shift))

    def _dual(self, w: np.ndarray, L: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the model's minimiser for these weights, the dual's gradient and value."""
        y = self.domain.project(self.v - (w @ self.rows) / L)
        shift = y - self.v
        q = self.heights + self.rows @ shift
        return y, q, float(w @ q + 0.5 * L * (shift @ shift))

    def _newton(self, q: np.ndarray, y: np.ndarray, L: float) -> np.ndarray:
        """Maximise the dual's quadratic model over the simplex."""
        from daqp import solve

        k = q.size
        base = self.v - (self.w @ self.rows) / L
        lengths = np.linalg.norm(self.rows, axis=1)
        t = DIFFERENCE_STEP * max(1.0, float(np.linalg.norm(y))) / np.maximum(lengths, TINY)
        moved = np.array([self.domain.project(base + s * row) - y for s, row in zip(t, self.rows)])
        H = self.rows @ (moved / t[:, None]).T / L
        scale = max(float(np.trace(H)) / k, float(np.ptp(q)), TINY)
        # Minimise (u - w)'H(u - w)/2 - q'(u - w) with the bounds 0 <= u <= 1 and the row sum u = 1.
        bounds = np.ones(k + 1), np.append(np.zeros(k), 1.0)
        sense = np.append(np.zeros(k, dtype=np.int32), np.int32(5))  # 5 marks an equation
        for ridge in RIDGES:
            model = (H + H.T) / (2 * scale) + ridge * np.eye(k)
            f = (q.max() - q) / scale - model @ self.w
            u, _, flag, _ = solve(model, f, np.ones((1, k)), *bounds, sense, **TIGHT)
            u = np.maximum(u, 0.0)
            if flag == 1 and q @ (u / u.sum() - self.w) > 0:
                return u / u.sum()
        return np.eye(k)[int(q.argmax())]  # towards the largest function, which is always uphill
