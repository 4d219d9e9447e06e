"""A sparse problem too wide for SLSQP, beside scikit-learn's plain LogisticRegression."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.generated import size, sparse_rows
from benchmarks.page import Page, best_times, figure, yes
from benchmarks.peers.race import BOUND, forget, learning_problem
from equipoise import certify, demographic_parity, solve
from equipoise.solvers import choose

GOAL = 2.0  # times LogisticRegression's time


def run(page: Page, quick: bool) -> None:
    n, d = (5_000, 1_000) if quick else (20_000, 5_000)
    X, y, groups = sparse_rows(n, d)
    problem = learning_problem(X, y, groups, demographic_parity(BOUND))
    page.say(
        f"\n## Sparse: {n} x {d}, 20 entries a row ({size(X) / 1e6:.0f} MB)\n\n"
        f"The same loss, penalty and tolerance. LogisticRegression (lbfgs) has no constraint and "
        f"bounds the largest entry of the gradient; Equipoise keeps the soft parity gap below "
        f"{BOUND} and bounds the length of the Lagrangian's gradient, which is at least as much, the "
        f"violation and the complementarity. SLSQP is left out: it keeps a dense {d} x {d} matrix "
        f"({8e-6 * d * d:.0f} MB) and needs about d^3 operations a step. *first order*: without a look at "
        f"the curvature, for which a run as short as these has no products to spare."
    )
    page.table(
        "tolerance", "LR s", "LR steps", "LR largest grad", "LR soft gap", "Equipoise s", "products",
        "residual", "largest grad", "soft gap", "holds", "x LR", "first order, x LR",
    )  # fmt: skip
    for tol in (1e-4, 1e-5, 1e-6):
        (plain, ours, first_order), (model, result, _) = best_times(
            (
                lambda tol=tol: _plain(X, y, tol),
                lambda tol=tol: _constrained(problem, tol),
                lambda tol=tol: _constrained(problem, tol, second_order=False),
            ),
            2 if quick else 5,
        )
        x = np.append(model.coef_[0], model.intercept_[0])
        point, end = problem.at(x), problem.at(result.x)
        multipliers = np.concatenate(([1.0], certify(problem, result.x).multipliers))
        page.row(
            f"{tol:g}", figure(plain), int(model.n_iter_[0]), f"{np.abs(point.gradient(0)).max():.1e}",
            f"{BOUND + point.constraints.max():.3f}", figure(ours), result.nhev,
            f"{result.certificate.residual:.1e}", f"{np.abs(end.vjp(multipliers)).max():.1e}",
            f"{BOUND + end.constraints.max():.4f}", yes(end.violation <= tol), figure(ours / plain),
            figure(first_order / plain),
        )  # fmt: skip
        page.goal(
            f"sparse {n} x {d}, tolerance {tol:g}: time, x LogisticRegression", ours / plain, GOAL
        )


def _plain(X, y, tol):
    return LogisticRegression(tol=tol, max_iter=10_000).fit(X, y)


def _constrained(problem, tol, second_order=True):
    forget(problem)
    start, solver = np.zeros(problem.dim), choose(problem, tol)
    return solve(problem, solver, start, max_steps=1000, tol=tol, second_order=second_order)
