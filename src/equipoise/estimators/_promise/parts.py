"""Two parts of the rows: one to train on, and one to test what was trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from equipoise import _check
from equipoise.estimators._runner import seed_of
from equipoise.rows import DeviceTable, MemoryTable

Rows = TypeVar("Rows", MemoryTable, DeviceTable)


@dataclass(frozen=True, eq=False)
class HoldingOut:
    """Which rows are held out.

    Attributes
    ----------
    share : float
        Of the rows that are held out.
    ordered : bool
        Hold out the last rows, instead of random ones.
    groups : array of shape (n,), optional
        Rows with the same value stay together, as they are not independent; one row of each
        such group tests.
    seed : int
    """

    share: float
    ordered: bool = False
    groups: Any = None
    seed: int = 0

    @staticmethod
    def of(estimator: Any, groups: Any = None) -> HoldingOut:
        """Return what an estimator asks for."""
        seed = seed_of(estimator.random_state)
        return HoldingOut(estimator.held_out, estimator.ordered, groups, seed)

    def divided(self, owner: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to train on and those to test with, of `n` rows."""
        codes, count = np.arange(n), n
        if self.groups is not None:
            given = _check.labels(owner, "groups", self.groups)
            if given.size != n:
                rule = f"must have one entry for each of the {n} rows"
                _check.fail(owner, "groups", rule, given.size)
            found, first, codes = np.unique(given, return_index=True, return_inverse=True)
            if found.size < 2:
                _check.fail(owner, "groups", "must hold at least two values", found.tolist())
            codes, count = np.argsort(np.argsort(first))[codes], found.size  # as they appear
        held = min(max(1, round(self.share * count)), count - 1)
        rng = np.random.default_rng(self.seed)
        turn = np.arange(count) if self.ordered else rng.permutation(count)
        drawn = np.zeros(count, bool)
        drawn[turn[count - held :]] = True
        out = drawn[codes]
        rows = np.flatnonzero(out)
        if self.groups is not None:
            rows = np.sort(_one_of_each(codes, rows, rng))
        return np.flatnonzero(~out), rows


def holds_out(owner: str, confidence: float | None, constraints: Any, groups: Any) -> bool:
    """Whether rows are to be held out; raise for `groups` or `confidence` without use."""
    if confidence is None and groups is not None:
        reason = "`groups` is for rows held out: set `confidence`."
        raise _check.InputError(owner, reason, "groups")
    if confidence is not None and isinstance(constraints, list | tuple) and not constraints:
        reason = "`confidence` is for bounds: give `constraints`."
        raise _check.InputError(owner, reason, "confidence")
    return confidence is not None


@dataclass(frozen=True, eq=False)
class Parts(Generic[Rows]):
    """The rows to train on, and independent ones to test with."""

    training: Rows
    testing: Rows

    @staticmethod
    def of(owner: str, table: Rows, settings: HoldingOut) -> Parts[Rows]:
        """Divide the rows of a table."""
        training, testing = settings.divided(owner, table.n_rows)
        parts = Parts(table.part(training), table.part(testing))
        parts._check(owner, table)
        return parts

    def _check(self, owner: str, table: Rows) -> None:
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
