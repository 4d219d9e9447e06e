"""Proofs that no predictions at all keep the bounds: programs over the counts of rows that count alike.

Every counted rate is a sum over rows, and rows of the same group, label and reference prediction add the
same to all of them. Whatever a model is, all that the bounds see of it is the share of each such cell that
it predicts positive. So bounds that no shares meet are met by no model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from equipoise._status import Status
from equipoise.estimators._counted.candidate import COUNTED, is_large
from equipoise.problems import LearningProblem
from equipoise.run import Verdict
from equipoise.terms import Scores

MOST_CELLS = 5000  # with more, rows count too differently for a quick program
# The most rows of an integer program. Its tolerance is 1e-6 of a rate's largest step, and two rates of
# groups of n rows that differ at all differ by 1 / n^2 at the least: by 50 tolerances with this many.
MOST_ROWS = 20_000
MOST_NODES = 2000  # of an integer program
LEAST_VIOLATION = 1e-9  # violation that a proof must leave, above rounding errors
BOUNDS_SHOWN = 3  # bounds listed in a message


@dataclass(frozen=True)
class Cells:
    """Rows that count alike: what each cell adds to the constraint values if it is predicted positive.

    Attributes
    ----------
    effects : ndarray of shape (m, K)
        Of whole cells, for the bounds that are counted.
    base : ndarray of shape (m,)
        The constraint values where no row is predicted positive, above what is allowed.
    rows : ndarray of shape (K,)
    alike : bool
        Whether all rows of a cell have the same weight, so that counts of rows say everything.
    names : list of str
    """

    effects: np.ndarray
    base: np.ndarray
    rows: np.ndarray
    alike: bool
    names: list[str]

    @staticmethod
    def of(problem: LearningProblem, allowed: np.ndarray) -> Cells | None:
        """Return the cells of a problem; None where they are too many, or rows lie in several places."""
        bent = {place - 1 for place, _ in problem.combination.bent}
        counted = [i for i in np.flatnonzero(allowed <= COUNTED).tolist() if i not in bent]
        if not counted or is_large(problem) or not problem.rows.additive:
            return None
        sums = problem.rows.gathered().sums
        none = np.zeros(sums.n_rows, dtype=bool)
        used = problem.combination.coefficients[1:][counted]
        places = np.unique(used.indices)
        adds = sparse.csc_array(sums.turned(none)[places])  # (rates, rows)
        adds.sort_indices()
        cell, weight = _patterns(adds)
        count = int(cell.max(initial=-1)) + 1
        if not 0 < count <= MOST_CELLS:
            return None
        inside = sparse.csr_array((np.ones(cell.size), cell, np.arange(cell.size + 1)))
        base = problem.values_of(sums.thresholded(Scores(np.full(sums.n_rows, -1.0))))[1:]
        largest, least = np.zeros(count), np.full(count, np.inf)
        np.maximum.at(largest, cell, weight)
        np.minimum.at(least, cell, weight)
        return Cells(
            (used[:, places] @ (adds @ inside)).toarray(),
            (base - allowed)[counted],
            np.bincount(cell, minlength=count),
            bool((largest <= least * (1 + 1e-12)).all()),
            [problem.names[i] for i in counted],
        )


def proved_by_shares(cells: Cells) -> Verdict | None:
    """Return a proof by linear programming: a weighted sum of the bounds that no shares can meet."""
    m, count = cells.effects.shape
    answer = linprog(
        np.concatenate((np.zeros(count), np.ones(m))),  # the least total loosening
        np.hstack((cells.effects, -np.eye(m))),
        -cells.base,
        bounds=[(0.0, 1.0)] * count + [(0.0, None)] * m,
    )
    if answer.status != 0:
        return None
    weights = np.maximum(-answer.ineqlin.marginals, 0.0)
    # whatever the shares are, the weighted sum of the violations is at least this (Farkas)
    least = weights @ cells.base + np.minimum(weights @ cells.effects, 0.0).sum()
    if not least > LEAST_VIOLATION:
        return None
    blocking = _shares(cells, weights)
    loosened = answer.x[count:]
    way_out = ", ".join(
        f"{cells.names[i]!r} by {loosened[i]:.4g}"
        for i in np.argsort(-loosened, kind="stable")[:BOUNDS_SHOWN]
        if loosened[i] > LEAST_VIOLATION
    )
    claim = (
        "Infeasible, proved: no predictions at all keep these bounds, whatever the model. Weighted as in "
        f"`blocking`, they are exceeded by {least / weights.sum():.4g} at the least. The least that "
        f"loosens them enough: {way_out}."
    )
    return Verdict(Status.INFEASIBLE, claim=claim, blocking=blocking)


def proved_by_counts(cells: Cells, seconds: float) -> Verdict | None:
    """Return a proof by an integer program that was exhausted: no numbers of rows meet the bounds."""
    if not cells.alike or cells.rows.sum() > MOST_ROWS:
        return None
    each = cells.effects / cells.rows
    scale = np.maximum(np.abs(each).max(axis=1, initial=0.0), 1e-12)
    options: dict[str, float] = {"node_limit": MOST_NODES}
    options["presolve"] = False  # with presolve, HiGHS may print
    if np.isfinite(seconds):
        options["time_limit"] = max(seconds, 1e-3)
    answer = milp(
        np.zeros(cells.rows.size),
        integrality=np.ones(cells.rows.size),
        bounds=Bounds(0.0, cells.rows),
        constraints=LinearConstraint(each / scale[:, None], ub=-cells.base / scale),
        options=options,
    )
    if answer.status != 2:  # infeasible, and nothing left to try
        return None
    claim = (
        "Infeasible, proved: no predictions at all keep these bounds, whatever the model. Some shares of "
        "the rows would, but no whole numbers of them: an integer program over the counts was exhausted."
    )
    return Verdict(
        Status.INFEASIBLE, claim=claim, blocking=_shares(cells, np.ones(len(cells.names)))
    )


def _shares(cells: Cells, weights: np.ndarray) -> dict[str, float]:
    total = weights.sum()
    order = np.argsort(-weights, kind="stable")
    return {cells.names[i]: float(weights[i] / total) for i in order if weights[i] > 1e-9 * total}


def _patterns(adds: sparse.csc_array) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each pattern of what rows add, up to their weight; and the weights."""
    n, ends = adds.shape[1], adds.indptr
    first = np.zeros(n)
    some = np.diff(ends) > 0
    first[some] = np.abs(adds.data[ends[:-1][some]])
    ratios = adds.data / np.repeat(first, np.diff(ends))
    whole = np.round(ratios * 2.0**20).astype(np.int64).view(np.uint64)
    factors = np.random.default_rng(0).integers(1 << 63, size=adds.shape[0], dtype=np.uint64)
    entries = whole * (2 * factors + 1)[adds.indices]
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(entries)))  # modulo 2^64
    _, cell = np.unique(sums[ends[1:]] - sums[ends[:-1]], return_inverse=True)
    return cell.ravel(), first


def excluded_by_ranges(problem: LearningProblem, allowed: np.ndarray) -> bool:
    """Whether no values of the sums within their ranges keep all bounds that are linear in them."""
    combination, ranges = problem.combination, problem.rows.bounds()
    bent = [place - 1 for place, _ in combination.bent if place > 0]
    linear = np.setdiff1d(np.arange(problem.n_constraints), bent)
    C, c = combination.coefficients[1:].tocsr()[linear], combination.offsets[1:][linear]
    ends = np.column_stack((ranges.least, ranges.largest))
    if (
        C @ ends.mean(axis=1) + c <= allowed[linear]
    ).all():  # such as parity where all AUCs are 1/2
        return False
    found = linprog(  # the least possible largest violation
        np.eye(1, problem.rows.n_sums + 1, problem.rows.n_sums)[0],
        A_ub=sparse.hstack((C, -np.ones((linear.size, 1)))),
        b_ub=allowed[linear] - c,
        bounds=[*ends, (0.0, None)],
    )
    return found.status == 0 and found.fun > LEAST_VIOLATION
