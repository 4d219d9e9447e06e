"""Choosing among candidates: the best one, or the best mixture (Cotter, Jiang & Sridharan 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from equipoise import _check


def best_candidate(objectives: Any, violations: Any, *, rank_objectives: bool = False) -> int:
    """Return the index of the best candidate.

    The constraints of each candidate are collapsed to their largest value, ``max(0, .)`` of it is
    ranked, the least rank wins, and ties go to the lower objective (then to the earlier candidate).

    Parameters
    ----------
    objectives : array of shape (n,)
    violations : array of shape (n,) or (n, m)
        Constraint values; all that is <= 0 counts as feasible.
    rank_objectives : bool
        Rank the objectives too, and let the worse of both ranks count.

    Returns
    -------
    int
    """
    f, g = _table("best_candidate", "violations", objectives, violations)
    worst = np.maximum(g.max(axis=1, initial=-np.inf), 0.0)
    ranks = _ranks(worst)
    if rank_objectives:
        ranks = np.maximum(ranks, _ranks(f))
    return int(np.lexsort((f, ranks))[0])


def shrink(objectives: Any, constraints: Any) -> np.ndarray:
    """Return the mixture of candidates with the least mean objective among the feasible ones.

    Minimises ``sum_j p_j f_0(x_j)`` subject to ``sum_j p_j f_i(x_j) <= 0`` over the simplex; where no
    mixture is feasible, the largest mean constraint is made as small as possible first. The answer
    is a vertex, so at most ``m + 1`` of its entries are not zero.

    Parameters
    ----------
    objectives : array of shape (n,)
    constraints : array of shape (n, m)

    Returns
    -------
    ndarray of shape (n,)
        The probabilities.
    """
    f, g = _table("shrink", "constraints", objectives, constraints)
    n, m = g.shape
    if m == 0:
        return np.eye(n)[int(f.argmin())]
    # Over (p, s): first find the least s >= 0 with sum_j p_j f_i(x_j) <= s, then the least objective.
    ones = np.append(np.ones(n), 0.0)[None]
    rows = np.hstack((g.T, -np.ones((m, 1))))
    only_slack = np.append(np.zeros(n), 1.0)
    least = linprog(only_slack, rows, np.zeros(m), ones, [1.0], method="highs-ds")
    slack = float(least.x[-1]) if least.x[-1] > 1e-12 * max(1.0, np.abs(g).max()) else 0.0
    mixture = linprog(f, g.T, np.full(m, slack), np.ones((1, n)), [1.0], method="highs-ds")
    p = np.maximum(mixture.x if mixture.x is not None else least.x[:-1], 0.0)
    return p / p.sum()


def _table(owner: str, parameter: str, objectives: Any, constraints: Any) -> tuple[Any, Any]:
    """Return both as float arrays of shapes (n,) and (n, m)."""
    f = _check.vector(owner, "objectives", objectives)
    if f.size == 0:
        _check.fail(owner, "objectives", "must hold at least one candidate", f.size)
    g = np.asarray(constraints, dtype=np.float64)
    if g.ndim == 1:
        g = g[:, None]
    if g.ndim != 2 or g.shape[0] != f.size:
        _check.fail(owner, parameter, f"must have {f.size} rows", g.shape)
    _check.finite(owner, parameter, g)
    return f, g


def _ranks(values: np.ndarray) -> np.ndarray:
    """Rank from 0; equal values share the lowest rank."""
    return np.searchsorted(np.sort(values), values)
