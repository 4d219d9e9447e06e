"""The points of one split on disk: whose they are, and what is kept of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise._storage.storable import storable_types
from equipoise.estimators._counted import Candidate
from equipoise.estimators._frontier.curve import FrontierPoint
from equipoise.estimators._training import Training
from equipoise.rows._digest import digest
from equipoise.run import Checkpoint
from equipoise.run._content import content
from equipoise.run._probes import behaviour
from equipoise.solvers import Solver

NO_MATTER = ("callback", "verbose")  # settings that change no model


@dataclass(frozen=True)
class StoredPath:
    """What a checkpoint of one split holds."""

    identity: dict[str, Any]
    points: list[FrontierPoint]
    fits: list[tuple[float, Candidate]]  # the last ones, to continue from


class PathStore:
    """The points of one split, in a folder if one is given; they must be of the same data and rules.

    Rules are told by what they do: objective and constraints of every bound, at a few models.
    """

    def __init__(
        self,
        folder: Path | None,
        number: int,
        estimator: Any,
        training: Training,
        bounds: list[float],
        rule: Callable[[float], Any],
    ) -> None:
        self._checkpoint: Checkpoint | None = None
        if folder is None:
            return
        given = estimator.get_params(deep=False)
        settings = {name: value for name, value in given.items() if name not in NO_MATTER}
        solver = settings.pop("solver")
        rules = [rule(bound) for bound in bounds]
        self._columns = training.table.n_columns
        self._identity = {
            "bounds": bounds,
            "data": training.table.digest(),
            "settings": digest(rules, settings),
            "solver": content(solver),
            "list of rules": [_functions(training, wanted) for wanted in rules],
        }
        self._types = storable_types(solver if isinstance(solver, Solver) else None)
        self._checkpoint = Checkpoint(folder / f"split-{number}.checkpoint")

    def load(self) -> tuple[list[FrontierPoint], list[tuple[float, Candidate]]]:
        """Return what was stored, or nothing."""
        if self._checkpoint is None:
            return [], []
        stored = self._checkpoint.load(StoredPath, self._identity, self._types)
        if stored is None:
            return [], []
        points, wanted = stored.points, self._identity["bounds"]
        fitted = [fit for _, fit in stored.fits if isinstance(fit, Candidate)]
        if (
            [point.bound for point in points] != wanted[: len(points)]
            or any(point.coef.shape != (self._columns,) for point in points)
            or len(fitted) != min(2, len(points))
        ):
            raise self._checkpoint.refused("its points are not those of these bounds")
        return points, stored.fits

    def save(self, points: list[FrontierPoint], fits: list[tuple[float, Candidate]]) -> None:
        """Store the points so far, and the last fits to continue from."""
        if self._checkpoint is not None:
            kept = [
                (bound, replace(fit, result=replace(fit.result, error=None))) for bound, fit in fits
            ]
            self._checkpoint.save(StoredPath(self._identity, points, kept), self._types)


def _functions(training: Training, rule: Any) -> dict[str, Any]:
    """Return what tells the training problem under a rule."""
    task = replace(training.task, constraints=rule)
    apart = Training(task, training.table, training.runner)  # leaves nothing behind in the training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself warns
        problem = apart.problem(apart.bind(best_loss=1.0))
    return behaviour(problem, np.zeros(problem.dim))
