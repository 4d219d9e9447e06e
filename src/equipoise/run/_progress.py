"""A progress bar, only where asked for."""

from __future__ import annotations

import time
from typing import Any

from equipoise.certificate import Certificate

# The time between two drawings of the bar. Chosen.
EVERY_SECONDS = 0.1

# The characters of the label and of the bar. Chosen: the numbers after them are cut off first on a narrow
# terminal.
LABEL_WIDTH, BAR_WIDTH = 24, 12


class Display:
    """A bar that is drawn if wanted, and costs nothing if not."""

    def __init__(self, wanted: bool) -> None:
        self._wanted, self._drawn = wanted, 0.0
        self._latest: tuple[int, Certificate | None] = (0, None)
        self._bar: Any = None
        self._task: Any = None
        self._total: int | None = None

    def open(self, label: str, total: int | None) -> None:
        """Begin to draw; without a total the bar only pulses."""
        if not self._wanted:
            return
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._total = total
        count = "{task.completed}" if total is None else "{task.completed}/{task.total}"
        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(min_width=LABEL_WIDTH)),
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn(count + " steps", table_column=Column(min_width=10)),
            TimeElapsedColumn(),
            TextColumn("{task.fields[state]}"),
        )
        self._bar.start()
        self._task = self._bar.add_task(label, total=total, state="")

    def rename(self, label: str) -> None:
        """Say what is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description=label, refresh=True)

    def update(self, step: int, certificate: Certificate | None) -> None:
        """Draw the step and the latest certificate, but not too often."""
        if self._bar is None:
            return
        now, self._latest = time.monotonic(), (step, certificate)
        if now - self._drawn >= EVERY_SECONDS or step == self._total:
            self._drawn = now
            self._draw()

    def _draw(self) -> None:
        (step, certificate), state = self._latest, ""
        if certificate is not None:
            state = (
                f"objective {certificate.objective:.5g}  violation {certificate.violation:.1e}  "
                f"stationarity {certificate.stationarity:.1e}"
            )
        self._bar.update(self._task, completed=step, state=state)

    def close(self) -> None:
        """Draw for the last time."""
        if self._bar is not None:
            self._draw()
            self._bar.stop()
            self._bar = None
