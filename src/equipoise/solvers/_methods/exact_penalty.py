"""Exact-penalty trust-region method with linear programs (Cartis, Gould & Toint 2011)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import TINY, Array, like, to_numpy
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.solvers._newton.face_newton import newton_points
from equipoise.solvers._parts.linear_rows import linear_rows
from equipoise.solvers._penalty.linearised_penalty import LinearisedPenalty, LinearProgramError
from equipoise.solvers._penalty.steering import Add, Multiply, PenaltyRule, steer
from equipoise.solvers._solver import DETERMINISTIC, SMOOTH, Claim, Guarantee, Solver

__all__ = ["ExactPenalty", "PenaltyRule", "Add", "Multiply"]

# The radius at which the method gives up: about the tolerance of its linear programs. Chosen.
SMALLEST_RADIUS = 1e-10

# A step reaches the radius where it is at least this share of it: the linear program is inexact.
# Chosen.
REACHES_RADIUS = 0.99


@dataclass(frozen=True)
class State:
    """The iterate with its functions to first order, and the measures of optimality there."""

    x: Array  # (d,) iterate, in the domain
    values: np.ndarray  # (m + 1,) functions at x
    J: np.ndarray  # (m + 1, d) their gradients
    p: float  # penalty
    radius: float  # Delta
    psi: float  # criticality of the penalty function at x
    theta: float  # criticality of the violation at x, or the upper bound h where that suffices
    lam: np.ndarray  # (m,) multipliers of the linear program behind psi

    @property
    def violation(self) -> float:
        """The sum of violations h."""
        return float(np.maximum(self.values[1:], 0.0).sum())


@dataclass(frozen=True, kw_only=True)
class ExactPenalty(Solver[State]):
    r"""Minimise ``Phi(x; p) = f_0(x) + p h(x)``, ``h = sum_i [f_i]_+``, by linear programs.

    With the model ``l(s; p) = f_0 + grad f_0's + p sum_i [f_i + grad f_i's]_+`` over the steps that
    stay in the domain, and the measures ``psi(x; p) = l(0; p) - min_{|s|_inf <= 1} l(s; p)`` and
    ``theta(x)``, the same for the violation alone:

    1. s <- argmin l(s; p) over |s|_inf <= Delta
    2. y <- the point with the least Phi among x + s and the Newton steps on the face of s
    3. r <- (Phi(x; p) - Phi(y; p)) / (l(0; p) - l(s; p)); x <- y if r >= accept
    4. Delta <- shrink Delta if r < accept; grow Delta if r >= good and |s|_inf = Delta
    5. steering: while psi(x; p) < xi p theta(x), raise p
    6. stop where psi(x; p) <= eps; infeasible where h(x) > 10 eps, theta(x) <= eps and
       psi(x; p) <= max{eps, xi p theta(x)}: raising p further would not help

    Output: the last accepted iterate, and the multipliers of the linear program behind psi, in
    [0, p]. By duality, away from the domain's boundary,
    psi = |grad L|_1 + sum_i lam_i [-f_i]_+ + (p - lam_i) [f_i]_+: a small psi is a certificate.

    Guarantee: psi <= eps after O(eps^-2) evaluations if p stays bounded, O(eps^-5) else. The limit
    is a KKT point, or infeasible and stationary for h.

    Linear programs alone converge slowly to a solution that is no vertex. Line 2 makes the method locally
    quadratic there, and only adds to the decrease that the guarantee rests on. An L2 ball is replaced
    by a half-space in the linear programs, and trial points are projected: every iterate lies in the
    domain.

    Parameters
    ----------
    eps : float
        Where to stop.
    xi : float
        The share of the best possible relief of the violation that a step must promise, in (0, 1).
    penalty, radius : float
        The first p, at least 1 / xi (the default), so that psi <= eps implies theta <= eps; Delta.
    raise_penalty : PenaltyRule
        `Multiply` needs O(log 1/eps) raises where `Add` needs O(1/eps).
    accept, good, shrink, grow : float
        Thresholds on r, ``0 < accept <= good < 1``; factors on Delta, ``0 < shrink < 1 <= grow``.
    products : int
        Hessian products per Newton step, at the most; 0: linear programs alone, as in
        Ma, Lin & Yang 2020.

    References
    ----------
    Cartis, Gould & Toint 2011; for line 2 see `newton_points`.
    """

    name: ClassVar[str] = "exact_penalty"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex",
        quantity="psi <= eps (KKT, or infeasible and stationary for the violation)",
        rate="O(eps^-2) for a bounded penalty",
        reference="Cartis, Gould & Toint 2011",
    )
    needs = (SMOOTH, DETERMINISTIC)
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-5, steps=500)

    eps: float = 1e-7
    xi: float = 0.1
    penalty: float | None = None
    raise_penalty: PenaltyRule = Multiply(2.0)
    radius: float = 1.0
    accept: float = 0.3
    good: float = 0.7
    shrink: float = 0.5
    grow: float = 2.0
    products: int = 50

    def __post_init__(self) -> None:
        owner = "ExactPenalty"
        for parameter in ("eps", "xi", "radius", "accept", "good", "shrink", "grow"):
            _check.positive(owner, parameter, getattr(self, parameter))
        _check.kind(owner, "raise_penalty", self.raise_penalty, PenaltyRule)
        if self.penalty is not None:
            _check.positive(owner, "penalty", self.penalty)
        least = 0.0 if self.penalty is None else 1 / self.xi
        for parameter, holds, rule in (
            ("xi", self.xi < 1, "must lie below 1"),
            ("good", self.good < 1, "must lie below 1"),
            ("shrink", self.shrink < 1, "must lie below 1"),
            ("accept", self.accept <= self.good, f"must not exceed `good` = {self.good:g}"),
            ("grow", self.grow >= 1, "must be at least 1"),
            ("penalty", (self.penalty or 0.0) >= least, f"must be at least 1 / xi = {least:g}"),
        ):
            if not holds:
                _check.fail(owner, parameter, rule, getattr(self, parameter))
        _check.count(owner, "products", self.products)

    @classmethod
    def paper(cls, *, xi: float = 0.1) -> Self:
        """Return the settings of Ma, Lin & Yang 2020: p raised by 100, no growing radius, no Newton steps."""
        return cls(eps=1e-3, xi=xi, raise_penalty=Add(100.0), grow=1.0, products=0)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        p = 1 / self.xi if self.penalty is None else self.penalty
        return self._arrive(problem, problem.at(x0), p, self.radius)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        x, f, p, Delta = state.x, state.values, state.p, state.radius
        model = LinearisedPenalty(f, state.J, linear_rows(problem.domain, to_numpy(x)))
        try:
            s, lam = model.minimise(p, Delta)  # 1
        except LinearProgramError:
            return replace(state, radius=0.0)  # nothing more can be done from here
        trial = problem.at(problem.domain.project(x + like(s, x)))
        if self.products:  # 2
            beyond = newton_points(problem, problem.at(x), state.J, (s, lam), p, self.products)
            trial = min(trial, *beyond, key=lambda point: _phi(point.values, p))
        r = (_phi(f, p) - _phi(trial.values, p)) / max(model.decrease(s, p), TINY)  # 3
        if r < self.accept:
            return replace(state, radius=self.shrink * Delta)  # 4
        reached = np.abs(s).max() >= REACHES_RADIUS * Delta
        Delta = self.grow * Delta if r >= self.good and reached else Delta
        return self._arrive(problem, trial, p, Delta)

    def _arrive(self, problem: Problem, point: Point, p: float, radius: float) -> State:
        """Take the measures at an accepted point, and raise the penalty if needed."""
        x, f = point.x, point.values
        J = to_numpy(point.gradients(range(f.size)))
        model = LinearisedPenalty(f, J, linear_rows(problem.domain, to_numpy(x)))
        try:
            at = steer(model, p, self.xi, self.eps, self.raise_penalty)  # 5
        except LinearProgramError:
            return State(x, f, J, p, 0.0, np.inf, np.inf, np.zeros(f.size - 1))
        return State(x, f, J, at.p, radius, at.psi, at.theta, at.lam)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the last accepted iterate and its multipliers."""
        return state.x, state.lam

    def verdict(self, state: State) -> Status | None:
        """Stop where the measures are small, or the radius is."""
        if state.psi <= max(self.eps, self.xi * state.p * state.theta):  # 6
            if state.violation > 10 * self.eps and state.theta <= self.eps:
                return Status.LOCALLY_INFEASIBLE
            if state.psi <= self.eps:
                return Status.CONVERGED
        return Status.STALLED if state.radius < SMALLEST_RADIUS else None


def _phi(values: np.ndarray, p: float) -> float:
    return float(values[0] + p * np.maximum(values[1:], 0.0).sum())
