"""From a rule to a measure: which rows are independent, and which limits are sharpest for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.auditing._audited_rows import AuditedRows
from equipoise.auditing._box import RatioOfMeasures
from equipoise.auditing._events import Event, possible
from equipoise.auditing._measure import Mapped, Measure
from equipoise.auditing._one_rate import OneRate
from equipoise.auditing._pieces import Piece, measure_of_sum, overlap
from equipoise.auditing._two_rates import TwoRates
from equipoise.constraints import Expression, Inequality
from equipoise.constraints._rate import Rate
from equipoise.constraints._sample import Sample
from equipoise.rows import Subgroup

Summands = tuple[tuple[float, Any], ...]  # factors of rates, and of AUCs


class Rules:
    """Makes measures of inequalities, for the rows of one audit."""

    def __init__(self, rows: AuditedRows, sample: Sample) -> None:
        self._rows, self._sample = rows, sample
        self._made: dict[Any, Measure] = {}
        self._limits: dict[tuple[int, float], tuple[float, float]] = {}

    def measure(self, row: Inequality) -> Measure:
        """Return the measure of the left-hand side of an inequality."""
        made, sign = self._found(row)
        return made.mirrored() if sign < 0 else made

    def limits(self, row: Inequality, level: float) -> tuple[float, float]:
        """Return both limits of the left-hand side; those of opposite sides are computed once."""
        made, sign = self._found(row)
        if (id(made), level) not in self._limits:
            self._limits[id(made), level] = made.lower(level), made.upper(level)
        lower, upper = self._limits[id(made), level]
        return (lower, upper) if sign > 0 else (0.0 - upper, 0.0 - lower)

    def _found(self, row: Inequality) -> tuple[Measure, float]:
        """Return the measure of the left-hand side, or of minus it: and which."""
        if row.expression is None:
            reason = (
                f"the rule {row.name!r} is a function of its own, of whose errors nothing is known; audit "
                "rules made of rates and AUCs."
            )
            raise _check.InputError(self._rows.owner, reason, "constraints")
        above = self._resolved(row, row.expression)
        below = None if row.denominator is None else self._resolved(row, row.denominator)
        constant = row.expression.constant
        sign = -1.0 if below is None and above and above[0][0] < 0 else 1.0
        key = self._key(sign, above, constant, below, row.denominator)
        if key not in self._made:
            turned = tuple((sign * factor, part) for factor, part in above)
            if below is None:
                self._made[key] = measure_of_sum(self._pieces(turned), sign * constant)
            else:
                assert row.denominator is not None
                self._made[key] = self._ratio(turned, constant, below, row.denominator.constant)
        return self._made[key], sign

    @property
    def distinct(self) -> int:
        """How many measures there are, opposite ones counted once."""
        return len(self._made)

    @staticmethod
    def _key(
        sign: float, above: Summands, constant: float, below: Summands | None, under: Any
    ) -> Any:
        turned = tuple((sign * factor, part) for factor, part in above)
        return turned, sign * constant, below, None if under is None else under.constant

    def _resolved(self, row: Inequality, expression: Expression) -> Summands:
        """Return the parts with their groups found, in an order of their own."""
        owner = self._rows.owner
        found: list[tuple[float, Any]] = []
        for factor, part in expression.parts:
            if isinstance(part, Rate):
                found.append((factor, Event.of(owner, row.name, part, self._sample)))
            else:
                found.append((factor, self._pair(row, part)))
        return tuple(sorted(found, key=lambda entry: repr(entry[1])))

    def _pair(self, row: Inequality, part: Any) -> tuple[Subgroup, Subgroup]:
        if part.function is not None:
            reason = f"the rule {row.name!r} bounds a loss of pairs; audit rules on AUCs instead."
            raise _check.InputError(self._rows.owner, reason, "constraints")
        cells = [
            None if side.group is None else self._sample.cell(self._rows.owner, side.group)
            for side in (part.above, part.below)
        ]
        above, below = (
            Subgroup(cells[0], part.above.positive),
            Subgroup(cells[1], part.below.positive),
        )
        overlap = (self._rows.members(above) & self._rows.members(below)).any()
        if overlap and not (_is_part(above, below) or _is_part(below, above)):
            reason = (
                f"the rule {row.name!r} compares two sets of rows that overlap, and none is a part of the "
                "other; limits are known for AUCs between other sets only."
            )
            raise _check.InputError(self._rows.owner, reason, "constraints")
        return above, below

    def _pieces(self, parts: Summands) -> list[Piece]:
        """Return the independent parts of a sum of rates, those over the same rows taken together."""
        together: dict[Subgroup, list[tuple[float, Event]]] = {}
        pieces = []
        for factor, part in parts:
            if isinstance(part, Event):
                together.setdefault(part.among, []).append((factor, part))
            else:
                pieces.append(self._auc_piece(factor, *part))
        return [self._piece(among, own) for among, own in together.items()] + pieces

    def _piece(self, among: Subgroup, parts: list[tuple[float, Event]]) -> Piece:
        factors = np.array([factor for factor, _ in parts])
        events = [event for _, event in parts]
        values = sorted({float(np.dot(factors, answer)) for answer in possible(events)})
        low, high = values[0], values[-1]
        added = self._rows.answers(events) @ factors
        width = high - low
        mean = math.nan
        if added.size:
            mean = float((added.mean() - low) / width) if width else 0.0
        counts = len(values) <= 2
        return Piece(self._rows.members(among), added.size, mean, width, low, counts)

    def _auc_piece(self, factor: float, above: Subgroup, below: Subgroup) -> Piece:
        """Return the piece of an AUC; of a set and a part of it, by the AUC of that part and the rest."""
        sides = [self._rows.members(side) for side in (above, below)]
        members, apart = sides[0] | sides[1], None
        for part, whole in ((0, 1), (1, 0)):
            if _is_part((above, below)[part], (above, below)[whole]):
                rows = int(np.count_nonzero(sides[whole]))
                sides[whole] = sides[whole] & ~sides[part]
                apart = OneRate(int(np.count_nonzero(sides[whole])), rows)
        draws = int(min(np.count_nonzero(side) for side in sides))
        mean = self._rows.auc(*sides)
        return Piece(members, draws, mean, factor, 0.0, counts=False, apart=apart)

    def _ratio(self, above: Summands, constant: float, below: Summands, under: float) -> Measure:
        """Return the measure of a ratio: exact for one or two rates, else by an interval of each part."""
        events = [part for _, part in above + below]
        if constant == under == 0.0 and all(isinstance(event, Event) for event in events):
            if len({event.among for event in events}) == 1:
                exact = self._share(above, below)
                if exact is not None:
                    return exact
            upper, lower = self._pieces(above), self._pieces(below)
            pieces = upper + lower
            if (
                len(upper) == len(lower) == 1
                and all(piece.counts and piece.offset == 0.0 for piece in pieces)
                and not overlap(pieces)
            ):
                rates = TwoRates(
                    (pieces[0].hits, pieces[1].hits),
                    (pieces[0].draws, pieces[1].draws),
                    (pieces[0].factor, pieces[1].factor),
                    ratio=True,
                )
                return Mapped(rates, _exp, _log)
        return RatioOfMeasures(
            measure_of_sum(self._pieces(above), constant),
            measure_of_sum(self._pieces(below), under),
        )

    def _share(self, above: Summands, below: Summands) -> Measure | None:
        """Return a ratio over one set of rows as a function of one rate, if it is one.

        Rows that add to neither part are left out. Where the others can add only two different pairs of
        numbers, their shares are a rate among those rows, in which the ratio is monotone.
        """
        events = [event for _, event in above + below]
        factors = np.zeros((len(events), 2))
        factors[: len(above), 0] = [factor for factor, _ in above]
        factors[len(above) :, 1] = [factor for factor, _ in below]
        pairs = {tuple(np.array(answer) @ factors) for answer in possible(events)} - {(0.0, 0.0)}
        if len(pairs) != 2 or any(low <= 0.0 for _, low in pairs):
            return None
        (a, b), (c, d) = sorted(pairs, key=lambda pair: pair[0] / pair[1])  # the second is larger
        if a / b == c / d:
            return None
        added = self._rows.answers(events) @ factors
        hits = int((added == (c, d)).all(axis=1).sum())
        rate = OneRate(hits, int(added.any(axis=1).sum()))

        def ratio(p: float) -> float:
            return (a + p * (c - a)) / (b + p * (d - b))

        def share(value: float) -> float:
            return (value * b - a) / ((c - a) - value * (d - b))

        return Mapped(rate, ratio, share)


def _is_part(part: Subgroup, whole: Subgroup) -> bool:
    """Whether one subgroup is a part of another, whatever the rows are."""
    of_cell = whole.cell is None or whole.cell == part.cell
    return part != whole and of_cell and whole.positives in (None, part.positives)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700.0 else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
