"""The examinations of a run: what was certified, when, and the best of it."""

from __future__ import annotations

import math
from typing import Any

from equipoise._array import Array, all_finite
from equipoise._problem import NonFiniteError, Problem
from equipoise.certificate import Certificate, examine
from equipoise.run._budget import Budget
from equipoise.run._trace import Trace
from equipoise.run._verdict import examine_both
from equipoise.run._watched import WatchedProblem


class Examinations:
    """Certificates of a method's outputs, ever rarer as a run goes on.

    Parameters
    ----------
    problem : Problem
        As the user gave it.
    watched : WatchedProblem
        The same, as the solver sees it.
    tol : float
    density : int
        Examinations per tenfold of steps.
    budget : Budget
    """

    def __init__(
        self, problem: Problem, watched: WatchedProblem, tol: float, density: int, budget: Budget
    ) -> None:
        self._problem, self._watched, self._tol = problem, watched, tol
        self._density, self._budget = density, budget
        self.trace = Trace()
        self.due = 0  # the step of the next one
        self.best: Certificate | None = None
        self.latest: Certificate | None = None

    def resume(self, t: int, trace: Trace, best: Certificate | None, due: int) -> None:
        """Go on after those of an earlier part of the run, which ended after step `t`."""
        self.trace, self.best, self.due = trace, best, due
        if due == self._next_due(t):  # it was examined here: the reason to stop may be gone
            self.due = t

    def restart(self, t: int) -> None:
        """Forget what was found, as the method starts again at step `t`."""
        self.latest, self.best, self.due = None, None, t

    @property
    def last_step(self) -> int:
        """The step of the latest one; -1 before the first."""
        return self.trace.rows[-1].step if self.trace.rows else -1

    @property
    def least_violation(self) -> float:
        """The least violation that was met."""
        return min((row.violation for row in self.trace.rows), default=math.inf)

    def take(
        self, t: int, output: tuple[Array, Any], seconds: float, quick: bool = False
    ) -> Certificate:
        """Certify the output after step `t`, which took the solver so long; remember the best so far."""
        certificate = self.certify(output, quick)
        if self.best is None or certificate.residual < self.best.residual:
            self.best = certificate
        counter, budget = self._watched.counter, self._budget
        self.trace.add(t, certificate, counter, seconds, budget.stage)
        budget.examined(t, certificate, counter)
        self.latest = certificate
        return certificate

    def schedule(self, t: int) -> None:
        """Let the next one come in good time after one at step `t`."""
        self.due = self._next_due(t)

    def certify(self, output: tuple[Array, Any], quick: bool = False) -> Certificate:
        """Certify a solver's output; quickly with the solver's own multipliers."""
        x, multipliers = output
        if not all_finite(x):
            raise NonFiniteError("The method's output is not finite.")
        point = self._watched.free(x)  # examinations are not the solver's count
        if quick and multipliers is not None:
            return examine(self._problem, point, multipliers)
        return examine_both(self._problem, point, multipliers, self._tol)

    def _next_due(self, t: int) -> int:
        """Return the step of the next one after one at step `t`."""
        return max(t + 1, math.ceil((t + 1) * 10 ** (1 / self._density)) - 1)
