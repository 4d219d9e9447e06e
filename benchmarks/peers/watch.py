"""A stopwatch for solvers: what they had reached, and when; looking stops the clock."""

from __future__ import annotations

import time

import numpy as np


class OutOfTimeError(Exception):
    """Raised inside a solver's callback to end it."""


class Watch:
    """The course of one run of a solver."""

    def __init__(self, problem) -> None:
        self.problem, self.seen = problem, []
        self.restart()

    def restart(self) -> None:
        """Start the clock anew, after what is not to count."""
        self.lost, self.start = 0.0, time.perf_counter()

    def see(self, x, limit: float = np.inf) -> None:
        """Note the point reached; raise once `limit` seconds are over."""
        now = time.perf_counter()
        point = self.problem.at(np.array(x))
        seconds = now - self.start - self.lost
        self.seen.append((seconds, float(point.objective), float(point.violation)))
        self.lost += time.perf_counter() - now
        if seconds > limit:
            raise OutOfTimeError

    def time_to(self, objective: float, violation: float) -> float:
        """Seconds until a point as good as this; nan if there was none."""
        reached = (t for t, f, v in self.seen if f <= objective and v <= violation)
        return next(reached, float("nan"))


def earliest(watches, objective: float, violation: float) -> float:
    """The smallest time of several runs; nan if none got there."""
    times = np.array([watch.time_to(objective, violation) for watch in watches])
    return float(np.nanmin(times)) if np.isfinite(times).any() else float("nan")
