"""Cells: the rows of one class and one combination of groups, and what rates are of their means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import Binding, Constraint, bind
from equipoise.rows import Groups
from equipoise.rows._group_input import array_of, columns_of
from equipoise.terms import JoinedSums, Pointwise, Rates, ScoreSum


@dataclass(frozen=True, eq=False)
class FunctionOfCells:
    """The part of all constraint functions that is of the means of one pointwise function.

    Attributes
    ----------
    function : Pointwise
        A sigmoid of the scores, or a loss of the margins.
    of_margin : bool
        Whether it is taken of the margin.
    weights : ndarray of shape (m, cells)
        What the mean of every cell adds to every constraint function.
    """

    function: Pointwise
    of_margin: bool
    weights: np.ndarray


class TrainingCells:
    """The cells of the training rows, and the constraints as functions of means over cells.

    A rate is a mean of a pointwise function over some of the cells, weighted by their shares of the
    training rows. So means over cells, however their rows were drawn, give all rates.

    Parameters
    ----------
    owner : str
        Whom messages name.
    constraints : Constraint or sequence of them
    y : array of shape (n,)
        The labels of the training rows.
    sensitive_features : array, data frame or dict of columns, optional
        Their groups.
    sharpness : float
        Of the sigmoids that stand for predictions.

    Attributes
    ----------
    positive : ndarray of shape (cells,)
        Which cells are of the positive class.
    rows : ndarray of shape (n,)
        The cell of every training row.
    names : tuple of str
        Of the constraint functions.
    parts : tuple of FunctionOfCells
        Their sum and `offsets` are the constraint functions, which are at most 0 where the rules hold.
    offsets : ndarray of shape (m,)
    """

    def __init__(
        self,
        owner: str,
        constraints: Constraint | Iterable[Constraint],
        y: Any,
        sensitive_features: Any,
        sharpness: float = 1.0,
    ) -> None:
        self._owner = owner
        y, sensitive_features = _array(y), _arrays(sensitive_features)
        binding = bind(constraints, y, sensitive_features, sharpness=sharpness, owner=owner)
        for row in binding.inequalities:
            if row.expression is None or _needs_more(row.expression.parts):
                rule = "must be of rates of rows; pass anything else as a tensor to `lagrangian`"
                _check.fail(owner, "constraints", rule, row.name)
        self.classes = binding.table.classes
        self._groups: Groups | None = binding.groups
        combined = self._combined(*self._columns(y, sensitive_features))
        self._known, first, self.rows = np.unique(combined, return_index=True, return_inverse=True)
        self.rows = self.rows.ravel()
        self.counts = np.bincount(self.rows)
        self.positive = np.asarray(binding.table.y)[first] == self.classes[1]
        self.names, self.offsets = binding.names, binding.combination.offsets[1:]
        self.parts = tuple(_parts(binding, first, self.counts))

    def of(self, y: Any, sensitive_features: Any) -> np.ndarray:
        """Return the cell of every row of a batch; a row of a cell that is not known is an error."""
        combined = self._combined(*self._columns(y, sensitive_features))
        place = np.minimum(np.searchsorted(self._known, combined), self._known.size - 1)
        if not (self._known[place] == combined).all():
            row = int(np.argmin(self._known[place] == combined))
            reason = (
                f"row {row} of the batch has a label and groups that no row of the training data "
                "given at the start has together."
            )
            raise _check.InputError(self._owner, reason, "sensitive_features")
        return place

    def _columns(self, y: Any, sensitive_features: Any) -> tuple[np.ndarray, dict[str, Any]]:
        labels = _check.labels(self._owner, "y", _array(y))
        if self._groups is None:
            return labels, {}
        if sensitive_features is None:
            _check.fail(self._owner, "sensitive_features", "must be given with every batch", None)
        columns = columns_of(self._owner, _arrays(sensitive_features))
        missing = set(self._groups.columns) - set(columns)
        if missing:
            rule = f"must have the columns {sorted(self._groups.columns)}"
            _check.fail(self._owner, "sensitive_features", rule, sorted(columns))
        return labels, columns

    def _combined(self, labels: np.ndarray, columns: dict[str, Any]) -> np.ndarray:
        """Return one number for every row, which is the same for rows of the same cell."""
        codes = _codes(self._owner, "y", self.classes, labels)
        if self._groups is not None:
            for name, known in self._groups.columns.items():
                array = array_of(self._owner, name, columns[name], labels.size)
                own = _codes(self._owner, "sensitive_features", known.values, array)
                codes = codes * len(known.values) + own
        return codes


def _needs_more(parts: Any) -> bool:
    """Whether a rule is of pairs of rows, or of predictions for all training rows."""
    return any(not hasattr(part, "over") or part.kind == "churn" for _, part in parts)


def _array(values: Any) -> Any:
    """Return a tensor as an array; anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _arrays(features: Any) -> Any:
    """Return tensors of groups as arrays, one or a dict of them."""
    if isinstance(features, dict):
        return {name: _array(column) for name, column in features.items()}
    return _array(features)


def _codes(owner: str, parameter: str, known: Any, array: np.ndarray) -> np.ndarray:
    """Return the place of every value among the known ones."""
    position = {value: code for code, value in enumerate(known)}
    distinct, inverse = np.unique(array, return_inverse=True)
    places = [position.get(value) for value in distinct.tolist()]
    if None in places:
        rule = f"must hold values of the training data, {list(known)[:8]}"
        _check.fail(owner, parameter, rule, distinct.tolist()[places.index(None)])
    return np.array(places, dtype=np.int64)[inverse.ravel()]


def _parts(binding: Binding, first: np.ndarray, counts: np.ndarray) -> Iterable[FunctionOfCells]:
    """Return what every pointwise function adds to the constraint functions.

    All rows of a cell have the same weight in every rate, that of its first row.
    """
    coefficients = binding.combination.coefficients[1:]
    start = 0
    for rates in _rates(binding.terms.sums):
        own = rates.weights.matrix[first].toarray() * counts[:, None]
        weights = coefficients[:, start : start + rates.size].toarray() @ own.T
        start += rates.size
        if weights.any():
            yield FunctionOfCells(rates.function, rates.sign is not None, weights)


def _rates(sums: ScoreSum) -> list[Rates]:
    if isinstance(sums, JoinedSums):
        return [rates for part in sums.parts for rates in _rates(part)]
    assert isinstance(sums, Rates)
    return [sums]
