"""The last layer of a network that a user has trained, fitted so that bounds hold by counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._status import Status
from equipoise.certificate import certify
from equipoise.estimators import Report
from equipoise.estimators._counted import Candidate, measure
from equipoise.estimators._counted.threshold import MOVED
from equipoise.estimators._predictor import LinearPredictor
from equipoise.estimators._promise.apart import CountsApart, KeptApart
from equipoise.estimators._training import BoundTraining
from equipoise.problems import LearningProblem
from equipoise.rows import MemoryTable
from equipoise.torch._cells import arrays
from equipoise.torch._flat import FlatParameters
from equipoise.torch._net_features import CHUNK, Body
from equipoise.torch._net_rows import TRIED_ROWS, tensor_of_rows

# How far from the threshold every score is to be, in rounding errors of the network's own scores. Chosen:
# such errors differ with the rows that are scored together.
CLEAR = 4.0

# Thresholds between other rows that are tried where the scores beside 0 are too close. Chosen.
MOST_TRIED = 100


class LastLayer(LinearPredictor):
    """A trained network whose last layer is fitted as `ConstrainedClassifier` fits a linear model.

    It stands for the estimator in `fit_two_classes`, and for the walk, which fits, tightens bounds for
    validation rows, and then sees to it that the network in its own precision predicts what was counted.

    Parameters
    ----------
    owner : str
        Whom messages name.
    module : torch.nn.Module
        It is left in its `eval` mode, in which features are computed.
    X : array or tensor of shape (n, ...)
        The training rows.
    table : MemoryTable
        Their labels and groups.
    validation : sequence (X, y, sensitive_features) or None
    on_infeasible : {"warn", "raise", "ignore"}
    """

    solver = "auto"
    report_: Report

    def __init__(
        self,
        owner: str,
        module: Any,
        X: Any,
        table: MemoryTable,
        validation: Any,
        on_infeasible: str,
    ) -> None:
        import torch

        self._owner = owner
        self.on_infeasible = _check.choice(
            owner, "on_infeasible", on_infeasible, ("warn", "raise", "ignore")
        )
        _check.kind(owner, "module", module, torch.nn.Module)
        flat = FlatParameters(owner, module)
        rows = tensor_of_rows(owner, X, flat)
        if len(rows) != table.n_rows:
            rule = (
                f"must hold the {table.n_rows} training rows whose labels were given at the start"
            )
            _check.fail(owner, "X", rule, tuple(rows.shape))
        self._body = _body(owner, module, rows)
        self.table = table.with_features(self._features_of("X", rows))
        self._kept_apart: KeptApart | None = None
        if validation is not None:
            self._kept_apart = KeptApart(self._validation(validation, flat))

    def fit(self, given: BoundTraining) -> tuple[Candidate, None]:
        """Return the model; nothing is promised of it."""
        apart = None
        if self._kept_apart is None:
            found = given.fit()
        else:
            found, _ = self._kept_apart.fit(given)
            apart = CountsApart.of(given, self._kept_apart.other)
        found = self._predicted_alike(found, given, apart)
        self._found = given.training.units.coefficients(found.x)
        return found, None

    def put(self) -> None:
        """Give the network the layer that was fitted."""
        self._body.put(*self._found)

    def _predicted_alike(
        self, fit: Candidate, given: BoundTraining, apart: CountsApart | None
    ) -> Candidate:
        """Return the model with a threshold at which the network's rounding errors change no prediction.

        The threshold is moved by no more than it takes, as a rule to the other side of no row. Where two
        scores beside it are too close, it goes between other rows, where no more is broken.
        """
        units = given.training.units
        coef, intercept = units.coefficients(fit.x)
        tables = [self.table] + ([] if self._kept_apart is None else [self._kept_apart.other])
        exact = np.concatenate([table.X @ coef[0] + intercept[0] for table in tables])
        own = np.concatenate([self._scores(table.X, coef, intercept) for table in tables])
        most = fit.violation, 0.0 if apart is None else max(float(apart.values(fit.x).max()), 0.0)
        for shift in _thresholds(exact, CLEAR * float(np.abs(own - exact).max())):
            if shift == 0.0:
                return fit
            x = units.parameters(coef, intercept - shift)
            moved = _moved(fit, given.problem, x)
            broken = 0.0 if apart is None else float(apart.values(x).max())
            if moved.violation <= most[0] and broken <= most[1]:
                return moved
        return fit

    def _scores(self, features: np.ndarray, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return the scores (n,) as a layer with these weights computes them, in its own precision."""
        import torch

        layer = deepcopy(self._body.layer)
        with torch.no_grad():
            layer.weight.copy_(torch.as_tensor(coef))
            layer.bias.copy_(torch.as_tensor(intercept))
            parts = [
                layer(torch.as_tensor(features[i : i + CHUNK]).to(layer.weight))[:, 0]
                for i in range(0, len(features), CHUNK)
            ]
        return torch.cat(parts).double().cpu().numpy()

    def _features_of(self, name: str, rows: Any) -> np.ndarray:
        with _taken(self._owner, name, rows):
            found = self._body.arrays(rows)
        if not np.isfinite(found).all():
            rule = "must make finite features of the rows"
            _check.fail(self._owner, "module", f"{rule} of `{name}`", float("nan"))
        return found

    def _validation(self, given: Any, like: FlatParameters) -> MemoryTable:
        """Return validation rows as a table with the features of the network."""
        where = f"{self._owner}.validation"
        parts = _check.sequence(self._owner, "validation", given)
        if len(parts) not in (2, 3):
            rule = "must be (X, y) or (X, y, sensitive_features)"
            _check.fail(self._owner, "validation", rule, parts)
        X, y, groups = (*parts, None)[:3]
        rows = tensor_of_rows(where, X, like)
        labels = _check.labels(where, "y", arrays(y))
        classes = self.table.classes
        unknown = set(np.unique(labels).tolist()) - set(classes)
        if unknown:
            _check.fail(where, "y", f"must hold the labels {list(classes)}", unknown)
        if len(labels) != len(rows):
            _check.fail(where, "y", f"must have one entry for each of the {len(rows)} rows", y)
        features = self._features_of("validation", rows)
        return MemoryTable(labels, features, arrays(groups), classes=classes, owner=where)


