"""Counted rates of a model, by group, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.constraints import Binding
from equipoise.rows import Cell, Confusion, GroupColumn, RowSums


@dataclass(frozen=True)
class GroupRates:
    """Rates of several groups, from counts of labels and predictions."""

    rows: np.ndarray  # (G,) of weight or not
    effective: np.ndarray  # rows that equal weights would need for the same spread
    base: np.ndarray  # the share of the positive class
    positive: np.ndarray  # the share predicted positive
    true_positive: np.ndarray
    false_positive: np.ndarray
    accuracy: np.ndarray

    @staticmethod
    def of(counts: Confusion) -> GroupRates:
        """Return the rates of counts."""
        weight, positive = counts.weight, counts.positive
        total = weight.sum(axis=1)
        right = (weight[:, 0] - positive[:, 0]) + positive[:, 1]
        with np.errstate(divide="ignore", invalid="ignore"):  # groups without weight have no rates
            return GroupRates(
                counts.rows.sum(axis=1),
                total**2 / counts.squares.sum(axis=1),
                weight[:, 1] / total,
                positive.sum(axis=1) / total,
                positive[:, 1] / weight[:, 1],
                positive[:, 0] / weight[:, 0],
                right / total,
            )


@dataclass(frozen=True)
class ModelRates:
    """Rates of one model: of everyone, and of the groups of every sensitive column."""

    everyone: GroupRates
    by_column: dict[str | tuple[str, ...], GroupRates]

    @staticmethod
    def of(binding: Binding, rows: RowSums, x: np.ndarray) -> ModelRates:
        """Count the predictions of the model with these parameters."""
        by_column = {name: GroupRates.of(rows.confusion(x, name)) for name in grouped(binding)}
        return ModelRates(GroupRates.of(rows.confusion(x)), by_column)


def grouped(binding: Binding) -> dict[str | tuple[str, ...], GroupColumn]:
    """Return the sensitive columns, and the intersections that rules speak of, by their names."""
    if binding.groups is None:
        return {}
    found: dict[str | tuple[str, ...], GroupColumn] = {}
    found.update(binding.groups.columns.items())
    parts = [row.expression.parts for row in binding.inequalities if row.expression is not None]
    cells = {rate.group for rates in parts for _, rate in rates if isinstance(rate.group, Cell)}
    crossed = {tuple(str(name) for name, _ in cell.values): None for cell in cells}
    for names in sorted(names for names in crossed if len(names) > 1):
        found[names] = binding.groups.crossed(names)
    return found


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a proportion observed on `n` rows, at 95 %."""
    if not n > 0 or math.isnan(rate):
        return (math.nan, math.nan)
    z = 1.959964  # the 97.5 % quantile of a normal distribution
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)
