"""The linear model of an exact penalty function, and its minimisation by linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array

from equipoise.sets import LinearRows

# The tightest tolerances that the linear-program solver HiGHS accepts.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class LinearProgramError(ArithmeticError):
    """No step was found: the numbers of a linear program are too far apart."""


@dataclass(frozen=True, eq=False)
class LinearisedPenalty:
    """The model ``l(s; p) = f_0 + grad f_0's + p sum_i [f_i + grad f_i's]_+`` over a domain.

    Attributes
    ----------
    values : ndarray of shape (m + 1,)
    J : ndarray of shape (m + 1, d)
        The gradients, one row per function.
    rows : LinearRows
    """

    values: np.ndarray
    J: np.ndarray
    rows: LinearRows

    @property
    def violation(self) -> float:
        """The sum of violations ``h = sum_i [f_i]_+``."""
        return float(np.maximum(self.values[1:], 0.0).sum())

    def decrease(self, s: np.ndarray, p: float) -> float:
        """Return ``l(0; p) - l(s; p)``."""
        return float(p * self.relief(s) - self.J[0] @ s)

    def relief(self, s: np.ndarray) -> float:
        """Return by how much `s` lowers the sum of violations, to first order."""
        f = self.values[1:]
        return float((np.maximum(f, 0.0) - np.maximum(f + self.J[1:] @ s, 0.0)).sum())

    def minimise(self, p: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimiser of ``l(s; p)`` over ``|s|_inf <= radius``, and the multipliers."""
        return self._program(self.J[0], p, radius)

    def restore(self, radius: float) -> np.ndarray:
        """Return the step that lowers the sum of violations most."""
        return self._program(np.zeros(self.J.shape[1]), 1.0, radius)[0]

    @cached_property
    def _matrix(self) -> csr_array:
        """The rows of the linear programs, in the unknowns ``(s, t, v)``."""
        k, e, m = self.rows.b.size, self.rows.B.shape[1], self.values.size - 1
        linearised = [csr_array(self.J[1:]), -eye_array(m), csr_array((m, e))]
        return block_array(
            [linearised, [self.rows.A, csr_array((k, m)), self.rows.B]], format="csr"
        )

    def _program(self, slope: np.ndarray, p: float, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the step and the multipliers of a linear program.

        It is ``min slope's + p 1't  s.t.  J s - t <= [-f]_+, t >= -[f]_+, A s + B v <= b, |s|_inf <= 1``.
        Lengths are in units of the radius, and t is the change of the violations: so all numbers are
        of moderate size. Where the simplex method fails, the interior-point method is tried.
        """
        f, rows = self.values[1:] / radius, self.rows
        d, e, m = rows.A.shape[1], rows.B.shape[1], f.size
        bounds = np.empty((d + m + e, 2))
        bounds[:d, 0] = np.maximum(rows.low / radius, -1.0)
        bounds[:d, 1] = np.minimum(rows.high / radius, 1.0)
        bounds[d:, 0] = np.concatenate((-np.maximum(f, 0.0), np.full(e, -np.inf)))
        bounds[d:, 1] = np.inf
        limits = np.concatenate((np.maximum(-f, 0.0), rows.b / radius))
        cost = np.concatenate((slope, np.full(m, p), np.zeros(e)))
        for method in ("highs", "highs-ipm"):
            answer = linprog(
                cost, self._matrix, limits, bounds=bounds, method=method, options=TIGHT
            )
            if answer.status == 0:
                lam = np.clip(-answer.ineqlin.marginals[:m], 0.0, p)
                return radius * answer.x[:d], lam
        raise LinearProgramError(answer.message)
