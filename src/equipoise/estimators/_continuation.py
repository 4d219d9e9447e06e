"""From one bound to the next: what carries over along a trade-off."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators._counted import Candidate

# A constraint with a multiplier above this counts as active. Chosen.
ACTIVE_MULTIPLIER = 1e-9


def rebound(binding: Binding, old: Any, new: Any) -> Binding | None:
    """Return the binding of the same constraint with another bound, if that is all that differs.

    None where it is not one constraint, or its bound or minus its bound is not simply the right-hand side
    of every inequality.
    """
    before, after = getattr(old, "bound", None), getattr(new, "bound", None)
    if not before or after is None or replace(old, bound=after) != new:
        return None  # nor where the bound is 0, whose sign says nothing
    rows = binding.inequalities
    if any(abs(row.bound) != before or row.denominator is not None for row in rows):
        return None
    signs = [row.factor if row.sense == "<=" else -row.factor for row in rows]
    bounds = [math.copysign(after, row.bound) for row in rows]
    moves = [sign * (row.bound - new) for sign, row, new in zip(signs, rows, bounds)]
    moved = binding.combination.moved(np.r_[0.0, moves])
    inequalities = tuple(replace(row, bound=new) for row, new in zip(rows, bounds))
    return replace(binding, inequalities=inequalities, combination=moved)


def ahead(fits: list[tuple[float, Candidate]], bound: float) -> Candidate | None:
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
    verdict = replace(last.result.verdict, near=None)
    return replace(last, result=last.result.judged(verdict, x=x, certificate=certificate))


def _similar(fit: Candidate, last: Candidate) -> bool:
    """Whether two fits lie on one smooth path: certified, with the same active constraints."""
    ours, theirs = fit.result.multipliers, last.result.multipliers
    alike = ours.shape == theirs.shape and np.array_equal(
        ours > ACTIVE_MULTIPLIER, theirs > ACTIVE_MULTIPLIER
    )
    return fit.certified and last.certified and alike
