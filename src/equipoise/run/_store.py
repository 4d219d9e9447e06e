"""A run and its checkpoint: what is stored, and whether a file is of this run and can be continued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._array import Array
from equipoise._problem import Problem
from equipoise._storage.storable import storable_types
from equipoise.certificate import Certificate
from equipoise.run._checkpoint import Checkpoint, CheckpointError, Timer
from equipoise.run._escape import Departures
from equipoise.run._identity import Measured
from equipoise.run._probes import identify, tolerance
from equipoise.run._trace import Trace
from equipoise.run._watched import Counter
from equipoise.solvers import Solver


@dataclass(frozen=True)
class StoredRun:
    """What a checkpoint of `solve` holds."""

    identity: dict[str, Any]
    t: int  # steps taken
    state: Any  # the solver's
    rng: Mapping[str, Any]  # the generator, as it was after the step
    counter: Counter
    latest: Array | None  # where the latest evaluation was
    earlier: list[Array]  # where those were that are remembered
    pulled: list[np.ndarray]  # weights of the gradients at hand of the latest
    trace: Trace
    best: Certificate | None
    due: int  # the step of the next examination
    seconds: float
    departures: Departures  # points that were left


class RunStore:
    """The checkpoint of one run."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        problem: Problem,
        solver: Solver,
        x0: Array,
        seed: int,
        density: int,
    ) -> None:
        self._checkpoint, self._problem, self._solver, self._x0 = checkpoint, problem, solver, x0
        self._types = storable_types(solver)
        self.identity = identify(problem, solver, x0, seed, density)
        self.timer = Timer(checkpoint.every)

    def load(self) -> StoredRun | None:
        """Return what was stored, None without a file; raise where this run cannot go on from it."""
        stored = self._checkpoint.load(StoredRun, self.identity, self._types, self._x0)
        if stored is not None:
            try:
                fault = self._fault(stored)
            except Exception as error:
                raise self.refused(error) from error
            if fault is not None:
                raise self._checkpoint.refused(fault)
        return stored

    def save(self, contents: StoredRun) -> None:
        """Write the file, or warn."""
        self._checkpoint.save(contents, self._types)

    def refused(self, error: Exception) -> CheckpointError:
        """Return what to raise where going on from the file fails at once."""
        reason = f"going on from it fails at once ({type(error).__name__}: {error})"
        return self._checkpoint.refused(reason)

    def _fault(self, stored: StoredRun) -> str | None:
        """Return what is wrong with a file that is whole: not of a run, or of another problem's."""
        np.random.default_rng().bit_generator.state = stored.rng
        counts = (stored.t, stored.due, stored.counter.values, stored.counter.gradients)
        if min(counts) < 0 or not 0 <= stored.seconds < np.inf:
            return "its counts or its time are negative"
        x = stored.departures.restart(self._solver).output(stored.state)[0]
        points = (x, x if stored.latest is None else stored.latest, *stored.earlier)
        if any(tuple(point.shape) != (self._problem.dim,) for point in points):
            return "it has a point of another dimension"
        if any(tuple(w.shape) != (self._problem.n_constraints + 1,) for w in stored.pulled):
            return "it has weights of another number of functions"
        if stored.best is None:
            return None
        then = Measured(stored.best.values[None], tolerance(self._problem, self._x0))
        now = Measured(self._problem.at(stored.best.x).values[None])
        if then.agrees(now):
            return None
        return (
            f"it is of another problem: the values at its best point are {then} there, {now} here"
        )
