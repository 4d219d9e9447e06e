"""Which predictions to turn over so that all bounds hold by counting: an integer program."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from equipoise.estimators._counted.candidate import COUNTED, Candidate
from equipoise.estimators._counted.programs import interruptible
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.rows import MemorySums

# Only the predictions of the rows with the smallest scores may be turned over: of this many, or of a quarter
# of all rows where that is more. Chosen.
NEAREST_ROWS = 300

# Where only the predictions of few rows are to be chosen, the other rows that count alike are turned over
# in this many parts. Chosen.
BINS = 50

# Nodes of the integer program that chooses the predictions to turn over, at the most. Chosen.
MAX_NODES = 200

# Rows whose scores differ by less, relative to the largest score, are turned over together: their
# features are the same, but for rounding errors.
SAME_SCORE = 1e-10


def cheapest_turned(
    problem: LearningProblem,
    rows: MemorySums,
    scores: np.ndarray,
    fit: Candidate,
    runner: Runner,
    spare: np.ndarray | float = 0.0,
    few: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return the nearest predictions that meet the bounds: a small integer program.

    Rows that count alike form a cell. Only the number turned over in each cell is an integer; the
    cheapest rows of a cell are turned first by themselves. `spare` is what is to be left of each bound. Where
    only the predictions of `few` rows are meant, a boolean array (n,), others may be turned in part.
    """
    positive, counted = scores > 0, fit.allowed <= COUNTED
    nearest = np.argsort(np.abs(scores), kind="stable")[: max(NEAREST_ROWS, scores.size // 4)]
    near, sums_turned = scores[nearest], rows.sums.turned(positive)
    if few is None:
        rounded = np.round(near / (SAME_SCORE * max(float(np.abs(scores).max()), 1e-300)))
        _, alike = np.unique(rounded, return_inverse=True)  # the same features: turned together
    else:
        alike = _in_bins(sums_turned[:, nearest], near, few[nearest])
    n = int(alike.max()) + 1
    sums = _indicator(alike, n)
    changes = problem.combination.coefficients[1:] @ sums_turned
    effects = changes[counted][:, nearest] @ sums.T
    effects, room = _scaled(effects.toarray(), -(fit.counted + spare)[counted])
    cells, cell = _distinct(effects.round(12))
    k, cost = cells.shape[1], sums @ np.abs(near)
    cost = cost / max(float(cost.mean()), 1e-300)  # where all scores are 0, each row is as cheap
    whole = np.ones(k, dtype=int)
    if few is not None:
        whole[:] = 0
        whole[cell[alike[few[nearest]]]] = 1
    options = {"node_limit": MAX_NODES, "mip_rel_gap": 1e-3}
    options["presolve"] = False  # with presolve, HiGHS may print
    if np.isfinite(runner.budget.remaining):
        options["time_limit"] = max(runner.budget.remaining, 1e-3)
    answer = interruptible(
        milp,
        np.concatenate((cost + 1e-3, np.zeros(k))),
        integrality=np.concatenate((np.zeros(n, dtype=int), whole)),
        bounds=Bounds(0.0, np.concatenate((np.ones(n), np.full(k, np.inf)))),
        constraints=[
            LinearConstraint(sparse.hstack((_indicator(cell, k), -sparse.eye_array(k))), 0.0, 0.0),
            LinearConstraint(np.hstack((np.zeros((len(room), n)), cells)), ub=room),
        ],
        options=options,
    )
    if answer.x is None:
        return None
    positive[nearest] ^= (answer.x[:n] > 0.5)[alike]
    return positive


def _in_bins(changes: sparse.csr_array, scores: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Return numbers of rows (n,): the `few` apart, others in bins.

    A bin holds rows that count alike and have similar scores.
    """
    factors = np.random.default_rng(0).random(changes.shape[0])  # tell apart what rows add
    _, cell = np.unique((factors @ changes).round(12), return_inverse=True)
    order = np.lexsort((np.abs(scores), cell))
    sizes = np.bincount(cell)
    rank = np.empty(scores.size, dtype=int)
    rank[order] = np.arange(scores.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    together = np.where(few, 1, -(-sizes // BINS)[cell])
    return np.unique(cell * scores.size + rank // together, return_inverse=True)[1]


def _distinct(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct columns in order, and which of them each one is.

    Columns are first told apart by one number each: to sort long ones takes a thousand times as long.
    """
    factors = np.random.default_rng(0).random(columns.shape[0])
    _, first, same = np.unique(
        (factors @ columns).round(12), return_index=True, return_inverse=True
    )
    cells, cell = np.unique(columns[:, first], axis=1, return_inverse=True)
    return cells, cell.ravel()[same]


def _indicator(places: np.ndarray, count: int) -> sparse.csr_array:
    """Return the matrix (count, n) that sums what has the same place."""
    n = places.size
    return sparse.csr_array((np.ones(n), (places, np.arange(n))), shape=(count, n))


def _scaled(effects: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return effects of size 1: the tolerances of an integer program are absolute."""
    scale = np.maximum(np.abs(effects).max(axis=1, initial=0.0), 1e-12)
    return effects / scale[:, None], room / scale
