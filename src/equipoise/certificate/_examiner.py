"""The examiner: how far a point is from satisfying the optimality conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, all_finite, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._curvature import MAX_PRODUCTS, curvature_at
from equipoise.certificate._curvature_bounds import Curvature
from equipoise.certificate._multipliers import finite_rows, fit_multipliers
from equipoise.certificate._residuals import Residuals
from equipoise.certificate._rounding import with_rounding
from equipoise.problems._answers import check_attributes, checked_at

# Only constraints with ``f_i(x) >= -ACTIVE_WITHIN`` may get a fitted multiplier. Chosen, and
# generous: complementarity makes the multiplier of a constraint that is not active costly anyway.
ACTIVE_WITHIN = 0.1

# Second order is a question about KKT points: where the residual is at most this share of the objective's
# gradient, or of 1. Chosen.
KKT_WITHIN = 1e-3


@dataclass(frozen=True)
class Certificate:
    """What holds at one point; all residuals are 0 exactly at a KKT point.

    Attributes
    ----------
    x : array of shape (d,)
        The point that was examined.
    values : ndarray of shape (m + 1,)
        Objective and constraints there.
    multipliers : ndarray of shape (m,)
        Non-negative; those given, or fitted.
    residuals : Residuals
        Stationarity, violation and complementarity, rounding errors included. Where a function has a
        kink, one subgradient is used, and stationarity is only bounded from above: see
        `near_stationarity`.
    outside : float
        The distance of `x` from the domain, which the violation includes.
    fitted : bool
        Whether the examiner fitted the multipliers.
    names : tuple of str
        Names of the constraints.
    curvature : Curvature or None
        The least curvature of the Lagrangian on the critical cone, and what it is worth. None where it
        was not looked at: far from a KKT point, at kinks, at the end of a run that was too short to pay for
        it, or because it was not asked for.
    """

    x: Array
    values: np.ndarray
    multipliers: np.ndarray
    residuals: Residuals
    outside: float
    fitted: bool
    names: tuple[str, ...]
    curvature: Curvature | None = None

    @property
    def objective(self) -> float:
        """The objective's value."""
        return float(self.values[0])

    @property
    def stationarity(self) -> float:
        """``dist(-grad f_0 - sum_i lam_i grad f_i, N_X(x))``."""
        return self.residuals.stationarity

    @property
    def violation(self) -> float:
        """The largest constraint violation, or the distance from the domain where that is larger."""
        return self.residuals.violation

    @property
    def complementarity(self) -> float:
        """``sum_i |lam_i f_i(x)|``."""
        return self.residuals.complementarity

    @property
    def residual(self) -> float:
        """The largest of stationarity, violation and complementarity."""
        return self.residuals.largest

    @property
    def worst(self) -> str | None:
        """The name of the most violated constraint; None where all hold."""
        if self.values.size < 2 or self.values[1:].max() <= 0:
            return None
        return self.names[int(self.values[1:].argmax())]

    def __str__(self) -> str:
        lines = [
            f"objective        {self.objective:.8g}",
            f"violation        {self.violation:.2e}" + (f"  ({self.worst})" if self.worst else ""),
            f"stationarity     {self.stationarity:.2e}",
            f"complementarity  {self.complementarity:.2e}",
        ]
        positive = np.flatnonzero(self.multipliers > 0)
        leading = positive[np.argsort(-self.multipliers[positive])][:5]
        listed = ", ".join(f"{self.names[i]}: {self.multipliers[i]:.6g}" for i in leading)
        more = f", and {positive.size - leading.size} more" if positive.size > leading.size else ""
        kind = "fitted" if self.fitted else "given"
        lines.append(f"multipliers      {listed or 'none positive'}{more} ({kind})")
        if self.curvature is not None:
            lines.append(f"curvature        {self.curvature}")
        return "\n".join(lines)


