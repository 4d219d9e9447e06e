"""Augmented Lagrangian with Newton steps: the method for smooth problems of any size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise.problem import Point, Problem
from equipoise.solvers._newton.descent import descend
from equipoise.solvers._newton.jump import jump
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Learned
from equipoise.solvers._parts.warm_start import Guess, Start, known_multipliers, start_from
from equipoise.solvers._solver import DETERMINISTIC, SMOOTH, Claim, Finished, Guarantee, Solver
from equipoise.status import Status

__all__ = ["AugmentedNewton"]

TRIES = 8  # slow jumps in a row, and steps without jumps after them
FORCING = 0.3  # the residual CG reaches, relative to its start; less near a solution
ROUGH = {1: 0.2, 2: 0.05}  # the same where constraints bend the step; F a diagonal, a matrix


@dataclass(frozen=True)
class State:
    """The iterate with multipliers, and the outer loop's tolerances."""

    pair: Pair  # the output
    lam: np.ndarray  # (m,) multipliers of the augmented Lagrangian
    b: float  # penalty
    accuracy: float  # gradient at which the multipliers are updated
    least: float = np.inf  # residual after a jump
    violation: float = np.inf  # max_i |min(-f_i, lam_i / b)| at the last update
    radius: float = np.inf  # how long the next step may be
    k: int = 0  # steps since the multipliers changed
    stalled: int = 0  # steps in a row that gained nothing
    stuck: int = 0  # updates in a row that did not lower the violation
    slow: int = 0  # steps in a row since a jump halved the least residual
    enough: bool = True  # whether an estimate of the Hessian will do for the Hessian
    learned: Learned | None = None  # of the Hessian


