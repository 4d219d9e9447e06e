"""What AUC fits are compared with: SLSQP on sigmoids of pairs, and a quadratic surrogate solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from equipoise import auc, auc_parity, solve
from equipoise.constraints import bind
from equipoise.metrics import auc_gap
from equipoise.models import LinearModel
from equipoise.problems import AUCFairness
from equipoise.sets import L2Ball
from equipoise.terms import Scores

SHARPNESS = 4.0  # of the trial's sigmoids, where scores have standard deviation 1. Chosen.
PENALTY = 1e-4  # on its weights. Chosen.
TIGHTER, ROUNDS = 1.2, 4  # the trial's bound is lowered by so many times the excess, so often
RADIUS = 10.0  # of the ball in which the quadratic surrogate is solved, for standardised features


@dataclass(frozen=True)
class Rows:
    """Standardised features, labels and groups of some rows."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    @staticmethod
    def drawn(data: Any, most: int | None, seed: int = 0) -> Rows:
        """Return so many rows of a data set drawn at random, or all; constant columns are left out."""
        index = np.random.default_rng(seed).permutation(len(data.y))[:most]
        X = data.X[index]
        X = X.toarray() if hasattr(X, "toarray") else X
        X = X[:, X.std(0) > 0]
        return Rows((X - X.mean(0)) / X.std(0), data.y[index], np.asarray(data.groups)[index])

    def measured(self, scores: np.ndarray, kind: str) -> tuple[float, float]:
        """Return the AUC, and the gap, by ranks."""
        gap = auc_gap(self.y, scores, sensitive_features=self.groups, kind=kind)
        return float(roc_auc_score(self.y, scores)), gap


def crude(rows: Rows, kind: str, bound: float) -> tuple[float, float]:
    """Return AUC and gap of SLSQP on sigmoids of pairs, with a lower bound until the true gap holds."""
    start = LogisticRegression(max_iter=500).fit(rows.X, rows.y).coef_[0]
    start = start / (rows.X @ start).std()
    asked = bound
    for _ in range(ROUNDS):
        w = _trial(rows, kind, asked, start)
        found = rows.measured(rows.X @ w, kind)
        if found[1] <= bound:
            break
        asked = max(0.0, asked - TIGHTER * (found[1] - bound))
    return found


def _trial(rows: Rows, kind: str, bound: float, start: np.ndarray) -> np.ndarray:
    binding = bind(auc_parity(kind, bound), rows.y, rows.groups, objective=1.0 - auc())
    sums, combination = binding.terms.sums.sharpened(SHARPNESS), binding.combination
    latest: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def at(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = w.tobytes()
        if key not in latest:
            latest.clear()
            point = sums.at(Scores(rows.X @ w))
            values = combination.at(point.values)
            units = np.eye(values.values.size)
            latest[key] = (
                values.values,
                np.array([rows.X.T @ point.slope(values.pull(u)) for u in units]),
            )
        return latest[key]

    constraint = {"type": "ineq", "fun": lambda w: -at(w)[0][1:], "jac": lambda w: -at(w)[1][1:]}
    return minimize(
        lambda w: (at(w)[0][0] + PENALTY * (w @ w) / 2, at(w)[1][0] + PENALTY * w),
        start,
        jac=True,
        method="SLSQP",
        constraints=[constraint],
        options={"maxiter": 200},
    ).x


def surrogate(rows: Rows, kind: str, kappa: float) -> tuple[float, float]:
    """Return AUC and gap of the quadratic surrogate of Yao, Lin & Yang (2023), solved to the end."""
    model = LinearModel(rows.X, intercept=False)
    problem = AUCFairness(model, rows.y, rows.groups, kind=kind, kappa=kappa, domain=L2Ball(RADIUS))
    found = solve(problem.exact, "auto", np.zeros(model.dim), max_steps=500, tol=1e-6)
    return rows.measured(rows.X @ found.x, kind)
