"""The groups nobody named: conjunctions of columns in which a rate differs from that of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from equipoise import _check
from equipoise.metrics._levels import Levels, levels_of

# What may be searched for: of which rows (all, of the positive, of the negative class), and whether wrong
# predictions are counted instead of positive ones.
SEARCHED = {
    "positive": (None, False),
    "true_positive": (True, False),
    "false_positive": (False, False),
    "error": (None, True),
}
ORDERS = ("significance", "size", "gap")

# The most columns whose values are combined: more would make millions of groups, which nobody can name.
# Chosen.
MAX_DEPTH = 3


@dataclass(frozen=True)
class GroupFinding:
    """A group in which a rate differs from that of all other rows beyond chance.

    Attributes
    ----------
    group : tuple of (column, value) pairs
        The rows that have all these values; of numbers with many values, one of four ranges.
    kind : str
        The rate.
    rows : int
        The rows that the rate is over, in the group.
    rate, rest : float
        In the group, and among all other rows.
    p_value : float
        The probability of a difference like this in some of the groups searched, if predictions did not
        depend on groups: Fisher's exact test, times the number of groups (Bonferroni).
    members : boolean array of shape (n,)
        Which rows are in the group.
    """

    group: tuple[tuple[str, str], ...]
    kind: str
    rows: int
    rate: float
    rest: float
    p_value: float
    members: np.ndarray

    @property
    def gap(self) -> float:
        """The rate of the group minus that of the rest."""
        return self.rate - self.rest

    @property
    def name(self) -> str:
        """The group in words."""
        return " & ".join(f"{column}={value}" for column, value in self.group)

    def __str__(self) -> str:
        what = self.kind.replace("_", " ")
        return (
            f"{self.name}: {what} rate {self.rate:.4f} of {self.rows} rows, {self.rest:.4f} of the rest "
            f"(gap {self.gap:+.4f}, p {self.p_value:.2g})"
        )


@_check.owned
def worst_groups(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    *,
    kind: str = "positive",
    depth: int = 2,
    min_rows: int = 30,
    bound: float = 0.0,
    confidence: float = 0.95,
    by: str = "significance",
    most: int = 10,
) -> tuple[GroupFinding, ...]:
    """Search conjunctions of columns for groups whose rate differs most from that of the rest.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n,)
        Labels of two classes, and the predictions of any model. The second class in sorted order is the
        positive one.
    sensitive_features : data frame, dict of columns, or array
        The columns that groups are made of. Numbers with more than ten values are cut at their
        quartiles.
    kind : {"positive", "true_positive", "false_positive", "error"}
        The rate that is compared.
    depth : int
        At most so many columns are joined, 1 to 3.
    min_rows : int
        Groups and rests of fewer rows are not looked at.
    bound : float
        Only gaps larger than this are found.
    confidence : float
        If predictions do not depend on groups, nothing at all is found with this probability: the tests
        are exact in finite samples, and are corrected for their number.
    by : {"significance", "size", "gap"}
        The order: the smallest p-value first; the largest gap times the numbers of rows in the group and
        in the rest; or the largest gap.
    most : int
        Return at most so many groups.

    Returns
    -------
    tuple of GroupFinding
        The worst one first; empty where nothing is found beyond chance.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.metrics import worst_groups
    >>> sex, age = np.tile(["F", "M"], 200), np.repeat(["old", "young"], 200)
    >>> predicted = ((sex == "M") | (age == "old")).astype(int)
    >>> worst = worst_groups(predicted, predicted, {"sex": sex, "age": age})[0]
    >>> worst.name, worst.rate, worst.rest
    ('sex=F & age=young', 0.0, 1.0)
    """
    owner = "worst_groups"
    restricted, wrong = SEARCHED[_check.choice(owner, "kind", kind, SEARCHED)]
    truth, predicted = _positives(owner, y_true, y_pred)
    depth = _check.count(owner, "depth", depth, least=1)
    if depth > MAX_DEPTH:
        _check.fail(owner, "depth", f"must be at most {MAX_DEPTH}", depth)
    min_rows = _check.count(owner, "min_rows", min_rows, least=1)
    bound = _check.between(owner, "bound", bound, 0.0, 1.0)
    confidence = _check.inside(owner, "confidence", confidence, 0.0, 1.0)
    _check.choice(owner, "by", by, ORDERS)
    most = _check.count(owner, "most", most, least=1)
    levels = levels_of(owner, sensitive_features, truth.size, depth)
    used = np.ones(truth.size, dtype=bool) if restricted is None else truth == restricted
    counted = (truth != predicted) if wrong else predicted
    found = _Cells.of(levels, used, counted[used], depth, min_rows)
    return found.worst(kind, bound, confidence, by, most)


@dataclass(frozen=True)
class _Cells:
    """Every group that is searched, as arrays."""

    levels: Levels
    used: np.ndarray  # (n,) the rows that count
    joined: list[tuple[int, ...]]  # the columns of each family of groups
    family: np.ndarray  # (G,) which of them a group belongs to
    code: np.ndarray  # (G,) its number there
    rows: np.ndarray  # (G,)
    hits: np.ndarray  # (G,) rows with a positive, or wrong, prediction
    total: tuple[int, int]  # of all rows: how many, and how many hits

    @staticmethod
    def of(levels: Levels, used: np.ndarray, hit: np.ndarray, depth: int, min_rows: int) -> _Cells:
        """Count every conjunction; one that holds the same rows as a wider one is left out."""
        total = int(used.sum()), int(hit.sum())
        sizes: dict[tuple[int, ...], np.ndarray] = {(): np.array([total[0]])}
        joined: list[tuple[int, ...]] = []
        parts: list[tuple[np.ndarray, ...]] = []
        for size in range(1, depth + 1):
            for chosen in combinations(range(len(levels.names)), size):
                code, count = levels.crossed(chosen)
                code = code[used]
                rows = np.bincount(code, minlength=count)
                sizes[chosen] = rows
                wider = [levels.parents(chosen, left_out) for left_out in chosen]
                same = np.logical_or.reduce([sizes[wide][place] == rows for wide, place in wider])
                keep = np.flatnonzero((rows >= min_rows) & (total[0] - rows >= min_rows) & ~same)
                hits = np.bincount(code, hit, minlength=count).astype(int)
                parts.append((np.full(keep.size, len(joined)), keep, rows[keep], hits[keep]))
                joined.append(chosen)
        family, place, rows, hits = (np.concatenate(part) for part in zip(*parts))
        return _Cells(levels, used, joined, family, place, rows, hits, total)

    def worst(
        self, kind: str, bound: float, confidence: float, by: str, most: int
    ) -> tuple[GroupFinding, ...]:
        """Return the findings in their order."""
        n, k = self.total
        rate = self.hits / np.maximum(self.rows, 1)
        rest = (k - self.hits) / np.maximum(n - self.rows, 1)
        gap = np.abs(rate - rest)
        tails = np.minimum(
            hypergeom.cdf(self.hits, n, k, self.rows), hypergeom.sf(self.hits - 1, n, k, self.rows)
        )
        p = np.minimum(1.0, 2.0 * tails * max(1, self.rows.size))
        found = np.flatnonzero((p <= 1.0 - confidence) & (gap > bound))
        keys = {
            "significance": (-gap, p),
            "size": (-gap * self.rows * (n - self.rows),),
            "gap": (-gap,),
        }[by]
        order = found[np.lexsort([key[found] for key in keys])][:most]
        return tuple(
            GroupFinding(
                self.levels.label(self.joined[self.family[i]], int(self.code[i])),
                kind,
                int(self.rows[i]),
                float(rate[i]),
                float(rest[i]),
                float(p[i]),
                self.levels.crossed(self.joined[self.family[i]])[0] == self.code[i],
            )
            for i in order
        )


def _positives(owner: str, y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and predictions as booleans."""
    truth, predicted = (
        _check.labels(owner, "y_true", y_true),
        _check.labels(owner, "y_pred", y_pred),
    )
    if predicted.shape != truth.shape:
        _check.fail(owner, "y_pred", f"must hold {truth.size} labels", predicted.shape)
    classes = np.unique(np.concatenate((truth, predicted)))
    if classes.size > 2:
        rule = "must hold labels of two classes, the same as `y_pred`"
        _check.fail(owner, "y_true", rule, classes[:8].tolist())
    return truth == classes[-1], predicted == classes[-1]