@dataclass(frozen=True, kw_only=True)
class AugmentedNewton(Solver[State]):
    r"""Newton-CG on the augmented Lagrangian ``A(x) = f_0 + 1/(2b) sum_i ([lam_i + b f_i]_+^2 - lam_i^2)``.

    1. where second derivatives can be estimated: jump, a Newton step for x and lam together, with the
       estimate itself while that halves the KKT residual, with CG afterwards; done unless it
       fails, or eight in a row did not halve the least residual: then eight steps without
    2. g <- grad A(x); T <- the linear piece of the tangent projection at (x, -g)
    3. if |T(-g)| <= accuracy (or after 100 steps): lam <- [lam + b f(x)]_+; b <- growth b unless the
       violation fell to a quarter; accuracy <- accuracy / 10; g <- grad A(x) with the new lam
    4. d <- truncated CG for T H T d = T(-g), stopped at negative curvature, where
       H v = (hess f_0 + sum_i [lam_i + b f_i]_+ hess f_i) v + b sum_active grad f_i <grad f_i, v>
       + the bending of X's boundary
    5. x <- P_X(x + s d) with the first s = 1, 1/2, .. that lowers A enough

    H is never formed: a product costs one `hvp` and k inner products, k the active constraints. CG
    is preconditioned with an estimate of H, where the problem has one, put right on the directions
    that CG took last time; it is made anew where CG was slow.

    Output: the iterate and ``[lam + b f(x)]_+``. Stops by itself where its KKT residual is at most `tol`, or
    where rounding ends progress, or where six updates in a row did not lower the violation.

    Guarantee: every step lowers an augmented Lagrangian or halves the residual; limit points are KKT
    points or stationary for the squared violation (Bertsekas 1982). Locally superlinear.

    Parameters
    ----------
    tol : float
        The KKT residual at which the method stops by itself.
    penalty : float, optional
        The first b; by default such that the violation at the start counts beside the objective,
        between 10 and 1e4; less for constraints much steeper than the objective; 30 where multipliers
        are given.
    growth : float
        Factor of the penalty.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default. `warm_started` takes them, and what is known of the Hessian,
        from an earlier run.
    """

    name: ClassVar[str] = "augmented_newton"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth objective and constraints, convex or not",
        quantity="KKT residual, or stationarity of the squared violation",
        rate="locally superlinear",
        reference="Bertsekas 1982; Birgin & Martinez 2014",
    )
    needs = (SMOOTH, DETERMINISTIC)
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-7, steps=500)
    exact = True

    tol: float = 1e-9
    penalty: float | None = None
    growth: float = 5.0
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check.positive("AugmentedNewton", "tol", self.tol)
        if self.penalty is not None:
            _check.positive("AugmentedNewton", "penalty", self.penalty)
        if not _check.positive("AugmentedNewton", "growth", self.growth) > 1:
            _check.fail("AugmentedNewton", "growth", "must exceed 1", self.growth)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        given = known_multipliers("AugmentedNewton", problem, self.multipliers)
        cold = given is None
        lam = np.zeros(problem.n_constraints) if given is None else given
        pair = pair_at(problem, problem.at(x0), lam)
        g = norm(problem.domain.tangent(x0, -pair.gradient))
        b = self.penalty or (_first_penalty(problem, problem.at(x0), g) if cold else 30.0)
        known = None if cold else _remembered(self.multipliers, problem.dim)
        return State(pair, lam, b, 0.1 * max(g, 1e-3), enough=cold, learned=known)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        at, known = state.pair, state.learned
        curvature = problem.at(at.x).curvature
        if curvature is not None:
            if known is None or state.enough or not known.good:
                known = Learned.of(curvature(np.concatenate(([1.0], at.lam))), known)
            del curvature  # with all that was evaluated
            if state.slow % (2 * TRIES) < TRIES:
                ndim = known.factor.ndim
                enough = state.enough and ndim == 2
                forcing = 1.0 if enough else min(FORCING, at.residual**0.5)
                rough = 1.0 if enough else ROUGH[ndim]
                landed, known = jump(problem, at, state.b, known, forcing, rough, self.tol)  # 1
                if landed is not None:
                    return _landed(replace(state, learned=known), landed)
                state = replace(state, enough=False, slow=state.slow if enough else TRIES)
            state = replace(state, learned=replace(known, good=False))
        state = replace(state, slow=state.slow + 1)
        solve = None if known is None else known.solve
        return descend(problem, state, solve, self.growth, self.tol)  # 2-5

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers and the preconditioner of `result` to start from."""
        known = result.state.learned if isinstance(result.state, State) else None
        return start_from(self, result, memory=known)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the iterate and its multipliers."""
        return state.pair.x, state.pair.lam

    def verdict(self, state: State) -> Status | None:
        """Stop at the tolerance, or where nothing is gained any more."""
        if state.pair.residual <= self.tol:
            return Status.CONVERGED
        return Status.STALLED if state.stalled >= 8 or state.stuck >= 6 else None


def _remembered(start: Start | None, dim: int) -> Learned | None:
    """Return what an earlier run has learned of the Hessian, if it had as many variables."""
    known = start.memory if isinstance(start, Guess) else None
    return known if known is not None and len(known.factor) == dim else None


def _landed(state: State, pair: Pair) -> State:
    """Go on from where a jump led; one that did not halve the least residual is slow."""
    slow = pair.residual > 0.5 * state.least
    return replace(
        state,
        pair=pair,
        lam=pair.lam,
        accuracy=min(state.accuracy, 0.1 * pair.residual),
        least=min(state.least, pair.residual),
        k=0,
        stalled=0,
        stuck=state.stuck if slow else 0,
        slow=state.slow + 1 if slow else 0,
        enough=state.enough and pair.residual <= 0.5 * state.pair.residual,
    )


def _first_penalty(problem: Problem, point: Point, g: float) -> float:
    """Enough for the slope of the squared violation to count beside the objective's."""
    if point.constraints.size == 0:
        return 10.0
    over = np.maximum(point.constraints, 0.0)
    if over.max() <= 1e-6:
        steep = norm(point.gradient(point.worst))
        return 10.0 / max(1.0, steep / max(30.0, 30.0 * g)) ** 2
    pull = norm(problem.domain.tangent(point.x, -point.vjp(np.concatenate(([0.0], over)))))
    steep = pull / float(over.sum())
    largest, least = 1e4, 10.0 / max(1.0, steep / max(30.0, 30.0 * g)) ** 2
    return float(np.clip(10 * g / max(pull, 1e-12), least, largest))
