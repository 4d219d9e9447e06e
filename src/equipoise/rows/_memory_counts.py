"""What is counted of the predictions for rows in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise._array import (
    Array,
    counted,
    in_double,
    namespace,
    placed,
    places_among,
    to_numpy,
    true_count,
)
from equipoise.models import Model
from equipoise.rows._cross_table import Confusion
from equipoise.rows._digest import digest
from equipoise.rows._row_sums import RowSums
from equipoise.terms import Scores, ScoreSum

if TYPE_CHECKING:
    from equipoise.rows._device_table import DeviceTable
    from equipoise.rows._memory_table import MemoryTable


# Points whose counts are remembered. Chosen: a fit counts some models while it searches, and again in the
# report, such as the one without constraints, which a fit of AUCs counts four models before that.
COUNTS_REMEMBERED = 8


class MemoryCounts(RowSums):
    """The part of `MemorySums` that looks at predictions and scores, not at derivatives."""

    model: Model
    sums: ScoreSum
    table: MemoryTable | DeviceTable | None
    _counts: dict[str, np.ndarray]

    def thresholded(self, x: np.ndarray) -> np.ndarray:
        """Return the sums of predictions; those of the last few points are remembered."""
        key = digest(x)  # the points themselves can be long
        if key not in self._counts:
            if len(self._counts) == COUNTS_REMEMBERED:
                del self._counts[next(iter(self._counts))]
            self._counts[key] = self.sums.thresholded(Scores(self.model.predicted(x)))
        return self._counts[key].copy()

    def predicted(self, x: np.ndarray) -> np.ndarray:
        """Return the scores that predictions are made from."""
        return to_numpy(self.model.predicted(x))

    def positives(self, x: np.ndarray) -> tuple[int, int]:
        """Return how many of the rows that count are predicted positive, and how many count."""
        scores = self.model.predicted(x)
        used = placed(self.sums.used, scores)
        return true_count((scores > 0) & used), true_count(used)

    def at_thresholds(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the sums with each of the numbers subtracted from all scores: no products."""
        scores = in_double(self.model.scores(x))
        found = [self.sums.values(scores - edge) for edge in edges]
        return np.array(found).reshape(len(edges), self.n_sums)

    def above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the thresholded sums at each threshold."""
        return self.sums.above(places_among(edges, self.model.predicted(x)), len(edges))

    def classes_above(self, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
        """Return the weight of the rows of each class above each threshold."""
        cells = 2 * places_among(edges, self.model.predicted(x)) + self._table.positive
        between = counted(cells, self._table.weight, 2 * (len(edges) + 1)).reshape(-1, 2)
        return np.cumsum(between[:0:-1], axis=0)[::-1]

    def sorted_scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores of the rows that count, ascending."""
        scores = self.model.predicted(x)
        scores = scores[placed(self.sums.used, scores)]
        return to_numpy(namespace(scores).sort(scores))

    def score_moments(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return weighted sums of the scores and their squares."""
        apart, weight = in_double(self.model.scores(x)) - center, self._table.weight
        if weight is None:
            return np.array([apart.shape[0], float(apart.sum()), float(apart @ apart)])
        return np.array([float(weight.sum()), float(weight @ apart), float(weight @ apart**2)])

    def score_products(self, x: np.ndarray, center: float) -> np.ndarray:
        """Return the weighted sum of the scores, each times its slope."""
        point, weight = self.model.at(x), self._table.weight
        apart = in_double(point.scores) - center
        return to_numpy(point.pull(apart if weight is None else weight * apart))

    def confusion(self, x: np.ndarray, column: str | tuple[str, ...] | None = None) -> Confusion:
        """Count labels and predictions: of all rows, or of every group of a column or several."""
        return self._table.crossed(column).predicting(self.model.predicted(x) > 0)

    def wrong_by_class(self, x: np.ndarray) -> np.ndarray:
        """Return the weight of the rows of each class that are predicted as another."""
        scores, table = to_numpy(self.model.predicted(x)), self._table
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        wrong = np.asarray(table.classes)[codes] != table.y
        weight = to_numpy(table.weights()) * wrong
        return np.array([float(weight[table.y == label].sum()) for label in table.classes])

    def class_scores(self, x: np.ndarray) -> tuple[Array, Array, Array]:
        """Return the scores that predictions are made from, the class and the weight of every row."""
        return self.model.predicted(x), self._table.positive, self._table.weights()

    @property
    def _table(self) -> MemoryTable | DeviceTable:
        if self.table is None:
            raise ValueError("MemorySums: labels and weights are needed; make it by a table.")
        return self.table
