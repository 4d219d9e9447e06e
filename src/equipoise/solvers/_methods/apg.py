"""Accelerated projected gradients: the inner method for smooth problems without constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise import _check
from equipoise._array import Array, dot, norm
from equipoise._problem import Point, Problem
from equipoise._status import Status
from equipoise.solvers._parts.backtracking import Backtracking, Fixed, StepSize, unit_rounding
from equipoise.solvers._solver import SMOOTH, Claim, Guarantee, Need, Solver

__all__ = ["AcceleratedProjectedGradient", "Backtracking"]

UNCONSTRAINED = Need(
    "a problem without constraints (merge them into the objective first, by a `MeritProblem`)",
    lambda problem, _: problem.n_constraints > 0,
)
# Rises of F in a row after which the momentum is restarted, and steps in a row that move nothing after
# which the method stops. Chosen.
PATIENCE = 5

# F has risen where it is larger by more than this many rounding errors. Chosen.
ROUNDING_ERRORS = 64


@dataclass(frozen=True)
class State:
    """Iterate, extrapolated point, and the point the stopping rule speaks of."""

    x: Array  # (d,) iterate
    y: Array  # (d,) extrapolated point
    value: float  # F(x)
    n: float  # step size to try next
    momentum: float  # FISTA's sequence, for mu = 0
    rises: int  # times in a row that F rose
    answer: Array  # (d,) a point T(u) = P_X(u - n grad F(u))
    distance: float  # dist(-grad F, N_X) there; inf where it was not worth measuring
    idle: int  # steps in a row that left x where it was, up to rounding
    taken: int  # steps taken


@dataclass(frozen=True, kw_only=True)
class AcceleratedProjectedGradient(Solver[State]):
    r"""Nesterov's method for a smooth, `mu`-strongly convex F on a simple set.

    With ``T(u) = P_X(u - n grad F(u))`` and ``q = (1 - sqrt(mu n)) / (1 + sqrt(mu n))``:

    1. x <- T(y), where n is cut until F(x) <= F(y) + <grad F(y), x - y> + |x - y|^2 / (2 n)
    2. y <- x + q (x - x_old), where q = 0 if mu n >= 1 or F rose 5 times in a row
    3. stop where the gradient mapping |u - T(u)| / n at u = y (or at u = x) is at most tol and
       dist(-grad F, N_X) at T(u), measured there, is at most tol

    For ``mu = 0`` the momentum is FISTA's. It is restarted where it points uphill, and a step that
    raises F is refused: so F falls along the iterates, and the method can be used where F is not convex.

    Output: ``T(u)``; its distance is at most `tol` when the verdict is `Status.CONVERGED`, and at the latest
    where the mapping is at most ``tol / (1 + K n)``, K a Lipschitz constant of grad F and ``n <= 1/K``.

    Guarantee: ``F(x_k) - F* <= (1 - sqrt(mu/K))^k (F(x_0) - F* + mu/2 |x_0 - x*|^2)``, n = 1/K.

    Parameters
    ----------
    mu : float
        A strong-convexity modulus of F; 0 where none is known.
    step_size : float or Backtracking, optional
        A number n is used as it is. By default ``1 / L`` where the problem's facts know the
        smoothness L, else `Backtracking`.
    tol : float
        The distance of the negative gradient from the normal cone to reach.
    steps : int
        The budget; the verdict is then `Status.MAX_STEPS`.
    test_at : {"y", "x"}
        Where the gradient mapping is measured: "x", as in Huang, Lin & Xu 2025, costs one more gradient
        a step.

    References
    ----------
    Nesterov 2018, scheme (2.2.22); Beck & Teboulle 2009; O'Donoghue & Candes 2015;
    Huang, Lin & Xu 2025.
    """

    name: ClassVar[str] = "apg"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="strongly convex smooth objective, no constraints",
        quantity="dist(-grad F, N_X) <= eps",
        rate="O(sqrt(K/mu) log 1/eps)",
        reference="Nesterov 2018",
    )
    needs: ClassVar[tuple[Need, ...]] = (SMOOTH, UNCONSTRAINED)
    claim: ClassVar[Claim] = Claim()

    mu: float = 0.0
    step_size: float | Backtracking | None = None
    tol: float = 1e-6
    steps: int = 10_000
    test_at: str = "y"

    def __post_init__(self) -> None:
        owner = type(self).__name__
        _check.non_negative(owner, "mu", self.mu)
        if self.step_size is not None and not isinstance(self.step_size, Backtracking):
            _check.positive(owner, "step_size", self.step_size)
        _check.non_negative(owner, "tol", self.tol)
        _check.count(owner, "steps", self.steps, least=1)
        _check.choice(owner, "test_at", self.test_at, ("y", "x"))

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        point = problem.at(x0)
        n = self._rule(problem).start(problem, point)
        return State(x0, x0, point.objective, n, 1.0, 0, x0, math.inf, 0, 0)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        at_y = problem.at(state.y)
        at_x, n, wider = self._rule(problem).descend(problem, at_y, state.n)  # 1
        x, value = at_x.x, at_x.objective
        answer, distance = self._test(problem, at_y, at_x, n)  # 3
        rises = (
            state.rises + 1
            if value > state.value + ROUNDING_ERRORS * unit_rounding(x) * abs(value)
            else 0
        )
        taken = state.taken + 1
        if self.mu == 0 and rises and state.momentum > 1:  # the step is refused
            tested = {"answer": answer, "distance": distance, "taken": taken}
            return replace(state, y=state.x, n=wider, momentum=1.0, **tested)
        q, momentum = self._momentum(state, x, n, rises)
        y = x + q * (x - state.x)  # 2
        idle = state.idle + 1 if norm(x - state.x) <= unit_rounding(x) * norm(x) else 0
        rises = rises if q > 0 else 0
        return State(x, y, value, wider, momentum, rises, answer, distance, idle, taken)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return ``T(u)``; there are no constraints and so no multipliers."""
        return state.answer, np.zeros(0)

    def verdict(self, state: State) -> Status | None:
        """Stop at `tol`, where rounding ends all progress, or at the end of the budget."""
        if state.distance <= self.tol:
            return Status.CONVERGED
        if state.idle >= PATIENCE:
            return Status.STALLED
        return Status.MAX_STEPS if state.taken >= self.steps else None

    def _rule(self, problem: Problem) -> StepSize:
        if isinstance(self.step_size, Backtracking):
            return self.step_size
        if self.step_size is not None:
            return Fixed(self.step_size)
        L = problem.facts.smoothness
        return Fixed(1 / L) if L else Backtracking()

    def _momentum(self, state: State, x: Array, n: float, rises: int) -> tuple[float, float]:
        """Return q, and the next term of FISTA's sequence."""
        if self.mu > 0:
            root = math.sqrt(self.mu * n)
            restart = root >= 1 or rises >= PATIENCE
            return (0.0 if restart else (1 - root) / (1 + root)), 1.0
        if dot(state.y - x, x - state.x) > 0:
            return 0.0, 1.0
        ahead = 0.5 * (1 + math.sqrt(1 + 4 * state.momentum**2))
        return (state.momentum - 1) / ahead, ahead

    def _test(self, problem: Problem, at_y: Point, at_x: Point, n: float) -> tuple[Array, float]:
        """Return ``T(u)`` and, where the gradient mapping is small, the distance there."""
        u, at_T = at_y.x, at_x
        if self.test_at == "x":
            u = at_x.x
            at_T = problem.at(problem.domain.project(u - n * at_x.gradient(0)))
        if norm(u - at_T.x) > n * self.tol:
            return at_T.x, math.inf
        return at_T.x, problem.domain.normal_distance(at_T.x, -at_T.gradient(0))
