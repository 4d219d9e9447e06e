"""Rate table: the different rates that constraints are made of, each counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.constraints.expression import Expression
from equipoise.constraints.rate import KINDS, Rate
from equipoise.constraints.sample import Sample
from equipoise.terms.channel import Channel
from equipoise.terms.pointwise import Pointwise
from equipoise.terms.sigmoid import Sigmoid

Line = tuple[dict[int, float], float]  # coefficients of rates, and a constant


@dataclass(frozen=True)
class RateInfo:
    """A rate that constraint functions are made of.

    Attributes
    ----------
    base : {"positive", "error", "churn", "loss"}
        What is averaged.
    group : str or None
        None for everyone.
    label : label or None
        The class it is over; None for both.
    rows : int
        The rows it is over.
    effective_rows : float
        ``(sum w)^2 / sum w^2``: the rows that equal weights would need for the same spread.
    offset : float
        Added to the sum over rows to give the rate; 0 except for ``"error"`` and ``"churn"``, whose
        sums count ``(1 - 2 y) * prediction``.
    """

    base: str
    group: str | None
    label: Any
    rows: int
    effective_rows: float
    offset: float = 0.0

    @property
    def name(self) -> str:
        """The rate in words."""
        conditions = [] if self.group is None else [self.group]
        conditions += [] if self.label is None else [f"label {self.label}"]
        return self.base + (f" [{', '.join(conditions)}]" if conditions else "")


@dataclass(frozen=True)
class _Entry:
    function: Pointwise
    rows: np.ndarray
    values: np.ndarray  # weights of the rows; they add up to 1 in absolute value
    info: RateInfo


class RateTable:
    """Collects rates; gives channels, and each expression's coefficients on their rates."""

    def __init__(self, sample: Sample, loss: Pointwise, sigmoid: Sigmoid) -> None:
        self._sample, self._loss, self._sigmoid = sample, loss, sigmoid
        self._entries: list[_Entry] = []
        self._index: dict[Any, int] = {}
        self._known: dict[Rate, tuple[int, float, float]] = {}

    def line(self, owner: str, expression: Expression) -> Line:
        """Return an expression as coefficients of rates and a constant."""
        coefficients: dict[int, float] = {}
        constant = expression.constant
        for coefficient, part in expression.parts:
            entry, scale, offset = self._resolved(owner, part)
            coefficients[entry] = coefficients.get(entry, 0.0) + coefficient * scale
            constant += coefficient * offset
        return coefficients, constant

    def _resolved(self, owner: str, rate: Rate) -> tuple[int, float, float]:
        """Return ``(entry, scale, offset)`` with ``rate = scale * entry + offset``."""
        if rate not in self._known:
            kind = KINDS[rate.kind]
            rows, weight, total = self._sample.rows_of(owner, rate)
            entry = self._entry(owner, rate, rows, weight)
            share = float(weight.sum()) / total
            offset = self._entries[entry].info.offset
            scale, offset = (-1.0, 1.0 - offset) if kind.complement else (1.0, offset)
            self._known[rate] = entry, share * scale, share * offset
        return self._known[rate]

    def _entry(self, owner: str, rate: Rate, rows: np.ndarray, weight: np.ndarray) -> int:
        sample, base = self._sample, KINDS[rate.kind].base
        function = (rate.loss or self._loss) if base == "loss" else self._sigmoid
        positives = sample.label_of(owner, rate)
        place = None if rate.group is None else sample.place(owner, rate.group)
        key = (base, function, place, positives, rate.over, rate.reference)
        if key in self._index:
            return self._index[key]
        values, offset = weight / weight.sum(), 0.0
        if base in ("error", "churn"):
            truth = sample.positive if base == "error" else sample.predictions(owner, rate)
            truth = truth[rows]
            offset = float(values[truth].sum())  # P(wrong) = P(truth) + sum (1 - 2 truth) sigma
            values = np.where(truth, -values, values)
        info = RateInfo(
            base,
            None if place is None else sample.label(owner, rate.group),
            None if positives is None else sample.classes[int(positives)],
            len(rows),
            float(weight.sum() ** 2 / (weight**2).sum()),
            offset,
        )
        self._index[key] = len(self._entries)
        self._entries.append(_Entry(function, rows, values, info))
        return self._index[key]

    def channels(self) -> tuple[list[Channel], tuple[RateInfo, ...]]:
        """Return one channel for each pointwise function, and what their rates are."""
        sign = np.where(self._sample.positive, 1, -1).astype(np.int8)
        channels, infos = [], []
        for function, entries in self._by_function():
            rows = np.concatenate([np.empty(0, np.int32), *(entry.rows for entry in entries)])
            values = np.concatenate([np.empty(0), *(entry.values for entry in entries)])
            ends = np.cumsum([0, *(len(entry.rows) for entry in entries)])
            shape = (self._sample.n, len(entries))
            index = sparse.get_index_dtype(maxval=max(ends[-1], self._sample.n))
            columns = (values, rows.astype(index, copy=False), ends.astype(index))
            matrix = sparse.csc_array(columns, shape=shape)
            margin = None if isinstance(function, Sigmoid) else sign
            channels.append(Channel(function, matrix, margin))
            infos += [entry.info for entry in entries]
        return channels, tuple(infos)

    def matrix(self, lines: list[Line]) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the coefficients of all lines, in the order of the channels, and the constants."""
        order = [entry for _, entries in self._by_function() for entry in entries]
        place = {id(entry): column for column, entry in enumerate(order)}
        column = [place[id(entry)] for entry in self._entries]
        triplets = [
            (row, column[entry], value)
            for row, (coefficients, _) in enumerate(lines)
            for entry, value in coefficients.items()
        ]
        rows, columns, values = zip(*triplets) if triplets else ((), (), ())
        shape = (len(lines), len(order))
        matrix = sparse.csr_array((np.array(values, float), (rows, columns)), shape=shape)
        return matrix, np.array([constant for _, constant in lines])

    def _by_function(self) -> list[tuple[Pointwise, list[_Entry]]]:
        grouped: dict[Pointwise, list[_Entry]] = {}
        for entry in self._entries:
            grouped.setdefault(entry.function, []).append(entry)
        return list(grouped.items()) or [(self._sigmoid, [])]
