"""A progress bar, only where asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def show(wanted: bool, label: str, total: int) -> Iterator[Callable[[int, Any], None]]:
    """Yield a function to call with the step and the latest certificate."""
    if not wanted:
        yield lambda _step, _certificate: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns) as display:
        task = display.add_task(label, total=total, state="")
        last = 0.0

        def update(step: int, certificate: Any) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < 0.1 and step < total:
                return
            last = now
            state = ""
            if certificate is not None:
                state = (
                    f"objective {certificate.objective:.5g}  violation {certificate.violation:.1e}  "
                    f"stationarity {certificate.stationarity:.1e}"
                )
            display.update(task, completed=step, state=state)

        yield update
