"""The methods with the settings that are tried, and how a model is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.many_groups.study import Study
from equipoise.run import Online
from equipoise.solvers import PLADA, MultiplierModel

STEPS, EVERY = 1000, 25  # of a run; between two candidates
SIZES = (0.01, 0.03, 0.1)  # of steps, the same for all methods
ALLOWED = (
    0.01  # how much worse than the best plain network a model may be on validation rows, in error
)

Row = list[tuple[float, float, float]]
"""Error, largest excess and 99th percentile of a candidate, on training, validation and test rows."""


def _plada(study: Study, mode: str, size: float):
    """The paper's settings for networks but for the step size."""
    return study.fair(mode), PLADA(eta=size, tau=0.01, alpha=10.0, beta=0.5, gamma=0.1)


def _multipliers(study: Study, size: float):
    """The published code's settings but for the step size; three hidden layers, as in the PLADA paper."""
    features, hidden = study.thresholds, (100, 100, 100)
    solver = MultiplierModel(features=features, hidden=hidden, step_size=size, scale=5.0)
    return study.proxy(), solver


METHODS: dict[str, Callable[[Study, float], tuple]] = {
    "no constraints": lambda study, size: (study.plain, MultiplierModel(step_size=size)),
    "PLADA, all groups": lambda study, size: _plada(study, "all", size),
    "PLADA, mean of groups": lambda study, size: _plada(study, "mean", size),
    "multiplier model": _multipliers,
}
"""By name, a problem and a method for a step size."""


def candidates(study: Study, method: str, size: float, steps: int = STEPS) -> Iterator[Row]:
    """Measure the iterate of a run every so often."""
    problem, solver = METHODS[method](study, size)
    run = Online(problem, solver, study.start, seed=study.seed)
    for step in range(1, steps + 1):
        run.step()
        if step % EVERY == 0:
            yield list(study.measured(run.state.x).values())


def chosen(rows: np.ndarray, most: float) -> int:
    """The candidate with the least excess among those with an error of at most `most`, on validation rows.

    Where there is none, the one with the least error.
    """
    error, excess = rows[:, 1, 0], rows[:, 1, 1]
    inside = error <= most
    if not inside.any():
        return int(error.argmin())
    return int(np.lexsort((error, np.where(inside, excess, np.inf)))[0])
