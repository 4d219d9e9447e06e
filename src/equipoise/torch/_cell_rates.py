"""Constraints as functions of means over cells: what rates are of the rows of a class and groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import Binding, Constraint, bind
from equipoise.terms import Pointwise, Scores, Sigmoid
from equipoise.torch._cells import RowCells, arrays


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

    def priced(self, z: Scores, price: Any) -> Any:
        """Return the slope times a price for every row, in the fewest operations.

        The rounding error of a sigmoid's slope near 1 is none for a mini-batch.
        """
        import torch

        if not isinstance(self.function, Sigmoid):
            return price.mul_(self.function.slope(z))
        k = self.function.sharpness
        found = torch.ops.aten.sigmoid_backward(price, z.sharpened(k).sigmoid)
        return found if k == 1.0 else found.mul_(k)


class CellRates:
    """The constraints as functions of means over the cells of the training rows.

    A rate is a mean of a pointwise function over some of the cells, weighted by their shares of the
    training rows. So means over cells, however their rows were drawn, give all rates.

    Parameters
    ----------
    owner : str
        Whom messages name.
    constraints : Constraint or sequence of them
    y : array or tensor of shape (n,)
        The labels of the training rows.
    sensitive_features : array, tensor, data frame or dict of columns, optional
        Their groups.
    sharpness : float
        Of the sigmoids that stand for predictions.

    Attributes
    ----------
    table : MemoryTable
        Labels and groups of the training rows.
    cells : RowCells
    classes : ndarray
        The negative and the positive class.
    positive : ndarray of shape (cells,)
        Which cells are of the positive class.
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
        sharpness: float,
    ) -> None:
        groups = arrays(sensitive_features)
        binding = bind(constraints, arrays(y), groups, sharpness=sharpness, owner=owner)
        for row in binding.inequalities:
            if row.expression is None or _needs_more(row.expression.parts):
                rule = "must be of rates of rows; pass anything else as a tensor to `lagrangian`"
                _check.fail(owner, "constraints", rule, row.name)
        self.table = table = binding.table.labelled()
        self.cells = RowCells(owner, table)
        self.classes = np.asarray(table.classes)
        self.positive = np.asarray(table.positive)[self.cells.first]
        self.names, self.offsets = binding.names, binding.combination.offsets[1:]
        self.parts = tuple(_parts(binding, self.cells))


def _needs_more(parts: Any) -> bool:
    """Whether a rule is of pairs of rows, or of predictions for all training rows."""
    return any(not hasattr(part, "over") or part.kind == "churn" for _, part in parts)


def _parts(binding: Binding, cells: RowCells) -> Iterable[FunctionOfCells]:
    """Return what every pointwise function adds to the constraint functions.

    All rows of a cell have the same weight in every rate, that of its first row.
    """
    coefficients = binding.combination.coefficients[1:]
    start = 0
    for rates in binding.terms.sums.rates:
        own = rates.weights.matrix[cells.first].toarray() * cells.counts[:, None]
        weights = coefficients[:, start : start + rates.size].toarray() @ own.T
        start += rates.size
        if weights.any():
            yield FunctionOfCells(rates.function, rates.sign is not None, weights)
