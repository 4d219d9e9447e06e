"""Small learning problems with hinge losses, and their solutions by another route."""

import numpy as np
from scipy.optimize import minimize

from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import Combination, Hinge, Rates, Sigmoid, Terms

L2 = 0.02


def hinge_problem(seed=0, n=60, d=3, bound=0.3, loss=None, dtype=float, **options):
    """The hinge loss under a cap on the smooth rate of positives among the first third of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sign = np.where(X @ np.ones(d) + rng.normal(size=n) > -0.5, 1, -1)
    some = (np.arange(n) < n // 3) / (n // 3)
    rates = [
        Rates(loss or Hinge(), np.full((n, 1), 1 / n), sign),
        Rates(Sigmoid(), some[:, None]),
    ]
    terms = Terms(rates, Combination(np.eye(2), [0.0, -bound], names=["positives"]))
    return LearningProblem.of(LinearModel(X.astype(dtype)), terms, l2=L2, **options)


def signs(problem):
    """1 and -1 for the two classes."""
    return problem.rows.sums.parts[0].sign


def epigraph(problem):
    """min mean t + l2/2 |w|^2  s.t.  t >= 0, t >= 1 - z, rate <= bound, by SLSQP: no kinks left."""
    n, d = problem.rows.n_rows, problem.dim
    rows = problem.rows.model.jacobian() * signs(problem)[:, None]
    penalised = problem.rows.penalised
    linear = np.hstack((rows, np.eye(n)))

    def rate(v):
        point = problem.at(v[:d])
        return -point.values[1:], np.hstack((-point.gradient(1)[None], np.zeros((1, n))))

    answer = minimize(
        lambda v: v[d:].mean() + 0.5 * problem.l2 * (penalised * v[:d] ** 2).sum(),
        np.concatenate((np.zeros(d), np.ones(n))),
        jac=lambda v: np.concatenate((problem.l2 * penalised * v[:d], np.full(n, 1 / n))),
        method="SLSQP",
        bounds=[(None, None)] * d + [(0.0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda v: linear @ v - 1, "jac": lambda v: linear},
            {"type": "ineq", "fun": lambda v: rate(v)[0], "jac": lambda v: rate(v)[1]},
        ],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert answer.success, answer.message
    return answer.x[:d], answer.fun
