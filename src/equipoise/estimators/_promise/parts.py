"""Two parts of the rows: one to train on, and one to test what was trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.rows import MemoryTable


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows to train on, and independent ones to test with."""

    training: MemoryTable
    testing: MemoryTable

    @staticmethod
    def of(
        owner: str,
        table: MemoryTable,
        share: float,
        *,
        ordered: bool = False,
        groups: Any = None,
        seed: int = 0,
    ) -> Parts:
        """Divide the rows of a table.

        Parameters
        ----------
        owner : str
            Whom messages name.
        table : MemoryTable
        share : float
            Of the rows that are held out.
        ordered : bool
            Hold out the last rows, instead of random ones.
        groups : array of shape (n,), optional
            Rows with the same value stay together, as they are not independent; one row of each
            such group tests.
        seed : int
        """
        n = table.n_rows
        if groups is None:
            codes, count = np.arange(n), n
        else:
            given = _check.labels(owner, "groups", groups)
            if given.size != n:
                _check.fail(
                    owner, "groups", f"must have one entry for each of the {n} rows", given.size
                )
            found, first, codes = np.unique(given, return_index=True, return_inverse=True)
            codes, count = (
                np.argsort(np.argsort(first))[codes],
                found.size,
            )  # in order of appearance
        held = min(max(1, round(share * count)), count - 1)
        rng = np.random.default_rng(seed)
        turn = np.arange(count) if ordered else rng.permutation(count)
        out = np.isin(codes, turn[count - held :])
        rows = np.flatnonzero(out)
        if groups is not None:
            rows = np.sort(_one_of_each(codes, rows, rng))
        parts = Parts(table.part(np.flatnonzero(~out)), table.part(rows))
        parts._check(owner, table)
        return parts

    def _check(self, owner: str, table: MemoryTable) -> None:
        """Raise where a class or a group is absent from a part: nothing could be promised of it."""
        for name, part in (("to train on", self.training), ("held out", self.testing)):
            missing = [c for c, k in zip(table.classes, part.class_counts()) if k == 0]
            kinds: Any = {} if table.groups is None else table.groups.columns
            for column, whole in kinds.items():
                there = set(part.groups.columns[column].values)  # type: ignore[union-attr]
                missing += [value for value in whole.values if value not in there]
            if missing:
                reason = (
                    f"`confidence` needs rows of every class and group in both parts; the {part.n_rows} "
                    f"rows {name} have none of {missing[0]!r}. Give more rows, merge it with "
                    "another, or change `random_state` or `held_out`."
                )
                raise _check.InputError(owner, reason, "confidence")


def _one_of_each(codes: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one random row of each group of rows."""
    mixed = rng.permutation(rows)
    return mixed[np.unique(codes[mixed], return_index=True)[1]]
