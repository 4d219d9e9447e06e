"""Columns as small whole numbers, whatever they hold, and the conjunctions of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.rows._group_input import SENSITIVE_FEATURES, array_of, coded, columns_of

# A column of numbers with more different values than this is cut at its quartiles. Chosen.
MOST_VALUES = 10
QUARTILES = (0.25, 0.5, 0.75)

# The most combinations of values of the same columns, which are counted in one array. Chosen.
MOST_GROUPS = 1_000_000


@dataclass(frozen=True)
class Levels:
    """Coded columns.

    Attributes
    ----------
    names : tuple of str
    codes : tuple of integer arrays of shape (n,)
    values : tuple of tuples of str
        What each code of a column stands for.
    """

    names: tuple[str, ...]
    codes: tuple[np.ndarray, ...]
    values: tuple[tuple[str, ...], ...]

    def crossed(self, chosen: tuple[int, ...]) -> tuple[np.ndarray, int]:
        """Return the codes of conjunctions of some columns, and how many there could be."""
        code, count = np.zeros(self.codes[0].size, dtype=np.int64), 1
        for c in chosen:
            code, count = code * len(self.values[c]) + self.codes[c], count * len(self.values[c])
        return code, count

    def parents(self, chosen: tuple[int, ...], left_out: int) -> tuple[tuple[int, ...], np.ndarray]:
        """Return the conjunctions without one of the columns, and the code there of each one with it."""
        shape = [len(self.values[c]) for c in chosen]
        codes = np.unravel_index(np.arange(int(np.prod(shape))), shape)
        wide = tuple(c for c in chosen if c != left_out)
        place = np.zeros(codes[0].size, dtype=np.int64)
        for c, own in zip(chosen, codes):
            if c != left_out:
                place = place * len(self.values[c]) + own
        return wide, place

    def label(self, chosen: tuple[int, ...], code: int) -> tuple[tuple[str, str], ...]:
        """Return a conjunction as pairs of a column and a value."""
        own = np.unravel_index(code, [len(self.values[c]) for c in chosen])
        return tuple((self.names[c], self.values[c][int(v)]) for c, v in zip(chosen, own))


def levels_of(owner: str, columns: Any, n: int, depth: int) -> Levels:
    """Return columns in any of the accepted kinds as levels, of which `depth` may be joined."""
    names, codes, values = [], [], []
    for name, column in columns_of(owner, columns).items():
        array = array_of(owner, name, column, n)
        numbers = array.dtype.kind in "fiu" and not np.isnan(array).any()
        if numbers and np.unique(array).size > MOST_VALUES:
            own, labels = _quarters(array.astype(float))
        else:
            found, own = coded(owner, name, array)
            labels = tuple(str(value) for value in found)
        names.append(name)
        codes.append(np.asarray(own, dtype=np.int64))
        values.append(labels)
    largest = int(np.prod(sorted(map(len, values))[-depth:]))
    if largest > MOST_GROUPS:
        rule = f"must make at most {MOST_GROUPS} conjunctions; merge values, or lower `depth`"
        _check.fail(owner, SENSITIVE_FEATURES, rule, largest)
    return Levels(tuple(names), tuple(codes), tuple(values))


def _quarters(numbers: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Cut numbers at their quartiles; those that fall together make fewer ranges."""
    cuts = np.unique(np.quantile(numbers, QUARTILES, method="lower"))
    edges = ["", *(f"{cut:g}" for cut in cuts), ""]
    names = [
        f"over {a}" if not b else f"up to {b}" if not a else f"{a} to {b}"
        for a, b in zip(edges, edges[1:])
    ]
    return np.searchsorted(cuts, numbers, side="left"), tuple(names)
