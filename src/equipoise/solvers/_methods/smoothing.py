"""Smoothing: Newton's method on rounded kinks, rounder ones first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._status import Status
from equipoise.solvers._methods.augmented_newton import AugmentedNewton
from equipoise.solvers._parts.warm_start import Start, check_start, known_multipliers, start_from
from equipoise.solvers._solver import DETERMINISTIC, Claim, Finished, Guarantee, Need, Solver

__all__ = ["Smoothing"]

SMOOTHABLE = Need("kinks that it can round", lambda problem, _: problem.smoothed(1.0) is None)

# The first width: about the size of the scores of a standardised model. Chosen.
FIRST_WIDTH = 1.0

# The first width after a warm start. Measured over eight hinge fits on census data, with their repeated
# solves: 9 % less work than from width 1; widths 0.2 and 0.008 save 3 % and 7 %.
WARM_WIDTH = 0.04

# The factor from one width to the next. Chosen.
WIDTH_FACTOR = 5.0

# The accuracy of a solution relative to its width. Chosen: what differs by less does not show.
ACCURACY_PER_WIDTH = 1e-2

# An accuracy that is enough whatever the width: rounding errors allow little more.
SUFFICIENT_ACCURACY = 1e-8

# Newton steps for one width at the most. Chosen.
MAX_STEPS_PER_WIDTH = 60

# The least width, and the least in rounding errors of the values (1e-11 in double precision, 1e-2 in
# single): those of the slopes grow with 1 / width. Chosen.
LEAST_WIDTH, LEAST_WIDTH_IN_ROUNDINGS = 1e-9, 1e5


@dataclass(frozen=True)
class State:
    """Newton's method at work on one width, and where it ended on the one before."""

    inner: Any  # Newton's state
    w: float  # width
    least: float  # the last width
    k: int  # Newton steps at this width
    x: Array | None  # (d,) solution at the last width
    w_last: float  # that width
    done: Status | None = None


@dataclass(frozen=True, kw_only=True)
class Smoothing(Solver[State]):
    r"""Solve ``min f_0^w  s.t.  f_i^w <= 0`` with every kink rounded over a width w, for ever smaller w.

    1. x <- a step of `AugmentedNewton` on the functions of width w, until it ends: at a residual of w / 100
       (but 1e-8 will do), or after 60 steps
    2. stop if w = `width`, or where Newton's method got stuck at an infeasible point
    3. w+ <- w / 5; x <- x + (w+ - w) / (w - w-) (x - x-), with the solution x- of the width w- before;
       Newton's method starts there, with the multipliers it had

    Line 3 rests on the solutions moving along a line as w falls, once it is settled which kinks they lie
    on. The first width is 1, less after a warm start.

    Output: the iterate, and Newton's multipliers. A smooth problem has one width, and is solved by
    Newton's method alone.

    Guarantee: the solutions are ``O(w)`` from KKT points of the problem itself (Chen 2012). Functions that
    differ by at most w have minima that differ by at most w (convex problems).

    Parameters
    ----------
    tol : float
        The KKT residual to aim for.
    width : float, optional
        The last one. By default a hundredth of `tol`, but not less than 1e-9 (1e-2 in single precision):
        rounding errors of the slopes grow with ``1 / w``.
    multipliers : array of shape (m,), optional
        Where Newton's method starts at the first width; 0 by default.

    References
    ----------
    Chen 2012; Nesterov 2005.
    """

    name: ClassVar[str] = "smoothing"
    guarantee: ClassVar[Guarantee] = Guarantee(
        problems="smooth functions, and kinks that can be rounded (hinge loss, absolute values)",
        quantity="KKT residual of functions within eps of the problem's",
        rate="locally superlinear for each of log 1/eps widths",
        reference="Chen 2012",
    )
    needs = (SMOOTHABLE, DETERMINISTIC)
    claim: ClassVar[Claim] = Claim(("active", "bilinear", "convex"), residual=1e-7, steps=500)

    tol: float = 1e-9
    width: float | None = None
    multipliers: Start | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_start(type(self).__name__, self.multipliers)
        _check.positive("Smoothing", "tol", self.tol)
        if self.width is not None:
            _check.positive("Smoothing", "width", self.width)

    def init(self, problem: Problem, x0: Array) -> State:
        """Return the state before the first step."""
        least = self.width
        if least is None:
            least = max(
                0.01 * self.tol, LEAST_WIDTH, LEAST_WIDTH_IN_ROUNDINGS * problem.facts.rounding
            )
        given = known_multipliers("Smoothing", problem, self.multipliers)
        first = FIRST_WIDTH if given is None else WARM_WIDTH
        w = least if problem.facts.smooth else max(first, least)
        newton = replace(self._newton(w), multipliers=given)
        inner = newton.init(_rounded(problem, w), x0)
        return State(inner, w, least, 0, None, np.inf)

    def step(self, problem: Problem, state: State, t: int, rng: np.random.Generator) -> State:
        """Return the state after step `t`."""
        w, newton = state.w, self._newton(state.w)
        inner = newton.step(_rounded(problem, w), state.inner, state.k, rng)  # 1
        verdict = newton.verdict(inner)
        if verdict is None and state.k + 1 < MAX_STEPS_PER_WIDTH:
            return replace(state, inner=inner, k=state.k + 1)
        x, lam = newton.output(inner)
        stuck = verdict is Status.STALLED and _rounded(problem, w).at(x).violation > self.tol
        if w <= state.least or stuck:  # 2
            done = verdict if verdict is Status.CONVERGED else Status.STALLED
            return replace(state, inner=inner, done=done)
        smaller = max(w / WIDTH_FACTOR, state.least)
        start, ahead = x, (smaller - w) / (w - state.w_last)
        if state.x is not None:
            start = problem.domain.project(x + ahead * (x - state.x))  # 3
        newton = replace(self._newton(smaller), multipliers=np.maximum(lam, 0.0))
        inner = newton.init(_rounded(problem, smaller), start)
        return State(inner, smaller, state.least, 0, x, w)

    def warm_started(self, result: Finished) -> Self:
        """Return this method, with the multipliers of `result` to start from."""
        return start_from(self, result)

    def output(self, state: State) -> tuple[Array, np.ndarray]:
        """Return the iterate and its multipliers."""
        return self._newton(state.w).output(state.inner)

    def verdict(self, state: State) -> Status | None:
        """Stop after the last width."""
        return state.done

    def _newton(self, w: float) -> AugmentedNewton:
        """Return Newton's method, as exact as the extrapolation of line 3 needs."""
        return AugmentedNewton(tol=max(ACCURACY_PER_WIDTH * w, min(self.tol, SUFFICIENT_ACCURACY)))


def _rounded(problem: Problem, w: float) -> Problem:
    smooth = problem.smoothed(w)
    assert smooth is not None  # see SMOOTHABLE
    return smooth
