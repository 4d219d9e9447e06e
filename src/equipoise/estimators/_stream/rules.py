"""Rules of a stream: what was counted on the rows remembered, and how far off that may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.constraints import Binding
from equipoise.problems import LearningProblem


@dataclass(frozen=True)
class StreamRule:
    """One bound, and what the rows remembered say of it.

    Attributes
    ----------
    name, sense, bound : the rule.
    counted : float
        By counting predictions, or pairs of scores, of the rows remembered.
    error : float
        Its standard error for rows like these; NaN for losses. The model was made for these very rows,
        so that on others the rule is rather broken than kept by more.
    holds : bool
        Whether the counted value meets the bound.
    """

    name: str
    sense: str
    bound: float
    counted: float
    error: float
    holds: bool


def counted_rules(
    binding: Binding, problem: LearningProblem, x: np.ndarray, allowed: np.ndarray
) -> tuple[StreamRule, ...]:
    """Count the rules of a model on the rows of a problem."""
    sums = problem.rows.thresholded(x)
    values = problem.combination.plain_values(sums)[1:]
    counted = binding.measured(values, lambda: sums)
    above = binding.measured(values + _errors(binding, sums), lambda: sums)
    return tuple(
        StreamRule(
            row.name,
            row.sense,
            row.bound,
            float(counted[i]),
            float(abs(above[i] - counted[i])),
            bool(values[i] <= allowed[i]),
        )
        for i, row in enumerate(binding.inequalities)
    )


def _errors(binding: Binding, sums: np.ndarray) -> np.ndarray:
    """Return standard errors of the constraint functions, which are linear in the sums.

    A rate p of n rows has the variance p (1 - p) / n; an AUC at most that of the smaller side's rows
    (Birnbaum & Klose 1957). Sums over different rows are independent.
    """
    infos = binding.rates
    rates = sums + [info.offset for info in infos]
    variance = np.clip(rates * (1.0 - rates), 0.0, None) / [info.effective_rows for info in infos]
    variance[[info.base == "loss" for info in infos]] = np.nan
    squares = binding.combination.coefficients[1:].power(2).tocoo()
    parts = squares.data * variance[squares.col]
    return np.sqrt(np.bincount(squares.row, parts, len(binding.inequalities)))
