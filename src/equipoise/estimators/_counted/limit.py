"""Bounds on the objective itself, such as a cap on the AUC that is maximised: no model can pass them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equipoise.estimators._counted.candidate import Candidate
from equipoise.estimators._counted.search import LITTLE_GAIN, NEGLIGIBLE_GAIN, Search
from equipoise.run import Verdict

# Coefficients of a bound and of the objective that differ by less, relative to the largest, are the same up
# to their factor. Chosen, well above rounding.
SAME = 1e-9

AT_LIMIT = (
    "Converged: {name!r} limits the objective itself, and the model returned is within {left:.1g} of that "
    "limit, as counted. All bounds hold; no model that keeps them is better by more. The certificate says "
    "how near the model is to the least penalty beside that."
)


def at_limit(search: Search, fit: Candidate) -> Candidate | None:
    """Return a model, judged, that uses up a bound on the objective itself; None where there is none.

    With ``f_i = c - a f_0``, keeping ``f_i <= 0`` means ``f_0 >= c / a``, which the model misses by
    ``-f_i / a``. Only where the objective is counted too: nothing has a threshold.
    """
    problem = search.problem
    if problem.rows.uses_threshold or not (fit.certified and fit.counted.size):
        return None
    factors = _factors(search)
    left = np.where(factors > 0, -fit.counted, np.inf) / np.where(factors > 0, factors, 1.0)
    i = int(np.argmin(left))
    used_up = fit.counted[i] >= -1.5 * search.spare[i]
    if left[i] > (LITTLE_GAIN if used_up else NEGLIGIBLE_GAIN) * abs(fit.objective):
        return None
    claim = AT_LIMIT.format(name=problem.names[i], left=max(0.0, float(left[i])))
    verdict = Verdict(fit.result.status, near=fit.result.near, claim=claim)
    return replace(fit, result=fit.result.judged(verdict))


def _factors(search: Search) -> np.ndarray:
    """Return for each bound the factor `a` by which it is minus the objective; 0 where it is not."""
    combination = search.problem.combination
    bent = {place for place, _ in combination.bent}
    objective = combination.coefficients[[0]].toarray()[0]
    square = float(objective @ objective)
    if 0 in bent or square == 0.0:
        return np.zeros(combination.n_constraints)
    others = combination.coefficients[1:]
    factors = -(others @ objective) / square
    left = abs(others + np.outer(factors, objective)).max(axis=1)
    same = np.asarray(left).ravel() <= SAME * np.abs(factors) * np.abs(objective).max()
    straight = np.array([i + 1 not in bent for i in range(factors.size)], dtype=bool)
    return np.where(same & straight, factors, 0.0)
