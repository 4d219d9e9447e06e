"""Quadratic functions: the reference problems, and a source of random ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, like, to_numpy
from equipoise._problem import Facts, Point, Problem
from equipoise.problems._describe import set_attributes
from equipoise.sets import Set


class QuadraticProblem(Problem):
    r"""Every function is ``f_i(x) = x'P_i x / 2 + q_i'x + c_i``; the objective is ``i = 0``.

    Parameters
    ----------
    P : array of shape (m + 1, d, d)
        Symmetric; need not be positive semidefinite.
    q : array of shape (m + 1, d)
    c : array of shape (m + 1,)
    domain : Set
    names : sequence of str, optional

    Notes
    -----
    The facts are exact: ``rho = max(0, -min eig)``, ``L = max |eig|``; the bound on the gradients is
    ``|P_i x_c + q_i| + |P_i| D`` with ``x_c`` the projection of 0.
    """

    def __init__(
        self, P: Any, q: Any, c: Any, domain: Set, names: Sequence[str] | None = None
    ) -> None:
        owner = "QuadraticProblem"
        self.q = _check.matrix(owner, "q", q, "m + 1", "d")
        count, dim = self.q.shape
        if count == 0:
            _check.fail(owner, "q", "must have at least one row", self.q.shape)
        self.P = _check.array(owner, "P", P, (count, dim, dim))
        _check.finite(owner, "P", self.P)
        self.c = _check.vector(owner, "c", c, count)
        if not np.allclose(self.P, self.P.transpose(0, 2, 1)):
            raise _check.InputError(owner, "every `P` must be symmetric.", "P")
        _check.kind(owner, "domain", domain, Set)
        set_attributes(self, dim, count - 1, domain, names, None)
        self.facts = self._facts()

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        x = self._argument(x)
        z = to_numpy(x)
        Pz = self.P @ z
        gradients = Pz + self.q
        values = 0.5 * (Pz @ z) + self.q @ z + self.c

        def hvp(weights: np.ndarray, v: Array) -> Array:
            return like(np.einsum("i,ijk,k->j", weights, self.P, to_numpy(v)), x)

        return Point(x, values, lambda weights: like(weights @ gradients, x), hvp)

    def _facts(self) -> Facts:
        eigenvalues = np.linalg.eigvalsh(self.P)
        lowest = eigenvalues.min(axis=1)
        convex = lowest >= -1e-12
        centre = self.domain.project(np.zeros(self.dim))
        at_centre = np.linalg.norm(self.P @ centre + self.q, axis=1)
        largest = np.abs(eigenvalues).max(axis=1)
        with np.errstate(invalid="ignore"):  # 0 * inf: a linear function on the whole space
            slopes = at_centre + np.where(largest > 0, largest * self.domain.diameter, 0.0)
        bounded = bool(np.isfinite(slopes).all())
        return Facts(
            smooth=True,
            convex_constraints=bool(convex[1:].all()),
            convex=bool(convex.all()),
            weak_convexity=float(max(0.0, -lowest.min())),
            smoothness=float(largest.max()),
            lipschitz=float(slopes.max()) if bounded else None,
        )
