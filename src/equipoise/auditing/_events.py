"""Events: what a rate counts, among which rows, and all that a row can add to a sum of rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from equipoise import _check
from equipoise.constraints import KINDS
from equipoise.constraints._rate import Rate
from equipoise.constraints._sample import Sample
from equipoise.rows import ReferencePredictions, Subgroup


def of_a_loss(rule: str) -> str:
    """Return why a rule on losses cannot be audited."""
    return (
        f"the rule {rule} bounds a loss, of which predictions tell nothing; audit rules that count "
        "predictions, such as error_rate(0.1, group=Each())."
    )


@dataclass(frozen=True)
class Event:
    """A yes or no of every row of a subgroup; a rate is the share of yes.

    Attributes
    ----------
    among : Subgroup
        The rows that the rate is over.
    inside : Subgroup
        Only rows of it, a part of those, can say yes.
    base : {"positive", "error", "churn"}
    complement : bool
        Yes where `base` says no.
    reference : ReferencePredictions or None
    """

    among: Subgroup
    inside: Subgroup
    base: str
    complement: bool
    reference: ReferencePredictions | None = None

    @staticmethod
    def of(owner: str, rule: str, rate: Rate, sample: Sample) -> Event:
        """Return what a rate counts."""
        kind = KINDS[rate.kind]
        if kind.base == "loss":
            raise _check.InputError(owner, of_a_loss(repr(rule)), "constraints")
        cell = None if rate.group is None else sample.cell(owner, rate.group)
        inside = Subgroup(cell, sample.positives(owner, rate))
        among = {None: inside, "group": Subgroup(cell), "all": Subgroup()}[rate.per]
        return Event(among, inside, kind.base, kind.complement, rate.reference)

    def says(self, positive: Any, predicted: Any, reference: Any) -> Any:
        """Return yes or no, for rows inside or truth values."""
        truth = {"positive": False, "error": positive, "churn": reference}[self.base]
        found = predicted != truth
        return ~found if self.complement else found


def possible(events: Sequence[Event]) -> Iterator[tuple[bool, ...]]:
    """Yield all answers that a row can give to events among the same rows, whether it occurs or not."""
    among = events[0].among
    cells = list(dict.fromkeys(e.inside.cell for e in events if e.inside.cell != among.cell))
    references = list(dict.fromkeys(e.reference for e in events))
    truth = np.array([False, True])
    for y in truth if among.positives is None else [np.bool_(among.positives)]:
        for predicted in truth:
            for said in product(truth, repeat=len(references)):
                for member in product(truth, repeat=len(cells)):
                    where = {among.cell: True, **dict(zip(cells, member))}
                    other = dict(zip(references, said))
                    yield tuple(
                        bool(
                            where[e.inside.cell]
                            and e.inside.positives in (None, bool(y))
                            and e.says(y, predicted, other[e.reference])
                        )
                        for e in events
                    )
