"""Steps taken one by one, as rows come in."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Problem
from equipoise.certificate import Certificate, certify
from equipoise.problems._answers import check_attributes
from equipoise.run._start import starting_point
from equipoise.run._watched import Counter, WatchedProblem
from equipoise.solvers import Solver, check_needs


class Online:
    """A run that takes a step when it is told to, and never ends by itself.

    For problems that change between steps, such as `equipoise.problems.AUCStream`, which is fed
    one row at a time.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    x0 : array of shape (d,), optional
        A point of the domain; by default the projection of the problem's `start`, or of 0. It is not
        changed.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.problems import AUCStream
    >>> from equipoise.run import Online
    >>> from equipoise.sets import L2Ball
    >>> from equipoise.solvers import SFLS, SMD, InverseSqrt
    >>> stream = AUCStream(2, kind="group", kappa=0.1, domain=L2Ball(1.0), interval=4.0)
    >>> run = Online(stream, SFLS(inner_method=SMD(steps=100, step_size=InverseSqrt(0.1))))
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     row, member = rng.normal(size=2), rng.random() < 0.5
    ...     stream.feed(row, positive=row[0] > 0, member=member)
    ...     run.step()
    >>> bool(run.x[0] > 0.05)
    True
    """

    def __init__(self, problem: Problem, solver: Solver, x0: Any = None, *, seed: int = 0) -> None:
        owner = "Online"
        check_attributes(owner, problem)
        _check.kind(owner, "solver", solver, Solver)
        start = starting_point(owner, problem, x0)
        check_needs(solver, problem, start)
        self.problem, self.solver = problem, solver
        self.steps, self.counter = 0, Counter()
        self._rng = np.random.default_rng(_check.count(owner, "seed", seed))
        self._watched = WatchedProblem(problem, self.counter)
        self.state = solver.init(self._watched, start)

    def step(self) -> None:
        """Take one step on the problem as it is now."""
        self._watched.forget()  # what was evaluated of the problem before it changed
        self.state = self.solver.step(self._watched, self.state, self.steps, self._rng)
        self.steps += 1

    @property
    def x(self) -> Array:
        """The method's output so far."""
        return self.solver.output(self.state)[0]

    def certificate(self) -> Certificate:
        """Certify the output on the problem as it is now."""
        x, multipliers = self.solver.output(self.state)
        return certify(self.problem, x, multipliers)
