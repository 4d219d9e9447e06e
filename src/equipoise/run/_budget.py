"""A budget: what several runs share, so that together they are one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from equipoise import _check
from equipoise._status import Status
from equipoise.certificate import Certificate
from equipoise.run._interrupt import Interrupts
from equipoise.run._progress import Display
from equipoise.run._trace import Examination, Trace
from equipoise.run._watched import Counter


class Budget:
    """Time, counts, trace, progress, callback and the wish to stop, shared by several runs.

    Work that consists of stages enters the budget, names its stages, and hands it to every `solve`. Each
    of these stops when the budget says so; the work looks at `wish` between them.

    Parameters
    ----------
    max_seconds : float, optional
        For all runs together, by the clock on the wall.
    callback : callable, optional
        Called with an `Iteration` after every step of every run.
    progress : bool
        Show one progress bar, which names the stage.
    name : str
        What the bar shows before the first stage.

    Attributes
    ----------
    steps : int
        Of all runs so far.
    counter : Counter
        Evaluations of all runs so far.
    trace : Trace
        The examinations of all runs.
    stage : str
        What is being done.
    error : exception or None
        What the callback raised.

    Examples
    --------
    >>> from equipoise import Budget, solve
    >>> from equipoise.problems import REFERENCES
    >>> reference = REFERENCES["convex"]()
    >>> with Budget(max_seconds=60) as budget:
    ...     for tol in (1e-2, 1e-6):
    ...         budget.enter(f"to {tol:g}")
    ...         result = solve(reference.problem, "auto", reference.start, tol=tol, budget=budget)
    >>> budget.wish is None, list(dict.fromkeys(budget.trace.stage))
    (True, ['to 0.01', 'to 1e-06'])
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        callback: Callable[..., Any] | None = None,
        progress: bool = False,
        name: str = "",
    ) -> None:
        if max_seconds is not None:
            max_seconds = _check.non_negative("Budget", "max_seconds", max_seconds)
        if callback is not None:
            _check.function("Budget", "callback", callback)
        progress = _check.flag("Budget", "progress", progress)
        name = _check.text("Budget", "name", name)
        self.max_seconds, self.callback = max_seconds, callback
        self.steps, self.counter, self.trace = 0, Counter(), Trace()
        self.stage = ""
        self._most_steps = math.inf
        self.error: BaseException | None = None
        self._stopped: Status | None = None
        self._last_of_others: Examination | None = None  # of the runs before the one at work
        self._name, self._display = name, Display(progress)
        self._interrupts = Interrupts(lambda: self.stop(Status.INTERRUPTED))
        self._started = time.perf_counter()

    def __enter__(self) -> Budget:
        self._started = time.perf_counter()
        self._interrupts.__enter__()
        self._display.open(self._name, None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._interrupts.__exit__()
        self._display.close()

    def enter(self, stage: str) -> None:
        """Begin a stage."""
        self.stage = _check.text("Budget", "stage", stage)
        self._display.rename(stage)

    def stop(self, status: Status, error: BaseException | None = None) -> None:
        """Wish that all work ends, and say why; the first reason counts, but Ctrl-C before all others."""
        first = status if status is Status.INTERRUPTED else self._stopped or status
        self._stopped, self.error = first, self.error or error

    def call(self, iteration: Any) -> Status | None:
        """Call the callback, if there is one; an error ends all work but loses nothing."""
        if self.callback is None:
            return None
        try:
            self.callback(iteration)
        except StopIteration:
            self.stop(Status.STOPPED)
            return Status.STOPPED
        except Exception as error:
            self.stop(Status.CALLBACK_FAILED, error)
            return Status.CALLBACK_FAILED
        return None

    @property
    def wish(self) -> Status | None:
        """Why all work should end now, if it should."""
        if self._stopped is None and self.remaining <= 0.0:
            self._stopped = Status.MAX_SECONDS
        if self._stopped is None and self.steps >= self._most_steps:
            return Status.MAX_STEPS
        return self._stopped

    @contextmanager
    def limited(self, steps: int) -> Iterator[None]:
        """Wish that the work inside ends after so many further steps, by all its runs together.

        A run at work comes to its own end first.
        """
        steps = _check.count("Budget", "steps", steps)
        before, self._most_steps = self._most_steps, min(self._most_steps, self.steps + steps)
        try:
            yield
        finally:
            self._most_steps = before

    @property
    def seconds(self) -> float:
        """The time since the work began."""
        return time.perf_counter() - self._started

    @property
    def remaining(self) -> float:
        """The seconds that are left; infinite without a limit."""
        return float("inf") if self.max_seconds is None else self.max_seconds - self.seconds

    def examined(self, t: int, certificate: Certificate, counter: Counter) -> None:
        """Take an examination of the run at work, after its step `t`, into the common trace."""
        rows = self.trace.rows
        first = bool(rows) and rows[-1] is self._last_of_others
        values = self.steps + t, certificate, self.counter + counter, self.seconds, self.stage
        self.trace.add(*values, replaces=not first)

    def stepped(self, t: int, certificate: Certificate | None) -> None:
        """Show the progress of the run at work, after its step `t`."""
        self._display.update(self.steps + t, certificate)

    def ended(self, t: int, counter: Counter) -> None:
        """Add up what a run has done that has come to its end."""
        self.steps += t
        self.counter = self.counter + counter
        self._last_of_others = self.trace.rows[-1] if self.trace.rows else None
