"""Constraints on both sides: ``|c_i(x)| <= bound_i`` as one function each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot
from equipoise._problem import Point, Problem


class AbsoluteProblem(Problem):
    r"""``min f_0(x)  s.t.  |c_i(x)| - bound_i <= 0``, with ``c_i`` the constraints of another problem.

    Where every ``c_i`` is L-smooth, ``|c_i|`` is L-weakly convex, and methods that know `bound` can
    linearise inside the absolute value (`equipoise.solvers.ProxLinearStep`). At a kink
    the gradient of ``c_i`` itself is used.

    Parameters
    ----------
    base : Problem
        Its objective stays; its constraint functions are the ``c_i``.
    bound : float or array-like of shape (m,)
        Non-negative.
    """

    def __init__(self, base: Problem, bound: Any) -> None:
        owner = "AbsoluteProblem"
        self.base = _check.kind(owner, "base", base, Problem)
        if _check.is_number(bound):
            bound = np.full(base.n_constraints, _check.real(owner, "bound", bound))
        self.bound = _check.vector(owner, "bound", bound, base.n_constraints).copy()
        if (self.bound < 0).any():
            _check.fail(owner, "bound", "must be non-negative", float(self.bound.min()))
        self.dim, self.domain, self.n_constraints = base.dim, base.domain, base.n_constraints
        self.names = tuple(f"|{name}|" for name in base.names)
        known = base.facts
        affine = known.smoothness == 0.0
        self.facts = replace(
            known,
            smooth=False,
            convex_constraints=True if affine else None,
            convex=True if affine else None,
            weak_convexity=known.smoothness,
            smoothness=None,
        )

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        point = self.base.at(x)
        inner = point.constraints
        values = np.concatenate((point.values[:1], np.abs(inner) - self.bound))
        sign = np.concatenate(([1.0], np.where(inner < 0, -1.0, 1.0)))
        return Point(point.x, values, lambda weights: point.vjp(sign * weights))

    def smoothed(self, width: float) -> Problem | None:
        """Return the problem with the kinks at ``c_i = 0`` rounded; bounds above `width` stay exact."""
        base = self.base.smoothed(width)
        return None if base is None else _Rounded(self, base, width)

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return the same constraints on a mini-batch."""
        batch = self.base.sample(rng)
        return self if batch is self.base else AbsoluteProblem(batch, self.bound)


class _Rounded(Problem):
    """``(c^2 / w + w) / 2`` in place of ``|c|`` for ``|c| <= w``: convex in c, and never less.

    With w at most half the bound, the constraints are met by the same points, and the problem has the
    same KKT points.
    """

    def __init__(self, problem: AbsoluteProblem, base: Problem, width: float) -> None:
        bound = problem.bound
        assert bound is not None
        self.base, self.bound = base, bound
        self.width = np.where(bound > 0, np.minimum(width, bound / 2), width)
        self.dim, self.domain, self.n_constraints = base.dim, base.domain, base.n_constraints
        self.names = problem.names
        self.facts = replace(problem.facts, smooth=True)

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        point, w = self.base.at(x), self.width
        c = point.constraints
        inside = np.abs(c) < w
        values = np.where(inside, (c * c / w + w) / 2, np.abs(c)) - self.bound
        slopes = np.concatenate(([1.0], np.clip(c / w, -1.0, 1.0)))
        base_hvp = point.hvp

        def vjp(weights: np.ndarray) -> Array:
            return point.vjp(slopes * weights)

        def hvp(weights: np.ndarray, v: Array) -> Array:
            assert base_hvp is not None
            product = base_hvp(slopes * weights, v)
            for i in np.flatnonzero(inside):
                g = point.gradient(int(i) + 1)
                product = product + (float(weights[i + 1]) / float(w[i]) * dot(g, v)) * g
            return product

        values = np.concatenate((point.values[:1], values))
        return Point(x, values, vjp, None if base_hvp is None else hvp)