def certify(
    problem: Problem,
    x: Array,
    multipliers: Any = None,
    *,
    active_within: float = ACTIVE_WITHIN,
    second_order: bool = True,
) -> Certificate:
    """Examine a point, wherever it comes from.

    Parameters
    ----------
    problem : Problem
    x : array of shape (d,)
    multipliers : array of shape (m,), optional
        Non-negative. When not given, the multipliers with the least stationarity and
        complementarity are fitted over the nearly active constraints.
    active_within : float
        A constraint is nearly active where ``f_i(x) >= -active_within``.
    second_order : bool
        Look at the curvature too, where `x` is about a KKT point and the functions may be smooth: at
        most 50 Hessian products, or two evaluations for each where the problem has none.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise import certify
    >>> from equipoise.problems import REFERENCES
    >>> certificate = certify(REFERENCES["convex"]().problem, np.array([1.0, 0.0]))
    >>> certificate.multipliers.round(6), certificate.residual < 1e-9
    (array([1.]), True)
    """
    owner = "certify"
    check_attributes(owner, problem)
    active_within = _check.non_negative(owner, "active_within", active_within)
    second_order = _check.flag(owner, "second_order", second_order)
    x = _check.point(owner, "x", x, problem.dim)
    with np.errstate(over="ignore", invalid="ignore"):
        point = checked_at(problem, x)
        certificate = examine(problem, point, _given(problem, multipliers), active_within)
        near = second_order and certificate.residual <= KKT_WITHIN * max(
            1.0, norm(point.gradient(0))
        )
        return with_curvature(problem, point, certificate) if near else certificate


def with_curvature(
    problem: Problem,
    point: Point,
    certificate: Certificate,
    most: int = MAX_PRODUCTS,
    earlier: Sequence[Point] = (),
) -> Certificate:
    """Return the certificate of an evaluated point with its curvature, from at most `most` products.

    Where a problem has none, points that were evaluated `earlier` may save them.
    """
    lam, residual = certificate.multipliers, certificate.residual
    most = min(most, MAX_PRODUCTS)
    found = curvature_at(problem, point, lam, residual, most=most, earlier=earlier)
    return replace(certificate, curvature=found)


def examine(
    problem: Problem,
    point: Point,
    multipliers: np.ndarray | None,
    active_within: float = ACTIVE_WITHIN,
) -> Certificate:
    """Certify a point that is already evaluated."""
    _check.kind("examine", "problem", problem, Problem)
    _check.kind("examine", "point", point, Point)
    active_within = _check.non_negative("examine", "active_within", active_within)
    if multipliers is not None:
        multipliers = _check.vector("examine", "multipliers", multipliers, problem.n_constraints)
    _finite_values(problem, point)
    x, lam, terms = to_numpy(point.x), multipliers, None
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is an infinite residual
        if lam is None:
            lam, downhill, terms = fit_multipliers(problem, point, active_within)
        else:
            downhill = _downhill(problem, point, lam)
        flat = replace(point, x=x)
        residuals = Residuals.at(problem, flat, lam, -downhill)
        residuals = with_rounding(problem, flat, lam, residuals, terms)
        outside = _outside(problem, x)
    return Certificate(
        x=point.x,
        values=point.values,
        multipliers=lam,
        residuals=replace(residuals, violation=max(residuals.violation, outside)),
        outside=outside,
        fitted=multipliers is None,
        names=problem.names,
    )


def _downhill(problem: Problem, point: Point, multipliers: np.ndarray) -> np.ndarray:
    """Return ``-grad L``; where only the multipliers are too large for it, it is infinite."""
    downhill = -to_numpy(point.lagrangian_gradient(multipliers))
    if all_finite(downhill):
        return downhill
    used = np.append(0, 1 + np.flatnonzero(multipliers))
    finite_rows(problem, used, to_numpy(point.gradients(used)))
    return np.full(downhill.size, np.inf)


def _given(problem: Problem, multipliers: Any) -> np.ndarray | None:
    if multipliers is None:
        return None
    lam = _check.vector("certify", "multipliers", multipliers, problem.n_constraints)
    if (lam < 0).any():
        i = int(np.flatnonzero(lam < 0)[0])
        reason = f"`multipliers` must be non-negative, but entry {i} is {lam[i]}."
        raise _check.InputError("certify", reason, "multipliers")
    return lam


def _finite_values(problem: Problem, point: Point) -> None:
    if not all_finite(point.values):
        i = int(np.flatnonzero(~np.isfinite(point.values))[0])
        raise ValueError(
            f"certify: the value of {problem.label(i)} is {point.values[i]} at this point."
        )


def _outside(problem: Problem, x: np.ndarray) -> float:
    """Return the distance from the domain, 0 where it is a rounding error of the projection."""
    distance = problem.domain.distance(x)
    return distance if distance > 1e-12 * max(1.0, norm(x)) else 0.0
