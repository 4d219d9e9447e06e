"""Rounding errors: what a residual hides where huge terms cancel.

The gradient of the Lagrangian is a sum of terms ``lam_i grad f_i``, each known to a relative error u only.
So the sum is known to ``u sum_i |lam_i grad f_i|``, however small it came out. The value of a
constraint is known to u times what it was computed from, ``|f_i| + <|grad f_i|, |x|>``: its own size, and
that of its linear part.

What a function cancels inside, it does not tell. Where numbers are huge, the gradient is computed once more
at some points next to it, one rounding error away: they differ by about what rounding has done to each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from equipoise._array import norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._residuals import Residuals

# The relative error of one operation in double precision; a problem may know a larger one.
UNIT = float(np.finfo(np.float64).eps)

# Gradients are not looked at where errors could only matter if these were longer than this, and their
# bound is unknown; chosen. Sums of longer terms that cancel come out as 0, or as large as their error.
LONG = 1e6

# An error that is at most this share of the residual is not looked for; chosen.
NEGLIGIBLE = 0.1

# Up to this many multipliers, the gradient of each is formed; chosen.
FEW = 8

# Of more multipliers, this many sums with random weights stand for all. Each is too small by a factor of
# ten with probability 0.08, were all gradients parallel; chosen.
PROBES = 3

# Functions are looked at next to a point where a coordinate or a value is this large: rounding errors of such
# numbers are 1e-8 or more. Chosen.
HUGE = 1e8

# So many points one rounding error away are looked at there: at one of them, gradients may agree by accident,
# as they did at one in nine on a problem whose gradient was rounding alone. Chosen.
NEIGHBOURS = 8


@dataclass(frozen=True)
class TermSizes:
    """How large the terms are whose sum is the gradient of the Lagrangian.

    Attributes
    ----------
    length : float
        ``|grad f_0| + sum_i |lam_i grad f_i|``.
    linear : float
        ``sum_i <|lam_i grad f_i|, |x|>``: how large the linear parts of the constraints are.
    """

    length: float
    linear: float

    @classmethod
    def of(cls, x: np.ndarray, objective: np.ndarray, rows: Iterable[np.ndarray]) -> TermSizes:
        """Measure the gradient of the objective, and the rows ``lam_i grad f_i``."""
        size = np.abs(x)
        length, linear = norm(objective), 0.0
        for row in rows:
            length += norm(row)
            linear += float(np.abs(row) @ size)
        return cls(length, linear)

    @classmethod
    def at(cls, point: Point, multipliers: np.ndarray) -> TermSizes:
        """Measure the terms at an evaluated point: exactly where they are few, else by random sums."""
        x, objective = to_numpy(point.x), to_numpy(point.gradient(0))
        used = np.flatnonzero(multipliers)
        if used.size <= FEW:
            gradients = to_numpy(point.gradients(1 + used))
            rows = multipliers[used, None] * gradients
            return cls.of(x, objective, rows)
        weights = np.random.default_rng(0).standard_normal((PROBES, used.size))
        found = []
        for row in weights:
            pulled = np.zeros(point.values.size)
            pulled[1 + used] = row * multipliers[used]
            found.append(cls.of(x, 0.0 * objective, [to_numpy(point.vjp(pulled))]))
        most = np.sqrt(
            used.size
        )  # a sum of k numbers is at most sqrt(k) times their Euclidean norm
        return cls(
            norm(objective) + most * max(terms.length for terms in found),
            most * max(terms.linear for terms in found),
        )


def with_rounding(
    problem: Problem,
    point: Point,
    multipliers: np.ndarray,
    residuals: Residuals,
    terms: TermSizes | None,
) -> Residuals:
    """Add the rounding errors to stationarity and complementarity.

    Without `terms` they are measured, unless the errors cannot matter: that takes backward passes.
    """
    unit = max(UNIT, problem.facts.rounding)
    residuals = replace(
        residuals, stationarity=residuals.stationarity + _noise(problem, point, multipliers)
    )
    if terms is None:
        known = problem.facts.lipschitz
        most = known if known is not None else LONG
        weight = (1.0 + float(multipliers.sum())) * max(1.0, norm(point.x))
        if unit * most * weight <= NEGLIGIBLE * residuals.largest:
            return residuals
        terms = TermSizes.at(point, multipliers)
    values = float((multipliers * np.abs(point.constraints)).sum())
    return replace(
        residuals,
        stationarity=residuals.stationarity + unit * terms.length,
        complementarity=residuals.complementarity + unit * (values + terms.linear),
    )


def _noise(problem: Problem, point: Point, multipliers: np.ndarray) -> float:
    """Return by how much the gradient of the Lagrangian differs one rounding error from a point, at most.

    0 where numbers are of ordinary size, or one of several subgradients may be meant.
    """
    x = point.x
    ordinary = max(norm(x), float(np.abs(point.values).max())) < HUGE
    if ordinary or problem.facts.smooth is False or not isinstance(x, np.ndarray):
        return 0.0
    here, rng, largest = (
        to_numpy(point.lagrangian_gradient(multipliers)),
        np.random.default_rng(0),
        0.0,
    )
    for _ in range(NEIGHBOURS):
        signs = rng.choice([-1.0, 1.0], x.size)
        beside = problem.domain.project(x * (1.0 + UNIT * signs))
        there = to_numpy(problem.at(beside).lagrangian_gradient(multipliers))
        difference = norm(there - here)
        largest = max(largest, difference) if np.isfinite(difference) else np.inf
    return largest
