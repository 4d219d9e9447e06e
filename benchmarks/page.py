"""What a benchmark prints, kept to be written as a page of the documentation."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits


class Page:
    """Text and tables, printed at once as Markdown and written at the end; goals are collected."""

    def __init__(self, title: str, command: str, timed: bool = True) -> None:
        self.lines: list[str] = []
        self.goals: list[tuple[str, float, float]] = []
        self.widths: list[int] = []
        self.say(f"# {title}\n")
        how = (
            " Ratios of times are within one run; every method has the number of "
            f"BLAS threads that suits it best (of {', '.join(map(str, threads()))})."
        )
        self.say(f"Produced by `{command}`.{how if timed else ''}\n")

    def say(self, text: str = "") -> None:
        print(text, flush=True)
        self.lines.append(text)

    def table(self, *columns: str) -> None:
        """Start a table."""
        self.widths = [max(len(name), 7) for name in columns]
        self.say()
        self.row(*columns)
        self.row(*("-" * width for width in self.widths))

    def row(self, *cells: Any) -> None:
        """Add a row; words to the left, numbers to the right."""
        padded = (
            str(cell).rjust(width) if _is_number(cell) else str(cell).ljust(width)
            for cell, width in zip(cells, self.widths)
        )
        self.say(f"| {' | '.join(padded)} |")

    def goal(self, text: str, measured: float, limit: float) -> None:
        """Note a goal `measured <= limit` for the summary; nan is a goal missed."""
        self.goals.append((text, measured, limit))

    def summary(self) -> None:
        """List the goals, and which were met in this run."""
        if not self.goals:
            return
        self.say("\n## Goals")
        self.table("goal", "measured", "at most", "met")
        for text, measured, limit in self.goals:
            self.row(text, figure(measured), f"{limit:.3g}", yes(measured <= limit))

    def write(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(self.lines).rstrip() + "\n")
        print(f"\nwritten to {path}")


def facts(*packages: str) -> str:
    """Versions and the machine, in one line."""
    return ", ".join(
        [
            *(f"{name} {_version(name)}" for name in packages),
            f"Python {platform.python_version()}",
            f"{os.cpu_count()} cores",
            platform.machine(),
        ]
    )


def threads() -> tuple[int, ...]:
    """The numbers of BLAS threads to try: threads can slow a method down, badly on a busy machine."""
    return (1,) if os.cpu_count() == 1 else (1, os.cpu_count() or 1)


def best_times(actions: Sequence[Callable[[], Any]], repeats: int) -> tuple[list[float], list[Any]]:
    """The smallest time of each action, over repeats and numbers of BLAS threads.

    The actions take turns, so that a busy machine slows all.
    """
    times: list[list[float]] = [[] for _ in actions]
    answers: list[Any] = [None] * len(actions)
    for _ in range(repeats):
        for number in threads():
            for i, action in enumerate(actions):
                with threadpool_limits(number):
                    start = time.perf_counter()
                    answers[i] = action()
                    times[i].append(time.perf_counter() - start)
    return [min(t) for t in times], answers


def figure(value: float) -> str:
    """Three digits; a dash for what was never reached."""
    if value != value:
        return "never"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def yes(condition: Any) -> str:
    return "yes" if condition else "NO"


def _is_number(cell: Any) -> bool:
    return str(cell).lstrip("+-").replace(".", "", 1).replace("e", "").replace("-", "").isdigit()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
