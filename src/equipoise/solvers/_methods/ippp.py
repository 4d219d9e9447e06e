"""iPPP: inexact proximal-point penalty method (Lin, Ma & Xu 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.certificate import Residuals
from equipoise.problems import MeritProblem, ProximalProblem, QuadraticPenalty
from equipoise.solvers._methods.apg import AcceleratedProjectedGradient
from equipoise.solvers._parts.backtracking import Backtracking
from equipoise.solvers._parts.best_pair import BestPair
from equipoise.solvers._parts.estimates import Constants, constants
from equipoise.solvers._parts.parameters import check_positive_if_given
from equipoise.solvers._parts.steps import Inverse, SquareRoot, StepRule
from equipoise.solvers._solver import CONVEX_CONSTRAINTS, SMOOTH, Claim, Guarantee, Need, Solver
from equipoise.solvers._staged import Staged

__all__ = ["IPPP"]

# The penalty stays below this: an infeasible problem drives it up without end. Chosen.
LARGEST_PENALTY = 1e9

# The least tolerance of a subproblem: rounding errors allow no less. Chosen.
LEAST_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Outer:
    """Iterate, multipliers, the next subproblem, and the best pair so far."""

    x: Array  # (d,) iterate
    lam: np.ndarray  # (m,) multipliers that belong to x
    z: Array  # (d,) centre of the next subproblem
    b: float  # its penalty
    tol: float  # its tolerance
    turn: Array | None  # (d,) the iterate at which b was doubled last
    best: BestPair
    constants: Constants
    n: float | None  # the inner method's step size
    t: int  # outer steps taken


@dataclass(frozen=True, kw_only=True)
class IPPP(Staged[Outer]):
    r"""Proximal points of a quadratic penalty whose weight grows.

    For t = 0, 1, ..., from z = x on, by accelerated projected gradients:

    1. x <- a point of X with dist(-grad Phi(x), N_X(x)) <= eps_t, where
       Phi(u) = f_0(u) + b_t/2 sum_i [f_i(u)]_+^2 + p/2 |u - z|^2
    2. lam_i <- b_t [f_i(x)]_+,  z <- x
    3. where violation or complementarity exceed stationarity: b <- 2 b and
       z <- P_X(x + (x - x_b) / 2), x_b the x at which b was doubled last
    4. eps <- a tenth of the largest of the three residuals

    Steps 3 and 4 are this library's. A penalty leaves a violation of about ``lam / b``, and the condition
    number of Phi grows with b. So b is raised only while that violation is what keeps (x, lam) from being
    optimal. Its minimisers lie about ``1 / b`` from a solution, so the next one is foreseen by
    extrapolation. Huang, Lin & Xu 2025 have ``b_t = b sqrt(t + 1)`` and ``eps_t = 1 / (t + 1)``, which
    `IPPP.paper` sets up: an accuracy eps then takes about eps^-2 outer steps.

    Output: the pair (x, lam) with the least residual, as the examiner measures it (`Residuals`); the
    theorem only says that a good one exists. The last pair is in the state.

    Guarantee: an eps-KKT point after O~(eps^-5/2) gradients, for convex constraints with a Slater
    point; the start need not be feasible.

    Parameters
    ----------
    penalty : float or StepRule
        A number is the first b, and step 3 raises it; a rule, like `SquareRoot`, gives every b_t.
    inner_tol : StepRule, optional
        eps_t, like `Inverse`; by default as in step 4.
    prox : float, optional
        p, larger than L. By default ``max(2 rho, L / 10)`` where the weak convexity rho of the functions
        is known, else 2 L, as in Huang, Lin & Xu 2025.
    smoothness : float, optional
        L, of all functions; by default from the problem's facts, or twice the curvature at the start
        of the objective and the worst constraint.
    steps : int
        The most inner steps in an outer one.

    References
    ----------
    Lin, Ma & Xu 2022; Huang, Lin & Xu 2025; for the extrapolation Fiacco & McCormick 1968.
    """

    name: ClassVar[str] = "ippp"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth non-convex objective, smooth convex constraints",
        quantity="eps-KKT: stationarity, violation, complementarity",
        rate="O~(eps^-5/2)",
        reference="Lin, Ma & Xu 2022",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, CONVEX_CONSTRAINTS)
    claim: ClassVar[Claim] = Claim(("bilinear", "convex"), residual=1e-5, steps=20_000)

    penalty: float | StepRule = 10.0
    inner_tol: StepRule | None = None
    prox: float | None = None
    smoothness: float | None = None
    steps: int = 10_000

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.penalty, StepRule):
            _check.positive(owner, "penalty", self.penalty)
        if self.inner_tol is not None and not isinstance(self.inner_tol, StepRule):
            _check.fail(owner, "inner_tol", "must be a StepRule", self.inner_tol)
        check_positive_if_given(self, "prox", "smoothness")
        _check.count(owner, "steps", self.steps, least=1)

    @classmethod
    def paper(cls, penalty: float = 200.0) -> Self:
        """Return the method with the ``b_t`` and ``eps_t`` of Huang, Lin & Xu 2025."""
        return cls(penalty=SquareRoot(penalty), inner_tol=Inverse(1.0))

    def begin(self, problem: Problem, x0: Array) -> Outer:
        """Return the outer state before the first stage."""
        known = constants(type(self).__name__, problem, x0, self.smoothness, self.prox)
        lam = np.zeros(problem.n_constraints)
        b = self.penalty(0) if isinstance(self.penalty, StepRule) else self.penalty
        eps = self.inner_tol(0) if self.inner_tol else 1.0
        return Outer(x0, lam, x0, b, eps, None, BestPair(x0, lam), known, None, 0)

    def subproblem(self, problem: Problem, outer: Outer) -> Problem:
        """Return the minimisation of Phi."""
        proximal = ProximalProblem(problem, outer.z, outer.constants.p, constraints=False)
        return MeritProblem(proximal, QuadraticPenalty(outer.b))

    def inner(self, problem: Problem, outer: Outer) -> Solver:
        """Return accelerated projected gradients with this stage's tolerance."""
        step_size, mu = Backtracking(outer.n), outer.constants.mu
        return AcceleratedProjectedGradient(
            mu=mu, step_size=step_size, tol=outer.tol, steps=self.steps
        )

    def inner_start(self, outer: Outer) -> Array:
        """Start from the centre."""
        return outer.z

    def absorb(
        self, problem: Problem, outer: Outer, solver: Solver, inner: Any, rng: np.random.Generator
    ) -> Outer:
        """Take in the minimiser, and move on to the next subproblem."""
        (x, _), b, turn, t = solver.output(inner), outer.b, outer.turn, outer.t + 1  # 1
        point = problem.at(x)
        lam, z = b * np.maximum(point.constraints, 0.0), x  # 2
        residuals = Residuals.at(problem, point, lam)
        left = max(residuals.violation, residuals.complementarity)  # what the penalty leaves
        if isinstance(self.penalty, StepRule):
            b = self.penalty(t)
        elif left > residuals.stationarity and b < LARGEST_PENALTY:  # 3
            z = x if turn is None else problem.domain.project(x + 0.5 * (x - turn))
            b, turn = 2 * b, x
        tol = min(1.0, max(0.1 * residuals.largest, LEAST_TOLERANCE))  # 4
        tol = self.inner_tol(t) if self.inner_tol else tol
        best = outer.best.or_better(x, lam, residuals.largest)
        return Outer(x, lam, z, b, tol, turn, best, outer.constants, inner.n, t)

    def answer(self, outer: Outer) -> tuple[Array, np.ndarray]:
        """Return the pair with the least residual."""
        return outer.best.x, outer.best.lam
