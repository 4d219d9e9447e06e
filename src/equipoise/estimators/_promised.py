"""Promise: what a fit says of rows that nobody has seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.estimators._report_text import MAX_BOUNDS_LISTED


@dataclass(frozen=True)
class PromiseLine:
    """One bound: as promised, on the training rows, on the rows held out.

    Attributes
    ----------
    name, sense, bound : the rule.
    promised : the bound that is promised for the population, together with those of all other lines. Where
        the promise could not be made as asked, all bounds of a rule are loosened by the same amount.
    training : the value counted on the training rows.
    held_out : the value counted on the rows held out.
    p_value : of "the population breaks the bound", by the rows held out.
    """

    name: str
    sense: str
    bound: float
    promised: float
    training: float
    held_out: float
    p_value: float

    @property
    def rule(self) -> str:
        """The rule, without the groups that it compares."""
        return self.name.split(":")[0]


@dataclass(frozen=True)
class Promise:
    """What is promised of the population, with which confidence, and by which rows.

    Attributes
    ----------
    kept : bool
        Whether all bounds could be promised as asked.
    confidence : float
        The probability, over the draw of the rows, of not promising what the population breaks.
    lines : tuple of PromiseLine
    rows_trained, rows_held_out : int
    rows_needed : float
        About how many rows in all would make the promise possible with the same model; NaN if it was
        made, infinite if the rows held out break a bound themselves.
    models_tested : int
        Along the walk from the tightest bounds to those asked for.
    """

    kept: bool
    confidence: float
    lines: tuple[PromiseLine, ...]
    rows_trained: int
    rows_held_out: int
    rows_needed: float
    models_tested: int

    @property
    def sentence(self) -> str:
        """The promise in words."""
        percent = f"{100.0 * self.confidence:g} %"
        if self.kept:
            return (
                f"Promised with confidence {percent}: all bounds hold for the population that the rows "
                f"were drawn from (tested on {self.rows_held_out} rows held out)."
            )
        return (
            f"NOT promised with confidence {percent}: the {self.rows_held_out} rows held out do not "
            f"show that all bounds hold for the population. {self.advice}"
        )

    @property
    def advice(self) -> str:
        """What would make the promise possible."""
        over = [line for line in self.lines if line.promised != line.bound]
        over = list({(line.rule, line.sense, line.promised): line for line in over}.values())
        listed = "; ".join(
            f"{line.rule!r} {line.sense} {line.promised:.4g} instead of {line.bound:g}"
            for line in over[:3]
        )
        more = f" (and {len(over) - 3} more)" if len(over) > 3 else ""
        rows = ""
        if math.isfinite(self.rows_needed):
            rows = (
                f" About {self.rows_needed:.2g} rows in all would do, if the model stayed the same."
            )
        elif math.isinf(self.rows_needed):
            rows = " More rows would not help this model: it breaks a bound on the rows held out."
        return f"What can be promised of this model: {listed}{more}.{rows}"

    @property
    def worst(self) -> tuple[PromiseLine, ...]:
        """The lines that are shown: those that the population is most likely to break."""
        ordered = sorted(self.lines, key=lambda line: -line.p_value)
        return tuple(ordered[:MAX_BOUNDS_LISTED])

    def __str__(self) -> str:
        shown = self.worst
        width = max(12, *(len(line.name) for line in shown))
        head = (
            f"{'constraint':{width}}  {'promised':>9}  {'training':>8}  {'held out':>8}  {'p':>8}"
        )
        left = []
        if len(shown) < len(self.lines):
            more = len(self.lines) - len(shown)
            left.append(f"... and {more} more, less likely to be broken (`lines` has all)")
        return "\n".join(
            [self.sentence, "", head]
            + [
                f"{line.name:{width}}  {line.sense:>2}{line.promised:7.4g}  {line.training:8.4f}  "
                f"{line.held_out:8.4f}  {line.p_value:8.2g}"
                for line in shown
            ]
            + left
        )
