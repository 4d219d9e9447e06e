"""SciPy's solvers on a Problem, with evaluations shared between objective and constraints."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers.watch import OutOfTimeError


class Shared:
    """The latest point: objective, constraints and their gradients come from one evaluation."""

    def __init__(self, problem) -> None:
        self.problem, self.key, self.evaluations, self.gradients = problem, None, 0, 0

    def at(self, x):
        key = x.tobytes()
        if key != self.key:
            self.key, self.point, self.rows = key, self.problem.at(x.copy()), {}
            self.evaluations += 1
        return self.point

    def gradient(self, x, i):
        point = self.at(x)
        if i not in self.rows:
            self.rows[i] = point.gradient(i)
            self.gradients += 1
        return self.rows[i]

    def jacobian(self, x):
        return np.array([self.gradient(x, i + 1) for i in range(self.problem.n_constraints)])

    def product(self, x, weights, v):
        return self.at(x).hvp(weights, np.ravel(v))

    def work(self, result):
        return f"{result.nit} steps, {self.evaluations} values, {self.gradients} gradients"


def slsqp(problem, watch):
    shared = Shared(problem)
    result = minimize(
        lambda x: shared.at(x).objective,
        np.zeros(problem.dim),
        jac=lambda x: shared.gradient(x, 0),
        method="SLSQP",
        constraints={
            "type": "ineq",
            "fun": lambda x: -shared.at(x).constraints,
            "jac": lambda x: -shared.jacobian(x),
        },
        callback=watch.see,
        options={"maxiter": 500, "ftol": 1e-10},
    )
    watch.see(result.x)
    return shared.work(result)


def trust_constr(problem, watch, seconds):
    """With exact Hessian products, its strongest setting for a problem of this kind."""
    shared, d = Shared(problem), problem.dim
    one = np.eye(1, problem.n_constraints + 1)[0]

    def curvature(x, multipliers):
        weights, x = np.concatenate(([0.0], multipliers)), x.copy()
        return LinearOperator((d, d), lambda v: shared.product(x, weights, v))

    constraint = NonlinearConstraint(
        lambda x: shared.at(x).constraints.copy(), -np.inf, 0.0, jac=shared.jacobian, hess=curvature
    )
    result = None
    with warnings.catch_warnings(), contextlib.suppress(OutOfTimeError):
        warnings.simplefilter("ignore")
        result = minimize(
            lambda x: shared.at(x).objective,
            np.zeros(d),
            jac=lambda x: shared.gradient(x, 0),
            hessp=lambda x, v: shared.product(x, one, v),
            method="trust-constr",
            constraints=constraint,
            callback=lambda x, _: watch.see(x, seconds),
            options={"maxiter": 1000, "gtol": 1e-7, "xtol": 1e-9},
        )
    if result is None:
        return f"stopped after {seconds:g} s, {shared.evaluations} values"
    watch.see(result.x)
    return shared.work(result)
