"""From one bound to the next: what carries over along a trade-off."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators.counting import Kept
from equipoise.problems.learning import LearningProblem
from equipoise.terms.rates import RateTerms


def rebound(
    binding: Binding | None, problem: LearningProblem | None, old: Any, new: Any
) -> tuple[Binding, LearningProblem] | None:
    """Return binding and problem of the same constraint with another bound, if that is all that differs.

    None where it is not one constraint, or its bound is not simply the right-hand side of every row.
    """
    if binding is None or problem is None or not isinstance(binding.terms, RateTerms):
        return None
    before, after = getattr(old, "bound", None), getattr(new, "bound", None)
    if before is None or after is None or replace(old, bound=after) != new:
        return None
    if any(row.bound != before for row in binding.rows):
        return None
    terms = copy(binding.terms)
    signs = [row.factor if row.sense == "<=" else -row.factor for row in binding.rows]
    terms.offsets = terms.offsets.copy()
    terms.offsets[1:] += (before - after) * np.array(signs)
    rows = tuple(replace(row, bound=after) for row in binding.rows)
    moved = copy(problem)
    moved.terms = terms
    return replace(binding, rows=rows, terms=terms, rate_terms=terms), moved


def ahead(fits: list[tuple[float, Kept]], bound: float) -> Kept | None:
    """Return the last fit, moved on along the line through the last two: where to look next."""
    if not fits:
        return None
    last = fits[-1][1]
    alike = [(b, fit) for b, fit in fits if _similar(fit, last)]
    if len(alike) < 2:
        return last
    at = np.array([b for b, _ in alike])
    weights = [np.prod((bound - np.delete(at, i)) / np.delete(b - at, i)) for i, b in enumerate(at)]
    results = [fit.result for _, fit in alike]
    x = sum(w * result.x for w, result in zip(weights, results))
    lam = sum(w * result.multipliers for w, result in zip(weights, results))
    certificate = replace(last.result.certificate, x=x, multipliers=np.maximum(lam, 0.0))
    return replace(last, result=replace(last.result, x=x, certificate=certificate, near=None))


def _similar(fit: Kept, last: Kept) -> bool:
    """Whether two fits lie on one smooth path: certified, with the same active constraints."""
    ours, theirs = fit.result.multipliers, last.result.multipliers
    alike = ours.shape == theirs.shape and np.array_equal(ours > 1e-9, theirs > 1e-9)
    return fit.certified and last.certified and alike
