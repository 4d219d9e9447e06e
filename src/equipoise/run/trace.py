"""The course of a run: a bounded number of rows, each one an examination."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise.certificate import Certificate
from equipoise.run.counted import Counter

MOST_ROWS = 2000


@dataclass(frozen=True)
class Row:
    """One examination of the solver's output."""

    step: int
    values: np.ndarray
    violation: float
    stationarity: float
    complementarity: float
    evaluations: int
    gradients: int
    seconds: float


@dataclass
class Trace:
    """Columns over the examinations; ``len(trace)`` rows.

    Beyond `MOST_ROWS` rows every other one is dropped, the newest kept, so memory stays bounded.
    """

    rows: list[Row] = field(default_factory=list)

    def add(self, step: int, certificate: Certificate, counter: Counter, seconds: float) -> None:
        """Append an examination; a second one at the same step replaces the first."""
        if self.rows and self.rows[-1].step == step:
            self.rows.pop()
        self.rows.append(
            Row(
                step=step,
                values=certificate.values,
                violation=certificate.violation,
                stationarity=certificate.stationarity,
                complementarity=certificate.complementarity,
                evaluations=counter.values,
                gradients=counter.gradients,
                seconds=seconds,
            )
        )
        if len(self.rows) > MOST_ROWS:
            self.rows = self.rows[:-1:2] + self.rows[-1:]

    def __len__(self) -> int:
        return len(self.rows)

    def _column(self, name: str) -> np.ndarray:
        return np.array([getattr(row, name) for row in self.rows])

    @property
    def step(self) -> np.ndarray:
        """Steps taken before each examination."""
        return self._column("step")

    @property
    def values(self) -> np.ndarray:
        """Objective and constraints, shape (rows, m + 1)."""
        return self._column("values")

    @property
    def objective(self) -> np.ndarray:
        """The objective."""
        return self.values[:, 0]

    @property
    def violation(self) -> np.ndarray:
        """The largest violation."""
        return self._column("violation")

    @property
    def stationarity(self) -> np.ndarray:
        """The stationarity residual."""
        return self._column("stationarity")

    @property
    def complementarity(self) -> np.ndarray:
        """The complementarity residual."""
        return self._column("complementarity")

    @property
    def evaluations(self) -> np.ndarray:
        """Forward passes of the solver so far."""
        return self._column("evaluations")

    @property
    def gradients(self) -> np.ndarray:
        """Backward passes of the solver so far."""
        return self._column("gradients")

    @property
    def seconds(self) -> np.ndarray:
        """Seconds the solver used so far; examinations are not counted."""
        return self._column("seconds")
