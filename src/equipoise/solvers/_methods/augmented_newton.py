"""Augmented Lagrangian with Newton steps: the method for smooth problems of any size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array, norm
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.sets import WholeSpace
from equipoise.solvers._newton.descent import descend
from equipoise.solvers._newton.first_penalty import first_penalty_beside
from equipoise.solvers._newton.jump import jump
from equipoise.solvers._newton.known_hessian import known_jump
from equipoise.solvers._newton.pair import Pair, pair_at
from equipoise.solvers._newton.preconditioner import Preconditioner
from equipoise.solvers._newton.quasi import quasi_jump
from equipoise.solvers._newton.state import State
from equipoise.solvers._parts.warm_start import (
    Guess,
    Start,
    check_start,
    known_multipliers,
    start_from,
)
from equipoise.solvers._solver import DETERMINISTIC, SMOOTH, Claim, Finished, Guarantee, Solver

__all__ = ["AugmentedNewton"]

# Jumps in a row that did not halve the residual, after which as many steps are taken without them.
# Chosen.
PATIENCE_WITH_JUMPS = 8

# Steps without jumps after one that failed. Chosen: of 1, 2, 3 and 8 the quickest for bounds on AUCs, whose
# Lagrangians bend downwards only on the way.
STEPS_AFTER_FAILURE = 3

# The residual that CG reaches in a jump relative to its start, or the square root of the KKT residual
# where that is less, which makes jumps superlinear. Chosen.
FORCING = 0.3

# The same for the systems behind the multipliers, where the estimate is a diagonal or a matrix: the
# better the estimate, the cheaper is accuracy. Chosen.
ROW_FORCING_DIAGONAL, ROW_FORCING_MATRIX = 0.2, 0.05

# The penalty where multipliers are known: large, as it is hardly needed any more. Chosen.
PENALTY_WITH_MULTIPLIERS = 30.0

# Steps in a row that gain nothing, and updates in a row that do not lower the violation, after which
# the verdict is `Status.STALLED`. Chosen.
MAX_STALLED_STEPS, MAX_STUCK_UPDATES = 8, 6


@dataclass(frozen=True, kw_only=True)
class AugmentedNewton(Solver[State]):
    r"""Newton-CG on the augmented Lagrangian ``A(x) = f_0 + 1/(2b) sum_i ([lam_i + b f_i]_+^2 - lam_i^2)``.

    1. where second derivatives can be estimated: jump, that is, take a Newton step for x and lam
       together, with the estimate itself while that halves the KKT residual, with CG afterwards, and
       with an estimate that is a matrix once more where CG's jump fails. That ends the step, unless the
       jump fails: then three steps follow without jumps; or eight in a row did not halve the least
       residual: then eight. With `memory` and gradients alone: jump with the limited-memory BFGS
       estimate of the Hessian, and be patient for forty jumps
    2. g <- grad A(x); T <- the linear piece of the tangent projection at (x, -g)
    3. if |T(-g)| <= accuracy (or after 100 steps): lam <- [lam + b f(x)]_+; b <- growth b unless the
       violation fell to a quarter; accuracy <- accuracy / 10; g <- grad A(x) with the new lam
    4. d <- truncated CG for T H T d = T(-g), stopped at negative curvature, where
       H v = (hess f_0 + sum_i [lam_i + b f_i]_+ hess f_i) v + b sum_active grad f_i <grad f_i, v>
       + the bending of X's boundary
    5. x <- P_X(x + s d) with the first s = 1, 1/2, .. that lowers A enough

    H is never formed: a product costs one `hvp` and k inner products, k the number of active
    constraints. CG is preconditioned with an estimate of H, where the problem has one, which is exact
    on the directions that CG took last time, in a jump or on the way down, unless it met negative
    curvature. The estimate is made anew where CG was slow. Only where the problem has the Hessian itself,
    as `Point.matrix`, line 1 takes that and solves its systems without CG.

    Output: the iterate and ``[lam + b f(x)]_+``. The method stops by itself where their KKT residual is
    at most `tol`, where rounding ends progress, or where six updates in a row did not lower the violation.

    Guarantee: every step lowers an augmented Lagrangian or halves the residual; limit points are KKT
    points or stationary for the squared violation (Bertsekas 1982). Locally superlinear.

    Parameters
    ----------
    tol : float
        The KKT residual at which the method stops by itself.
    penalty : float, optional
        The first b. By default such that the violation at the start counts beside the objective,
        between 10 and 1e4; less for constraints much steeper than the objective; 30 where multipliers
        are known.
    growth : float
        Factor of the penalty.
    memory : int
        Steps from which curvature is learned where a problem has gradients alone. That takes far fewer
        evaluations where there are many variables, and ``2 memory`` vectors of memory; with 0, products
        with the Hessian are differences of gradients, one evaluation each.
    multipliers : array of shape (m,), optional
        Where to start; 0 by default. `warm_started` takes them, and the preconditioner, from an
        earlier run.

    References
    ----------
    Bertsekas 1982; Birgin & Martinez 2014; Nocedal 1980.
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
    memory: int = 0
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_start(type(self).__name__, self.multipliers)
        _check.positive("AugmentedNewton", "tol", self.tol)
        if self.penalty is not None:
            _check.positive("AugmentedNewton", "penalty", self.penalty)
        if not _check.positive("AugmentedNewton", "growth", self.growth) > 1:
            _check.fail("AugmentedNewton", "growth", "must exceed 1", self.growth)
        _check.count("AugmentedNewton", "memory", self.memory)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        known = known_multipliers("AugmentedNewton", problem, self.multipliers)
        lam = np.zeros(problem.n_constraints) if known is None else known
        pair = pair_at(problem, problem.at(x0), lam)
        g = norm(problem.domain.tangent(x0, -pair.gradient))
        accuracy = 0.1 * max(g, 1e-3)
        if known is None:
            b = self.penalty or first_penalty_beside(problem, problem.at(x0), g)
            return State(pair, lam, b, accuracy)
        earlier = _remembered(self.multipliers, problem.dim)
        b = self.penalty or PENALTY_WITH_MULTIPLIERS
        suffices = earlier is None  # nothing is known of the Hessian: the start may be far
        return State(pair, lam, b, accuracy, estimate_suffices=suffices, preconditioner=earlier)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        at, known = state.pair, state.preconditioner
        matrix, curvature = problem.at(at.x).matrix, problem.at(at.x).curvature
        if matrix is not None and isinstance(problem.domain, WholeSpace):
            if state.slow % (2 * PATIENCE_WITH_JUMPS) < PATIENCE_WITH_JUMPS:
                H = matrix(np.concatenate(([1.0], at.lam)))
                landed, known = known_jump(problem, at, state.b, H, self.tol)  # 1
                if landed is not None:
                    return _landed(replace(state, preconditioner=known), landed)
                slow = 2 * PATIENCE_WITH_JUMPS - STEPS_AFTER_FAILURE
                state = replace(state, preconditioner=known, slow=slow)
        elif curvature is not None:
            if known is None or state.estimate_suffices or not known.good:
                known = Preconditioner.of(curvature(np.concatenate(([1.0], at.lam))), known)
            del curvature  # with all that was evaluated
            if state.slow % (2 * PATIENCE_WITH_JUMPS) < PATIENCE_WITH_JUMPS:
                suffices = state.estimate_suffices and known.is_matrix
                forcing = 1.0 if suffices else min(FORCING, at.residual**0.5)
                rows = ROW_FORCING_MATRIX if known.is_matrix else ROW_FORCING_DIAGONAL
                rows = 1.0 if suffices else rows
                landed, known = jump(problem, at, state.b, known, forcing, rows, self.tol)  # 1
                if landed is None and known.is_matrix and not suffices:  # too long, or downhill
                    landed, known = jump(problem, at, state.b, known, 1.0, 1.0, self.tol)
                if landed is not None:
                    return _landed(replace(state, preconditioner=known), landed)
                slow = state.slow if suffices else 2 * PATIENCE_WITH_JUMPS - STEPS_AFTER_FAILURE
                state = replace(state, estimate_suffices=False, slow=slow)
            state = replace(state, preconditioner=known)
        elif self.memory > 0 and problem.at(at.x).hvp is None:
            landed, state = quasi_jump(problem, state, self.memory)  # 1
            if landed is not None:
                return _landed(state, landed)
        state = replace(state, slow=state.slow + 1)
        return descend(problem, state, self.growth, self.tol)  # 2-5

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the iterate and its multipliers."""
        return state.pair.x, state.pair.lam

    def verdict(self, state: State) -> Status | None:
        """Stop at the tolerance, or where nothing is gained any more."""
        if state.pair.residual <= self.tol:
            return Status.CONVERGED
        ended = state.stalled >= MAX_STALLED_STEPS or state.stuck >= MAX_STUCK_UPDATES
        return Status.STALLED if ended else None

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers and the preconditioner of `result` to start from."""
        known = result.state.preconditioner if isinstance(result.state, State) else None
        return start_from(self, result, memory=known)


def _remembered(start: Start | None, dim: int) -> Preconditioner | None:
    """Return the preconditioner of an earlier run, if that had as many variables."""
    known = start.memory if isinstance(start, Guess) else None
    return known if known is not None and len(known.factor) == dim else None


def _landed(state: State, pair: Pair) -> State:
    """Go on from where a jump led; one that did not halve the least residual is slow."""
    slow = pair.residual > 0.5 * state.jump_residual
    return replace(
        state,
        pair=pair,
        lam=pair.lam,
        accuracy=min(state.accuracy, 0.1 * pair.residual),
        jump_residual=min(state.jump_residual, pair.residual),
        k=0,
        stalled=0,
        stuck=state.stuck if slow else 0,
        slow=state.slow + 1 if slow else 0,
        estimate_suffices=state.estimate_suffices and pair.residual <= 0.5 * state.pair.residual,
    )
