"""The judge: NumPy and SciPy, extended precision, and nothing of the library.

A run claims something by its status, its point, its multipliers and its certificate's figures. The judge
finds a claim wrong only where it is wrong for certain; where rounding errors or the width of a kink leave
doubt, the library has the benefit of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import EXTENDED, UNIT, UNITS
from benchmarks.hunt.stationarity import not_stationary


@dataclass(frozen=True)
class Claim:
    """What a run said, as plain numbers."""

    success: bool
    proved_infeasible: bool
    only_feasible: bool  # success means a feasible point, not an optimum
    x: np.ndarray
    multipliers: np.ndarray
    violation: float
    objective: float
    tol: float


def findings(case: Case, claim: Claim) -> list[str]:
    """Every claim of the run that is wrong."""
    if claim.proved_infeasible:
        return _infeasible(case)
    if not claim.success:
        return []
    if not np.isfinite(_values(case, claim.x).astype(float)).all():
        return ["false success: a function is not finite there"]
    wrong = _figures(case, claim)
    if not claim.only_feasible:
        wrong += _stationarity(case, claim) + _optimum(case, claim)
    return wrong


def _values(case: Case, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.array([f.value(x.astype(EXTENDED)) for f in case.functions])


def _rounding(case: Case, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return UNITS * UNIT * np.array([f.size(x) for f in case.functions])


def _figures(case: Case, claim: Claim) -> list[str]:
    """Values in extended precision: the objective, the constraints, the domain."""
    x, wrong = claim.x, []
    values, error = _values(case, x), _rounding(case, x)
    excess = float(np.max(values[1:] - error[1:], initial=-np.inf))
    if excess > claim.tol:
        wrong.append(f"false success: violation {excess:.3g} above tol {claim.tol:g}")
    outside = float(np.max(case.region.limits(x)))
    if outside > np.sqrt(x.size) * claim.tol + 1e-9 * max(1.0, float(np.abs(x).max())):
        wrong.append(f"false success: {outside:.3g} outside the domain")
    if excess > claim.violation + error.max() + 1e-12:
        wrong.append(f"wrong figure: violation {claim.violation:.3g} is {excess:.3g}")
    if abs(float(values[0]) - claim.objective) > error[0] + 1e-12:
        wrong.append(f"wrong figure: objective {claim.objective:.6g} is {float(values[0]):.6g}")
    return wrong


def _stationarity(case: Case, claim: Claim) -> list[str]:
    least = not_stationary(case, claim.x, claim.multipliers, claim.tol)
    return (
        []
        if least is None
        else [f"false success: stationarity at least {least:.3g}, tol {claim.tol:g}"]
    )


def _optimum(case: Case, claim: Claim) -> list[str]:
    """By convexity, no feasible point is better by more than the residuals allow."""
    if case.optimal is None or claim.only_feasible:
        return []
    distance = float(np.linalg.norm(claim.x - case.planted))
    gap = claim.objective - float(_values(case, case.planted)[0])
    above = claim.tol * (2 + 2 * distance)
    below = claim.tol * float(case.optimal.sum()) + 1e-9
    if -below - UNITS * UNIT * abs(claim.objective) <= gap <= above + _rounding(case, claim.x)[0]:
        return []
    return [f"false success: objective is {gap:.3g} above the optimum, tol {claim.tol:g}"]


def _infeasible(case: Case) -> list[str]:
    if case.feasible:
        return ["wrong proof of infeasibility: a feasible point is known"]
    if case.feasible is None and (found := feasible_point(case)) is not None:
        return [f"wrong proof of infeasibility: {found.tolist()} is feasible"]
    return []


def feasible_point(case: Case, starts: int = 6) -> np.ndarray | None:
    """A point that keeps all constraints, by SLSQP from several starts; None where it finds none."""
    rng = np.random.default_rng(0)
    tries = [case.region.inside(rng) for _ in range(starts)]
    if case.planted is not None:
        tries.insert(0, case.planted)

    def room(z):
        rows = [f.value(z[:-1]) for f in case.functions[1:]]
        return z[-1] - np.concatenate((rows, case.region.limits(z[:-1])))

    for x in tries:
        with np.errstate(all="ignore"):
            begin = np.append(x, max(0.0, -float(room(np.append(x, 0.0)).min())))
            limits = {"type": "ineq", "fun": room}
            y = minimize(lambda z: z[-1], begin, constraints=limits, method="SLSQP").x[:-1]
        if np.max(_values(case, y)[1:], initial=0.0) <= 0 and np.max(case.region.limits(y)) <= 0:
            return y
    return None


def better_nearby(case: Case, x: np.ndarray, radius: float = 0.1) -> float:
    """How much lower the objective is at a feasible point within `radius`: large at maxima and saddles."""
    values, best = _values(case, x).astype(float), 0.0
    rng = np.random.default_rng(0)
    for v in (*np.eye(x.size), *rng.normal(size=(10, x.size))):
        for length in (radius, -radius):
            y = x + length * v / np.linalg.norm(v)
            there = _values(case, y).astype(float)
            inside = np.max(case.region.limits(y)) <= 0
            if inside and np.max(there[1:], initial=-1.0) <= 0 and np.isfinite(there).all():
                best = max(best, values[0] - there[0])
    return float(best)
