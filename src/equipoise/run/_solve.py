"""`solve`: let a solver take steps on a problem, and certify where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import is_tensor, namespace, to_numpy
from equipoise._problem import Problem
from equipoise.problems._answers import check_attributes
from equipoise.run._budget import Budget
from equipoise.run._checkpoint import Checkpoint
from equipoise.run._iteration import Iteration
from equipoise.run._loop import go
from equipoise.run._result import Result
from equipoise.run._run import Run
from equipoise.run._start import starting_point
from equipoise.solvers import SOLVERS, Solver, check_needs, choose


def solve(
    problem: Problem,
    solver: Solver | str = "auto",
    x0: Any = None,
    *,
    max_steps: int = 10_000,
    tol: float = 0.0,
    max_seconds: float | None = None,
    seed: int = 0,
    callback: Callable[[Iteration], Any] | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | str | Path | None = None,
    density: int | None = None,
    budget: Budget | None = None,
    second_order: bool = True,
    diagnose: bool = True,
) -> Result:
    """Let a solver take steps on a problem, and certify where it stopped.

    Parameters
    ----------
    problem : Problem
    solver : Solver or str
        A solver object, or its name in `equipoise.solvers.SOLVERS` for one with all defaults. By
        default one is chosen by the problem's facts (`equipoise.solvers.choose`).
    x0 : array of shape (d,), optional
        A point of the domain; by default the projection of the problem's `start`, or of 0. It is not
        changed. From a tensor, the result is one on its device.
    max_steps : int
    tol : float
        Stop once stationarity, violation and complementarity of the output are all at most `tol`.
        With 0 the run goes on to the end of its budget. At a kink one subgradient proves little: a
        run that ends feasible but not certified is examined for near-stationarity (`result.near`),
        where the facts know the weak convexity and the problem is not huge.
    max_seconds : float, optional
        A limit on the solver's time.
    seed : int
        All randomness follows from it.
    callback : callable, optional
        Called with an `Iteration` after every step, all read-only. Raising `StopIteration` ends the run; any
        other error ends it too, is kept in ``result.error``, and nothing computed is lost.
    progress : bool
        Show a progress bar.
    checkpoint : Checkpoint or path, optional
        Keep the run on disk; if the file exists, continue from it, bit for bit. `max_steps` and
        `max_seconds` count the whole run.
    density : int
        Examinations per tenfold of steps; each is a row of the trace. By default 6, and 2 for a
        method that measures its own residual in every step.
    budget : Budget, optional
        Shared with other runs: it has the time limit, the callback and the progress bar of all.
    second_order : bool
        Look at the curvature where the run comes to a KKT point of functions that may be smooth
        (``result.certificate.curvature``), and leave saddles and maxima along a direction that bends
        down. A convex problem needs neither. In more than 20 dimensions the look takes 12 to 20 products (or
        evaluations) at the least, and a quarter of what the run took at the most; where points estimate their
        curvature, as those of estimators do, a run that took steps looks only where a quarter is enough to
        tell anything. Where the method stops at a point that is not feasible, go
        on from one that is, if a few descents of the violation from elsewhere find one.
    diagnose : bool
        Where no feasible point was met, look for a proof that there is none, and for one elsewhere: that can
        take longer than the run. Without it the status is then NOT_FOUND.

    Returns
    -------
    Result

    Examples
    --------
    >>> from equipoise import solve
    >>> from equipoise.problems import REFERENCES
    >>> reference = REFERENCES["convex"]()
    >>> result = solve(reference.problem, "switching", reference.start, tol=1e-2)
    >>> result.success, result.x.round(2)
    (True, array([1., 0.]))
    """
    owner = "solve"
    check_attributes(owner, problem)
    tol = _check.non_negative(owner, "tol", tol)
    method = _solver(problem, solver, tol)
    given = start = starting_point(owner, problem, x0)
    if problem.solved_on_host:
        start = to_numpy(start) if is_tensor(start) else start
    max_steps = _check.count(owner, "max_steps", max_steps)
    if max_seconds is not None:
        max_seconds = _check.non_negative(owner, "max_seconds", max_seconds)
    seed = _check.count(owner, "seed", seed)
    if density is None:
        density = 2 if method.exact else 6
    density = _check.count(owner, "density", density, least=1)
    if callback is not None:
        _check.function(owner, "callback", callback)
    progress = _check.flag(owner, "progress", progress)
    second_order = _check.flag(owner, "second_order", second_order)
    diagnose = _check.flag(owner, "diagnose", diagnose)
    if budget is not None and (callback is not None or progress):
        rule = "must be left out with a `budget`, which has them"
        _check.fail(owner, "callback` and `progress", rule, (callback, progress))
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(Path(_check.path(owner, "checkpoint", checkpoint)))
    if budget is not None:
        _check.kind(owner, "budget", budget, Budget)
    check_needs(method, problem, start)
    with ExitStack() as stack:
        stack.enter_context(np.errstate(over="ignore", invalid="ignore"))  # it shows in the status
        if budget is None:
            name = type(method).__name__
            budget = stack.enter_context(Budget(callback=callback, progress=progress, name=name))
        asked = (problem, method, start, seed, tol, density, checkpoint, budget)
        run = Run(*asked, second_order, diagnose)
        result = go(run, max_steps, max_seconds)
    if given is start:
        return result
    xp = namespace(given)  # in double precision, as the certificate says
    return replace(result, x=xp.asarray(result.x, dtype=xp.float64, device=given.device))


def _solver(problem: Problem, solver: Solver | str, tol: float) -> Solver:
    if isinstance(solver, str):
        if solver == "auto":
            return choose(problem, tol)
        return SOLVERS[_check.choice("solve", "solver", solver, ("auto", *SOLVERS))]()
    if not isinstance(solver, Solver):
        hint = " Give an object, e.g. SwitchingSubgradient()." if isinstance(solver, type) else ""
        raise TypeError(f"solve: `solver` must be a Solver or a name, got {solver!r}.{hint}")
    return solver
