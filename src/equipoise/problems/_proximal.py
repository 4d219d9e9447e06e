"""The proximal subproblem: objective and constraints regularised around a centre."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot, like
from equipoise._problem import Facts, Point, Problem, Saddle


class ProximalProblem(Problem):
    r"""``F_i(y) = f_i(y) + rho_hat/2 |y - center|^2`` for the objective and every constraint.

    With ``rho_hat`` above the weak-convexity constant of the functions, every ``F_i`` is strongly
    convex, and so is the problem (Ma, Lin & Yang 2019, equation 5).

    Parameters
    ----------
    base : Problem
    center : array of shape (d,)
    rho_hat : float
        The prox parameter; 0 gives back the base problem.
    constraints : bool
        Regularise the constraints too (the papers' choice). False leaves them as they are.
    """

    def __init__(
        self, base: Problem, center: Array, rho_hat: float, *, constraints: bool = True
    ) -> None:
        owner = "ProximalProblem"
        self.base = _check.kind(owner, "base", base, Problem)
        self.center = _check.point(owner, "center", center, base.dim)
        self.rho_hat = _check.non_negative(owner, "rho_hat", rho_hat)
        self.dim, self.n_constraints = base.dim, base.n_constraints
        self.domain, self.names = base.domain, base.names
        self._regularised = np.ones(base.n_constraints + 1)
        if not _check.flag(owner, "constraints", constraints):
            self._regularised[1:] = 0.0

    @cached_property
    def facts(self) -> Facts:  # type: ignore[override]
        """What is known of the regularised functions."""
        known, both = self.base.facts, bool(self._regularised.all())
        rho, L, M = known.weak_convexity, known.smoothness, known.lipschitz
        convex = True if rho is not None and rho <= self.rho_hat and both else known.convex
        return replace(
            known,
            convex=convex,
            convex_constraints=convex if both else known.convex_constraints,
            weak_convexity=None if rho is None else max(0.0, rho - self.rho_hat * both),
            smoothness=None if L is None else L + self.rho_hat,
            lipschitz=None if M is None else M + self.rho_hat * self.domain.diameter,
        )

    def at(self, x: Array) -> Point:
        """Evaluate every regularised function at `x`."""
        point = self.base.at(x)
        shift = point.x - self.center
        values = point.values + self._regularised * (0.5 * self.rho_hat * dot(shift, shift))
        base_vjp, base_hvp = point.vjp, point.hvp
        base_jacobian, base_push = point.jacobian, point.push

        def vjp(weights: np.ndarray) -> Array:
            return base_vjp(weights) + (self.rho_hat * float(weights @ self._regularised)) * shift

        def hvp(weights: np.ndarray, v: Array) -> Array:
            assert base_hvp is not None
            return base_hvp(weights, v) + (self.rho_hat * float(weights @ self._regularised)) * v

        def jacobian(indices: np.ndarray) -> Array:
            assert base_jacobian is not None
            shares = like(self.rho_hat * self._regularised[indices], shift)
            return base_jacobian(indices) + shares[:, None] * shift

        def push(v: Array) -> np.ndarray:
            assert base_push is not None
            return base_push(v) + self._regularised * (self.rho_hat * dot(shift, v))

        return Point(
            x,
            values,
            vjp,
            hvp=None if base_hvp is None else hvp,
            jacobian=None if base_jacobian is None else jacobian,
            push=None if base_push is None else push,
        )

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return the same regularisation of a mini-batch."""
        batch = self.base.sample(rng)
        if batch is self.base:
            return self
        part = copy(self)
        part.base = batch
        vars(part).pop("facts", None)
        return part

    def saddle(self) -> Saddle | None:
        """Return the min-max form with the regularisation; None where not all functions have it."""
        form = self.base.saddle()
        if form is None or form.rho_hat > 0.0 or not self._regularised.all():
            return None
        return replace(form, rho_hat=self.rho_hat, center=self.center)
