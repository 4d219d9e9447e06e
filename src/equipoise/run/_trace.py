"""The course of a run: a bounded number of rows, each one an examination."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.certificate import Certificate
from equipoise.run._watched import Counter

# Rows of a trace, at the most; beyond, every other row is dropped. Chosen.
MAX_TRACE_ROWS = 2000


@dataclass(frozen=True)
class Examination:
    """One examination of the solver's output: a row of the trace."""

    step: int
    values: np.ndarray
    violation: float
    stationarity: float
    complementarity: float
    evaluations: int
    gradients: int
    seconds: float
    stage: str = ""


@dataclass
class Trace:
    """Columns over the examinations; ``len(trace)`` rows.

    Beyond `MAX_TRACE_ROWS` rows every other one is dropped, the newest kept, so memory stays bounded.
    """

    rows: list[Examination] = field(default_factory=list)

    def add(
        self,
        step: int,
        certificate: Certificate,
        counter: Counter,
        seconds: float,
        stage: str = "",
        *,
        replaces: bool = True,
    ) -> None:
        """Append an examination; it `replaces` one at the same step."""
        if replaces and self.rows and self.rows[-1].step == step:
            self.rows.pop()
        self.rows.append(
            Examination(
                step=step,
                values=certificate.values,
                violation=certificate.violation,
                stationarity=certificate.stationarity,
                complementarity=certificate.complementarity,
                evaluations=counter.values,
                gradients=counter.gradients,
                seconds=seconds,
                stage=stage,
            )
        )
        if len(self.rows) > MAX_TRACE_ROWS:
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
        """Objective and constraints, shape (rows, m + 1).

        Where stages have different constraints, those of the last stage's problem; NaN before it.
        """
        last = self.rows[-1].values.size if self.rows else 1
        nothing = np.full(last, np.nan)
        rows = [row.values if row.values.size == last else nothing for row in self.rows]
        return np.array(rows).reshape(len(rows), last)

    @property
    def objective(self) -> np.ndarray:
        """The objective."""
        return np.array([row.values[0] for row in self.rows])

    @property
    def stage(self) -> tuple[str, ...]:
        """The stage of each examination, where there are several."""
        return tuple(row.stage for row in self.rows)

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

    def plot(self, axes: Any = None) -> Any:
        """Draw the objective, and residuals on a scale of their own, against evaluations; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib axes, optional
            Of the objective; by default new ones.

        Returns
        -------
        matplotlib axes
        """
        from matplotlib import pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 4.2))
        axes.plot(self.evaluations, self.objective, color="black", label="objective")
        axes.set_xlabel("evaluations")
        axes.set_ylabel("objective")
        residuals = axes.twinx()
        for name in ("violation", "stationarity", "complementarity"):
            residuals.plot(self.evaluations, getattr(self, name), linestyle="--", label=name)
        residuals.set_yscale("symlog", linthresh=1e-9)
        residuals.set_ylabel("residuals")
        residuals.legend()
        return axes

    def to_frame(self) -> Any:
        """Return the trace as a pandas data frame, one row for each examination."""
        import pandas as pd

        names = ("stage", "step", "objective", "violation", "stationarity", "complementarity")
        columns = {name: getattr(self, name) for name in names}
        counts = ("evaluations", "gradients", "seconds")
        return pd.DataFrame(columns | {name: getattr(self, name) for name in counts})
