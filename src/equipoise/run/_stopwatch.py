"""The solver's time, with everything that is not its work left out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Counts seconds from `start` on, after those of an earlier part of the run."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds  # up to the latest reading

    def start(self) -> None:
        """Go on from now."""
        self._since = time.perf_counter()

    def read(self) -> float:
        """Return the seconds so far."""
        now = time.perf_counter()
        self.seconds += now - self._since
        self._since = now
        return self.seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what is done inside."""
        self.read()
        try:
            yield
        finally:
            self.start()
