"""Rate table: the different rates that constraints are made of, each counted once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise import _check
from equipoise.constraints._expression import Expression
from equipoise.constraints._pair_rate import PairRate
from equipoise.constraints._rate import KINDS, Rate
from equipoise.constraints._sample import Sample
from equipoise.rows import RateEntry, RateSpec, Subgroup, SumSpec, Tally
from equipoise.rows._entries import PairEntry, PairSpec
from equipoise.terms import PairFunction, Pointwise, Sigmoid, SigmoidPair

Line = tuple[dict[int, float], float]  # coefficients of rates, and a constant


@dataclass(frozen=True)
class RateInfo:
    """A rate that constraint functions are made of.

    Attributes
    ----------
    base : {"positive", "error", "churn", "loss", "auc"}
        What is averaged.
    group : str or None
        None for everyone, and for pairs.
    label : label or None
        The class it is over; None for both.
    rows : int
        The rows it is over; for pairs those of the smaller side.
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


class RateTable:
    """Collects rates; says what is to be summed, and each expression's coefficients on the sums."""

    def __init__(self, sample: Sample, loss: Pointwise, sigmoid: Sigmoid) -> None:
        self._sample, self._loss, self._sigmoid = sample, loss, sigmoid
        self._index: dict[RateEntry | PairEntry, int] = {}  # the places of entries, in their order
        # The places of the rates of every pointwise function, of scores and of margins; and of the
        # means over pairs of every function of differences.
        self._rates: dict[tuple[Pointwise, bool], list[int]] = {}
        self._pairs: dict[PairFunction, list[int]] = {}
        self._totals: dict[int, float] = {}  # of rates: the weight of their rows
        self._infos: dict[int, RateInfo] = {}
        self._known: dict[Rate | PairRate, tuple[int, float, float]] = {}
        self._tallies: dict[RateEntry, Tally] = {}

    def line(self, owner: str, expression: Expression) -> Line:
        """Return an expression as coefficients of rates and a constant."""
        coefficients: dict[int, float] = {}
        constant = expression.constant
        for coefficient, part in expression.parts:
            if part not in self._known:
                self._known[part] = part.place(self, owner)
            entry, scale, offset = self._known[part]
            coefficients[entry] = coefficients.get(entry, 0.0) + coefficient * scale
            constant += coefficient * offset
        return coefficients, constant

    def require(self, owner: str, places: Iterable[int], least: int) -> None:
        """Raise where a rate is over fewer rows than `least`."""
        for info in (self._infos[place] for place in places):
            if info.rows < least:
                reason = (
                    f"{info.name} is over {_counted(info.rows)}; a rule needs at least {least}."
                )
                raise _check.MissingRowsError(owner, reason)

    def place_rate(self, owner: str, rate: Rate) -> tuple[int, float, float]:
        """Return ``(entry, scale, offset)`` with ``rate = scale * entry + offset``."""
        kind, sample = KINDS[rate.kind], self._sample
        cell = None if rate.group is None else sample.cell(owner, rate.group)
        subgroup = Subgroup(cell, sample.positives(owner, rate), rate.over)
        function = (rate.loss or self._loss) if kind.base == "loss" else self._sigmoid
        entry = RateEntry(kind.base, function, subgroup, rate.reference)
        what = f"{str(rate.kind).replace('_', ' ')} rate"
        own, whole = self._checked(owner, rate.group, what, entry)
        totals = {None: own, "group": whole, "all": self._sample.table.total(rate.over)}
        share, place = own / totals[rate.per], self._place(owner, rate, entry)
        offset = self._infos[place].offset
        scale, offset = (-1.0, 1.0 - offset) if kind.complement else (1.0, offset)
        return place, share * scale, share * offset

    def place_pair(self, owner: str, pair: PairRate) -> tuple[int, float, float]:
        """Return ``(entry, 1, 0)``: the mean over pairs is the entry itself."""
        sides, weights, tallies = [], [], []
        for subset in (pair.above, pair.below):
            cell = None if subset.group is None else self._sample.cell(owner, subset.group)
            subgroup = Subgroup(cell, subset.positive)
            entry = RateEntry("positive", self._sigmoid, subgroup)  # for what the subgroup holds
            weights.append(self._checked(owner, subset.group, "AUC", entry, least=1)[0])
            sides.append(subgroup)
            tallies.append(self._tally(entry))
        function = pair.function or SigmoidPair(self._sigmoid.sharpness)
        placed = PairEntry(function, sides[0], sides[1], (weights[0], weights[1]))
        if placed not in self._index:
            place = self._index[placed] = len(self._index)
            self._pairs.setdefault(function, []).append(place)
        place = self._index[placed]
        rows = min(tally.rows for tally in tallies)
        effective = min(tally.effective_rows for tally in tallies)
        self._infos[place] = RateInfo(pair.kind, None, None, rows, effective)
        return place, 1.0, 0.0

    def _checked(
        self, owner: str, group: Any, what: str, entry: RateEntry, least: int = 2
    ) -> tuple[float, float]:
        """Return the weight of a rate's rows, and of its group; raise where there are too few."""
        subgroup, where = entry.subgroup, "the sample"
        whole = self._tally(replace(entry, subgroup=replace(subgroup, positives=None)))
        if subgroup.cell is not None:
            where = f"group {self._sample.label(owner, group)!r}"
            if whole.rows < least:
                needed = "a rate needs at least 2" if least == 2 else f"an {what} needs some"
                reason = (
                    f"{where} has {_counted(whole.rows)} of positive weight; {needed}. "
                    f"{_advice(subgroup, 'leave its rows out')}"
                )
                raise _check.MissingRowsError(owner, reason)
        own = self._tally(entry)
        if subgroup.positives is not None and own.rows < least:
            label = self._sample.classes[int(subgroup.positives)]
            reason = (
                f"{where} has {_counted(own.rows)} with the label {label!r}, so its {what} is not "
                f"defined. {_advice(subgroup, 'leave it out of the constraint')}"
            )
            raise _check.MissingRowsError(owner, reason)
        return own.weight, whole.weight

    def _tally(self, entry: RateEntry) -> Tally:
        if entry not in self._tallies:
            self._tallies[entry] = self._sample.table.tallies([entry])[0]
        return self._tallies[entry]

    def _place(self, owner: str, rate: Rate, entry: RateEntry) -> int:
        """Return the place of an entry, which is new or known already."""
        if entry not in self._index:
            tally, subgroup = self._tally(entry), entry.subgroup
            label = None
            if subgroup.positives is not None:
                label = self._sample.classes[int(subgroup.positives)]
            place = self._index[entry] = len(self._index)
            self._rates.setdefault((entry.function, entry.of_margin), []).append(place)
            self._totals[place] = tally.weight
            self._infos[place] = RateInfo(
                entry.base,
                None if subgroup.cell is None else self._sample.label(owner, rate.group),
                label,
                tally.rows,
                tally.effective_rows,
                tally.true / tally.weight,
            )
        return self._index[entry]

    def specs(self) -> tuple[SumSpec, ...]:
        """Return what is to be summed: the rates, by pointwise function, then means over pairs."""
        entries: list[Any] = list(self._index)
        rates = self._rates
        if not rates and not self._pairs:
            rates = {(self._sigmoid, False): []}  # no sums at all
        made = tuple(
            (f, tuple(replace(entries[i], total=self._totals[i]) for i in places))
            for (f, _), places in rates.items()
        )
        of_pairs = (
            PairSpec(function, tuple(entries[i] for i in places))
            for function, places in self._pairs.items()
        )
        return (RateSpec(made), *of_pairs) if made else tuple(of_pairs)

    @property
    def infos(self) -> tuple[RateInfo, ...]:
        """What the rates are, in the order of the sums."""
        return tuple(self._infos[place] for place in self._order)

    def matrix(self, lines: list[Line]) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the coefficients of all lines, in the order of the sums, and the constants."""
        order = self._order
        column = {place: number for number, place in enumerate(order)}
        triplets = [
            (row, column[place], value)
            for row, (coefficients, _) in enumerate(lines)
            for place, value in coefficients.items()
        ]
        rows, columns, values = zip(*triplets) if triplets else ((), (), ())
        shape = (len(lines), len(order))
        matrix = sparse.csr_array((np.array(values, float), (rows, columns)), shape=shape)
        return matrix, np.array([constant for _, constant in lines])

    @property
    def _order(self) -> list[int]:
        """The places in the order of the sums."""
        return [
            place for part in (self._rates, self._pairs) for own in part.values() for place in own
        ]


def _advice(subgroup: Subgroup, otherwise: str) -> str:
    """Return what can be done where a group has too few rows; `otherwise` is what always helps."""
    if subgroup.cell is not None and len(subgroup.cell.values) > 1:
        return "Merge values, or raise `min_cell` and set small_cells='skip' or 'pool'."
    return f"Merge it with another group, or {otherwise}."


def _counted(rows: int) -> str:
    return f"{rows or 'no'} row{'' if rows == 1 else 's'}"
