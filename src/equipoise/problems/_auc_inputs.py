"""What the problems of AUC-fairness are given, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import to_numpy
from equipoise.models import Model
from equipoise.sets import Set
from equipoise.terms import QuadraticPair


def surrogate(owner: str, c1: float, c2: float) -> QuadraticPair:
    """Return the loss of a pair."""
    return QuadraticPair(_check.positive(owner, "c1", c1), _check.positive(owner, "c2", c2))


def reachable_bound(
    owner: str, kappa: float, loss: QuadraticPair, parameter: str = "kappa"
) -> float:
    """Return `kappa` if some scores have the constraints ``<= 1 + kappa``: those that are all equal."""
    least = 2 * loss.c1 * (loss.c2 * loss.c2) - 1  # infinite, where it overflows
    number = _check.real(owner, parameter, kappa)
    if number < least:
        rule = f"must be at least 2 c1 c2^2 - 1 = {least:g}, which scores that are all equal reach"
        _check.fail(owner, parameter, rule, kappa)
    return number


def bounded(owner: str, domain: Set, dim: int) -> Set:
    """Return `domain` if it is a bounded set of so many parameters."""
    _check.kind(owner, "domain", domain, Set)
    if domain.dim not in (None, dim):
        _check.fail(owner, "domain", f"must have dimension {dim}", domain.dim)
    if not math.isfinite(domain.diameter):
        _check.fail(owner, "domain", "must be bounded", domain)
    return domain


def one_score(owner: str, model: Model) -> Model:
    """Return `model` if it has one score a row."""
    _check.kind(owner, "model", model, Model)
    shape = to_numpy(model.at(np.zeros(model.dim)).scores).shape
    if shape != (model.n_rows,):
        _check.fail(owner, "model", "must have one score a row; scores have shape", shape)
    return model


def larger(owner: str, parameter: str, given: Any, rows: int) -> np.ndarray:
    """Return which of two values in a column are the larger one."""
    column = _check.labels(owner, parameter, given)
    if column.shape != (rows,):
        _check.fail(owner, parameter, f"must have shape ({rows},)", column.shape)
    values = np.unique(column)
    if values.size != 2:
        _check.fail(owner, parameter, "must have two values", values.tolist()[:5])
    return column == values[1]


def all_compared(owner: str, parameter: str, sides: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return `counts`, the rows of each atom, if every subset that is compared has some."""
    if not (sides @ counts > 0).all():
        rule = "must have positives and negatives of both groups, as far as they are compared"
        found = f"{counts[3]:g} and {counts[1]:g}, {counts[2]:g} and {counts[0]:g}"
        _check.fail(owner, parameter, rule, found)
    return counts
