"""What models are chosen by: their accuracy, or any scorer of scikit-learn."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from equipoise._array import Array, on_host
from equipoise.estimators._fitted_model import fitted_model
from equipoise.estimators._sklearn import naming
from equipoise.estimators._training import Training
from equipoise.models import linear_scores
from equipoise.rows import MemoryTable, RowSums

ACCURACY = "accuracy"


@dataclass(frozen=True)
class Scoring:
    """A score of fitted models, the larger the better.

    Attributes
    ----------
    estimator : estimator
        Whose copies hold the models that a scorer is asked about.
    scoring : str or callable
    """

    estimator: Any
    scoring: Any

    @property
    def name(self) -> str:
        """What the report calls it."""
        return (
            self.scoring
            if isinstance(self.scoring, str)
            else getattr(self.scoring, "__name__", "score")
        )

    def of(
        self,
        training: Training,
        rows: RowSums,
        x: np.ndarray,
        table: MemoryTable,
        *blocks: Array,
    ) -> np.ndarray:
        """Return the scores of a model with parameters `x` fitted to `rows`, on blocks of a table's rows.

        Without blocks, on all of them: (1,). NaN of blocks that have none, as an AUC of one class.
        """
        if self.scoring == ACCURACY:
            scores = linear_scores(table.X, *training.units.coefficients(x))
            weight: Any = table.weights()
            right: Any = ((scores > 0) == table.positive) * weight
            each: Any = blocks or (slice(None),)
            return np.array([float(right[part].sum() / weight[part].sum()) for part in each])
        model = copy(self.estimator)
        vars(model).update(fitted_model(training, rows, x), sensitive_names_=())
        vars(model).pop("feature_names_in_", None)  # tables hold no names
        tables = (table.part(part) for part in blocks) if blocks else (table,)
        with naming(training.task.owner, "scoring"):
            scorer = check_scoring(model, scoring=self.scoring)
            found = np.array([self._asked(scorer, model, part) for part in tables])
            finite = np.isfinite(found)
            if not blocks and not finite.all():
                raise ValueError(f"it returned {found[0]}, which cannot be compared.")
        return np.where(finite, found, np.nan)

    @staticmethod
    def _asked(scorer: Any, model: Any, table: MemoryTable) -> float:
        given = {} if table.weight is None else {"sample_weight": on_host(table.weight)}
        return float(scorer(model, on_host(table.X), table.y, **given))
