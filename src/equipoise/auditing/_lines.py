"""What an audit found: a line for each bound, with limits and a verdict."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

HOLDS, BROKEN, UNKNOWN = "holds", "broken", "too few rows"

# Lines that are printed, at the most; the others are in `lines`. Chosen.
MAX_LINES_SHOWN = 20

# Pairs of labels of which everybody knows the positive one; of other pairs, reports name it. Chosen.
USUAL_CLASSES = ((0, 1), (-1, 1))


def classes_named(classes: tuple[Any, ...]) -> list[str]:
    """Return the line that says which class is the positive one; none for the usual labels."""
    if not classes or classes in USUAL_CLASSES:
        return []
    return [f"positive class: {classes[1]!r}; negative class: {classes[0]!r}"]


@dataclass(frozen=True)
class AuditLine:
    """One bound: what was measured, what is known of the population, and the verdict.

    Attributes
    ----------
    name, sense, bound : the rule.
    value : what the rows at hand measure; NaN where a group has no rows.
    lower, upper : limits of the population's value. All intervals of an audit are right at once, with
        the confidence asked for.
    p_value : of "the population breaks the bound", for this line alone.
    rows : the rows behind the value; of several rates, those of the one that has fewest.
    verdict : "holds" if the whole interval keeps the bound, "broken" if none of it does, else
        "too few rows".
    rows_needed : how many rows in all would tell, if they gave the same value; NaN if the verdict
        is known, infinite if the value is on the bound.
    mirrored : name of the line that bounds the same number from the other side, or None.
    """

    name: str
    sense: str
    bound: float
    value: float
    lower: float
    upper: float
    p_value: float
    rows: int
    verdict: str
    rows_needed: float = math.nan
    mirrored: str | None = None

    @property
    def excess(self) -> float:
        """How far the value is beyond the bound; negative where it keeps it."""
        over = self.value - self.bound
        return over if self.sense == "<=" else -over


@dataclass(frozen=True)
class Audit:
    """What is known of rules for the population that rows were drawn from; `print` it.

    Attributes
    ----------
    lines : tuple of AuditLine
        One for each bound.
    confidence : float
    rows : int
        The rows audited.
    skipped : tuple of str
        Groups too small to say anything of.
    classes : tuple
        The negative and the positive one.
    """

    lines: tuple[AuditLine, ...]
    confidence: float
    rows: int
    skipped: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()

    @property
    def p_value(self) -> float:
        """Of "the population breaks at least one bound": the largest of all lines; 1 without lines."""
        return max((line.p_value for line in self.lines), default=1.0)

    @property
    def holds(self) -> bool:
        """Whether all bounds together hold for the population, with the confidence asked for.

        This needs no correction for the number of bounds: to be wrong, one that is broken must look
        kept. So it can be True where some line alone has too few rows.
        """
        return self.p_value <= 1.0 - self.confidence

    @property
    def verdict(self) -> str:
        """For all bounds together: "holds", "broken" (at least one is) or "too few rows"."""
        if self.holds:
            return HOLDS
        return BROKEN if any(line.verdict == BROKEN for line in self.lines) else UNKNOWN

    @property
    def worst_first(self) -> tuple[AuditLine, ...]:
        """The lines, those farthest beyond their bound first; of two opposite ones only the worse."""
        known = {line.name: line for line in self.lines}
        chosen = [line for line in self.lines if not self._is_second(line, known)]
        order = {HOLDS: 2, BROKEN: 0, UNKNOWN: 1}
        return tuple(sorted(chosen, key=lambda line: (order[line.verdict], -_number(line.excess))))

    @staticmethod
    def _is_second(line: AuditLine, known: dict[str, AuditLine]) -> bool:
        other = known.get(line.mirrored or "")
        if other is None:
            return False
        return (_number(other.excess), other.name < line.name) > (_number(line.excess), False)

    def __str__(self) -> str:
        percent = f"{100.0 * self.confidence:g} %"
        sentence = _SENTENCES[self.verdict] if self.lines else NO_BOUND
        lines = [f"{sentence} ({self.rows} rows, confidence {percent}, p = {self.p_value:.3g})"]
        lines += classes_named(self.classes)
        shown = self.worst_first[:MAX_LINES_SHOWN]
        if shown:
            width = max(12, *(len(line.name) for line in shown))
            head = f"[{percent} limits]"
            lines += [
                "",
                f"{'rule':{width}}  {'bound':>9}  {'value':>8}  {head:>18}  {'rows':>7}  verdict",
            ]
            lines += [_text(line, width) for line in shown]
        left = len(self.worst_first) - len(shown)
        if left:
            lines.append(f"... and {left} more, none of them worse")
        if self.skipped:
            lines += ["", f"too small to audit: {', '.join(self.skipped)}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the text as notebooks show it."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and texts, as for JSON; what is not finite is None."""
        own = {"verdict": self.verdict, "p_value": self.p_value}
        return {**own, **asdict(self), "lines": [_finite(asdict(line)) for line in self.lines]}

    def to_frame(self) -> Any:
        """Return the lines as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame([asdict(line) for line in self.lines])


NO_BOUND = "There was no bound to audit."
_SENTENCES = {
    HOLDS: "All bounds hold for the population.",
    BROKEN: "Some bounds are broken in the population.",
    UNKNOWN: "There are too few rows to tell whether all bounds hold for the population.",
}


def _text(line: AuditLine, width: int) -> str:
    needed = ""
    if line.verdict == UNKNOWN:
        many = math.isinf(line.rows_needed)
        needed = " (on the bound)" if many else f" (about {line.rows_needed:.2g} would tell)"
        if math.isnan(line.rows_needed):
            needed = ""
    return (
        f"{line.name:{width}}  {line.sense:>2}{line.bound:7.4g}  {line.value:8.4f}  "
        f"[{line.lower:7.4f}, {line.upper:7.4f}]  {line.rows:7d}  {line.verdict}{needed}"
    )


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    odd = {name for name, v in values.items() if isinstance(v, float) and not math.isfinite(v)}
    return {name: None if name in odd else value for name, value in values.items()}


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value
