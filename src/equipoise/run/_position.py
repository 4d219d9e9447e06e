"""Where a run is: what a step changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._array import Array
from equipoise.run._escape import Departures
from equipoise.run._watched import Counter
from equipoise.solvers import Solver


@dataclass(frozen=True)
class Position:
    """A run between two steps. It is replaced as a whole, so it is whole whenever Ctrl-C comes."""

    t: int  # steps taken
    state: Any  # the solver's
    previous: tuple[Array, np.ndarray | None]  # the output one step ago
    solver: Solver  # as it is after a restart
    departures: Departures  # of points that were left
    # Where there is a checkpoint, as they were after the step, so that one cut short is taken again:
    rng: Mapping[str, Any]
    counter: Counter
    latest: Array | None  # where the latest evaluation was
    earlier: list[Array]  # where those were that are remembered
    pulled: list[np.ndarray]  # weights of the gradients at hand of the latest