def _body(owner: str, module: Any, rows: Any) -> Body:
    """Return the network up to its last layer; raise where it has no such layer."""
    with _taken(owner, "X", rows):
        body = Body.of(owner, module, rows[:TRIED_ROWS])
    if body.layer is None or body.layer.bias is None:
        rule = "must end in a torch.nn.Linear(..., 1) with a bias, whose output is the score"
        _check.fail(owner, "module", rule, module)
    return body


@contextmanager
def _taken(owner: str, name: str, rows: Any) -> Iterator[None]:
    """Say in the words of the library that a network cannot take rows."""
    try:
        yield
    except (_check.InputError, _check.WrongKindError):
        raise
    except (RuntimeError, IndexError, TypeError) as error:
        shape = tuple(rows.shape)
        reason = f"the `module` must take rows of `{name}` of shape {shape}; it says: {error}"
        raise _check.InputError(owner, reason, name) from error


def _thresholds(scores: np.ndarray, margin: float) -> Iterator[float]:
    """Return thresholds that lie further than a margin from all scores, the fewest rows away first."""
    ordered = np.unique(scores)
    edges = np.concatenate(([-np.inf], ordered, [np.inf]))
    low, high = edges[:-1] + margin, edges[1:] - margin
    here = int(np.searchsorted(ordered, 0.0, side="right"))
    clear = np.flatnonzero(low <= high)
    nearest = clear[np.argsort(np.abs(clear - here), kind="stable")][:MOST_TRIED]
    for place in nearest:
        yield float(np.clip(0.0, low[place], high[place]))


def _moved(fit: Candidate, problem: LearningProblem, x: np.ndarray) -> Candidate:
    """Return a fit with other parameters, next to its own; its certificate is of these."""
    certificate = certify(fit.problem, x, fit.result.multipliers, second_order=False)
    verdict = fit.result.verdict
    reached = max(fit.result.tol, fit.result.certificate.residual)
    if fit.keeps_bounds and certificate.residual > reached:
        verdict = replace(verdict, status=Status.FEASIBLE, claim=MOVED)
    result = fit.result.judged(verdict, x=x, certificate=certificate)
    moved = measure(problem, result, fit.allowed, fit.problem)
    return replace(moved, prices=fit.prices, problems_solved=fit.problems_solved)
