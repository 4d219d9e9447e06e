"""What a fit is asked for, as data, and what it means for a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import bind_table
from equipoise.rows import RowSums, Table


@dataclass(frozen=True)
class Task:
    """What a fit is asked for, as data.

    Attributes
    ----------
    owner : str
        The estimator, for messages.
    constraints, objective, loss, C, class_weight, true_metric, min_cell, small_cells, fit_intercept :
        As in `ConstrainedClassifier`.
    radius : float or None
        Keep the weights in a ball of this radius, on the data as given, without intercept and penalty.
    costs : pair of float or None
        What a wrong prediction of each class costs, where `objective` stands for it.
    only_compare : bool
        The model without constraints is compared with, but not started from: it minimises something
        else.
    plain_objective : expression of rates, optional
        What the model without constraints minimises; by default the mean loss.
    undefined : {"raise", "skip"}
        What becomes of rules that speak of groups or classes with few rows; see `bind_table`.
    repair : bool
        Whether the fit ends with a search for predictions that keep the bounds where shifting them
        found none, which can take long.
    score : expression of rates, optional
        What the report shows of a model instead of its accuracy, such as the AUC.
    only_ranks : bool
        Whether the threshold is chosen after training, so that no rule may be on predictions or losses.
    """

    owner: str
    constraints: Any = ()
    objective: Any = None
    loss: str = "logistic"
    C: float = 1.0
    class_weight: Any = None
    true_metric: bool = True
    min_cell: int = 10
    small_cells: str = "raise"
    fit_intercept: bool = True
    radius: float | None = None
    costs: tuple[float, float] | None = None
    only_compare: bool = False
    plain_objective: Any = None
    score: Any = None
    undefined: str = "raise"
    repair: bool = True
    only_ranks: bool = False

    @property
    def is_likelihood(self) -> bool:
        """Whether the logistic function of the score is meant as a probability.

        Where the mean logistic loss is minimised, and bounds, if there are any, are on these
        probabilities.
        """
        asked = self.constraints if isinstance(self.constraints, list | tuple) else True
        counted = bool(asked) and self.true_metric
        special = self.objective is not None or self.class_weight or self.radius is not None
        return self.loss == "logistic" and not counted and not special

    def weighted(self, table: Any) -> Any:
        """Return the table with the class weights in the objective."""
        return table.class_weighted(self.class_weights(table)) if self.class_weight else table

    def class_weights(self, table: Table) -> Mapping[Any, float]:
        """Return the weight of every class in the loss, as scikit-learn computes it."""
        counts, given = table.class_counts(), self.class_weight
        if given == "balanced":
            there = np.maximum(counts, 1)  # a part of the rows may have none of a class
            return dict(zip(table.classes, (table.n_rows / (len(counts) * there)).tolist()))
        unknown = [label for label in given if label not in table.classes]
        if unknown:
            reason = f"`class_weight` names {unknown[0]!r}; the classes are {list(table.classes)}."
            raise _check.InputError(self.owner, reason, "class_weight")
        weights = {label: given.get(label, 1.0) for label in table.classes}
        values = np.array(list(weights.values()), dtype=object)
        numbers = all(isinstance(value, int | float | np.number) for value in values)
        if not numbers or not all(np.isfinite(v) and v >= 0 for v in values) or not any(values):
            reason = f"`class_weight` must hold numbers >= 0, got {given!r}."
            raise _check.InputError(self.owner, reason, "class_weight")
        return {label: float(value) for label, value in weights.items()}

    def scorer(self, table: Table, rows: RowSums) -> Callable[[np.ndarray], float]:
        """Return what scores a model, counted on the rows of any table."""
        binding = bind_table(self.score >= 0.0, table, owner=self.owner)
        sums = rows.summing(binding.specs)

        def score(x: np.ndarray) -> float:
            counted = sums.thresholded(x)
            values = binding.combination.plain_values(counted)[1:]
            return float(binding.measured(values, lambda: counted)[0])

        return score
