"""The three data sets of Yao, Lin & Yang (2023), in parts for training, choosing and testing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.datasets import Dataset, load_adult, load_bank, load_compas

SOURCES = {
    "a9a": (load_adult, "female"),
    "bank": (load_bank, "25-60"),
    "compas": (lambda: load_compas("all"), "Caucasian"),
}
"""Each loader, and the group whose rows are the members."""
QUICK_ROWS = 1_500  # of every part of a data set, in a quick run


@dataclass(frozen=True)
class Part:
    """Rows with labels and groups of two kinds each."""

    X: Any
    positive: np.ndarray
    member: np.ndarray

    @classmethod
    def of(cls, rows: Dataset, member: str, most: int | None) -> Part:
        part = rows if most is None else rows.rows(np.arange(min(most, rows.n)))
        assert part.groups is not None
        return cls(part.X, part.y == 1, part.groups == member)

    def with_group(self) -> Part:
        """The same rows with the group, and its products with all features, as further features."""
        inside = sparse.diags_array(self.member.astype(float)) @ self.X
        stack = sparse.hstack if sparse.issparse(self.X) else np.hstack
        blocks = [self.X, inside, self.member.astype(float)[:, None]]
        joined = stack(blocks)
        return replace(self, X=joined.tocsr() if sparse.issparse(joined) else joined)

    @property
    def y(self) -> np.ndarray:
        return self.positive.astype(int)

    @property
    def groups(self) -> np.ndarray:
        """1 for members, so that they are the second group in sorting order; -1 for the others."""
        return np.where(self.member, 1, -1)


@dataclass(frozen=True)
class Split:
    """One division of a data set."""

    train: Part
    validation: Part
    test: Part

    def with_group(self) -> Split:
        return Split(*(part.with_group() for part in (self.train, self.validation, self.test)))


def split(name: str, seed: int, quick: bool = False) -> Split:
    """a9a: its own test part, and 90 % / 10 % of the rest; the others 60 % / 20 % / 20 %."""
    loader, member = SOURCES[name]
    data = loader()
    most = QUICK_ROWS if quick else None
    if "test" in data.split:
        test = data.part("test")
        rest = data.part("train").divide(seed=seed, train=90, validation=10)
        parts = [rest.part("train"), rest.part("validation"), test]
    else:
        divided = data.divide(seed=seed, train=60, validation=20, test=20)
        parts = [divided.part(p) for p in ("train", "validation", "test")]
    return Split(*(Part.of(part, member, most) for part in parts))
