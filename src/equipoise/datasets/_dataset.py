"""Dataset: what every loader returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows of features with labels, and with groups where the data has a sensitive attribute.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d) or scipy.sparse.csr_array
        Features, float64; as the file gives them unless the loader says otherwise.
    y : ndarray of int, shape (n,)
        Labels ``0 .. k-1``; ``target_names[y[i]]`` is the name of row i's class. In two-class data
        1 is the class to be found (high income, recidivism, a charged-off loan, ...).
    groups : ndarray of str, shape (n,), or None
        The group of each row by the main sensitive attribute.
    feature_names, target_names : tuple of str
    attributes : mapping of str to ndarray of shape (n,)
        Every sensitive column, and other columns that belong to a row but not to its features.
    query : ndarray of int, shape (n,), or None
        The query a row (a document) answers, in ranking data.
    split : mapping of str to ndarray of int
        Row numbers of the publisher's parts, such as ``"train"`` and ``"test"``; empty without any.
    note : str
        What a reader of results must know: substitutes, guesses, differences from a paper.
    """

    name: str
    X: Any
    y: np.ndarray
    groups: np.ndarray | None
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    attributes: Mapping[str, np.ndarray] = field(default_factory=dict)
    query: np.ndarray | None = None
    split: Mapping[str, np.ndarray] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        owner = "Dataset"
        if len(getattr(self.X, "shape", ())) != 2:
            _check.fail(owner, "X", "must be a matrix (n, d)", self.X)
        n, d = self.X.shape
        _check.text(owner, "name", self.name)
        _check.text(owner, "note", self.note)
        _check.names(owner, "feature_names", self.feature_names, d)
        classes = len(_check.sequence(owner, "target_names", self.target_names, str))
        if classes == 0:
            _check.fail(owner, "target_names", "must name the classes", self.target_names)
        _check.integers(owner, "y", self.y, classes)
        for parameter in ("attributes", "split"):
            _check.kind(owner, parameter, getattr(self, parameter), Mapping)
        columns = {"y": self.y, "groups": self.groups, "query": self.query}
        columns |= {f"attributes[{name!r}]": column for name, column in self.attributes.items()}
        for name, column in columns.items():
            shape = getattr(column, "shape", column)
            if column is not None and shape != (n,):
                _check.fail(owner, name, f"must have shape ({n},)", shape)
        for name, rows in self.split.items():
            _check.integers(owner, f"split[{name!r}]", rows, n)

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups that occur, sorted."""
        return () if self.groups is None else tuple(np.unique(self.groups).tolist())

    def part(self, name: str) -> Dataset:
        """Return the rows of one part of the split."""
        return self.rows(self.split[_check.choice("Dataset.part", "name", name, self.split)])

    def rows(self, index: np.ndarray) -> Dataset:
        """Return the rows that `index` (row numbers or a mask) selects; the split is dropped."""
        index = _selected("Dataset.rows", index, self.n)
        return replace(
            self,
            X=self.X[index],
            y=self.y[index],
            groups=None if self.groups is None else self.groups[index],
            attributes={name: column[index] for name, column in self.attributes.items()},
            query=None if self.query is None else self.query[index],
            split={},
        )

    def divide(self, *, seed: int = 0, **shares: float) -> Dataset:
        """Return the same rows with a new, random split.

        Parameters
        ----------
        seed : int
        **shares : float
            Name and relative size of each part: ``divide(train=60, validation=20, test=20)``, or
            ``divide(train=2, test=1)``. Sizes are rounded so that every row falls in one part.

        Returns
        -------
        Dataset
        """
        if not shares:
            reason = "`shares` must name at least one part, got none."
            raise _check.InputError("Dataset.divide", reason, "shares")
        sizes = [_check.positive("Dataset.divide", name, share) for name, share in shares.items()]
        seed = _check.count("Dataset.divide", "seed", seed)
        bounds = np.rint(np.cumsum(sizes) / np.sum(sizes) * self.n).astype(int)
        order = np.random.default_rng(seed).permutation(self.n)
        parts = np.split(order, bounds[:-1])
        return replace(self, split={name: np.sort(part) for name, part in zip(shares, parts)})

    def to_frame(self) -> Any:
        """Return features, ``target`` and ``group`` as a pandas DataFrame (needs pandas)."""
        import pandas as pd

        values = self.X
        if sparse.issparse(
            values
        ):  # one by one: pandas 3.0 makes NaN of the zeros of a whole matrix
            made, columns = pd.arrays.SparseArray.from_spmatrix, sparse.csc_matrix(values)
            values = {name: made(columns[:, [j]]) for j, name in enumerate(self.feature_names)}
        frame = pd.DataFrame(values, columns=list(self.feature_names))
        frame["target"] = np.asarray(self.target_names)[self.y]
        if self.groups is not None:
            frame["group"] = self.groups
        return frame

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} {len(rows):,}" for name, rows in self.split.items())
        lines = [f"Dataset {self.name}: {self.n:,} rows x {self.d} features"]
        lines += [f"  classes: {_counts(np.asarray(self.target_names)[self.y])}"]
        lines += [f"  groups: {_counts(self.groups)}"] if self.groups is not None else []
        lines += [f"  split: {parts}"] if parts else []
        lines += [f"  note: {self.note}"] if self.note else []
        return "\n".join(lines)


def _selected(owner: str, index: Any, n: int) -> np.ndarray:
    """Return a mask of `n` rows as it is, row numbers as integers."""
    if isinstance(index, np.ndarray) and index.dtype.kind == "b":
        if index.shape != (n,):
            _check.fail(owner, "index", f"must have shape ({n},)", index.shape)
        return index
    return _check.integers(owner, "index", index, n)


def _counts(labels: np.ndarray) -> str:
    names, counts = np.unique(labels, return_counts=True)
    return ", ".join(f"{name} {count:,}" for name, count in zip(names, counts))
