"""The report of a fit: bounds, surrogates, the truth, prices, and every group's rates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from equipoise.constraints._sample import POOLED
from equipoise.estimators._chosen import Choice
from equipoise.estimators._promised import Promise
from equipoise.estimators._report_formats import as_dict, as_html
from equipoise.estimators._report_text import as_text

SCOPE = "On the training rows; `confidence` makes bounds hold for new ones, and `evaluate` measures them:"
TRAINED = "On the training rows:"


@dataclass(frozen=True)
class ConstraintLine:
    """One bound: what was asked, what holds, and what it costs.

    Attributes
    ----------
    name, sense, bound : the rule.
    surrogate : what the smooth rates say.
    true : what counting predictions on the training rows says.
    unconstrained : the same for the model without constraints.
    holds : whether the true value meets the bound, on the training rows.
    multiplier : the price: loosening the bound by 0.01 buys about ``0.01 * multiplier`` of objective;
        NaN if the model is the best one with its predictions, which bounds have no part in, or if
        not all bounds are met.
    groups : the groups it compares or bounds; empty for everyone.
    """

    name: str
    sense: str
    bound: float
    surrogate: float
    true: float
    unconstrained: float
    holds: bool
    multiplier: float
    groups: tuple[str, ...] = ()

    @property
    def excess(self) -> float:
        """How far the true value is beyond the bound; negative where it holds."""
        return self.true - self.bound if self.sense == "<=" else self.bound - self.true

    @property
    def price(self) -> str:
        """The multiplier in words."""
        if math.isnan(self.multiplier):
            return "unknown" if self.holds else "not met"
        if self.multiplier <= 1e-9:
            return "free" if self.holds else "not met"
        return f"0.01 looser buys about {0.01 * self.multiplier:.2g} of objective"


@dataclass(frozen=True)
class GroupLine:
    """One group's counted rates with 95 % intervals (Wilson), beside the unconstrained model's."""

    column: str
    group: str
    rows: int
    base_rate: float
    positive_rate: float
    interval: tuple[float, float]
    true_positive_rate: float
    false_positive_rate: float
    accuracy: float
    plain_positive_rate: float
    plain_accuracy: float


@dataclass(frozen=True)
class Report:
    """What a person asks after a fit; `print` it."""

    status: str
    accuracy: float
    plain_accuracy: float
    constraints: tuple[ConstraintLine, ...]
    groups: tuple[GroupLine, ...]
    residual: float
    problems_solved: int
    skipped: tuple[str, ...] = ()
    near: float | None = None  # the residual that `Result.near` proves
    promise: Promise | None = None  # what is said of rows that nobody has seen
    ranking: tuple[str, float, float] | None = None  # of scores: a measure, and the plain model's
    classes: tuple[Any, ...] = ()  # the negative and the positive one
    pooled: tuple[str, ...] = ()  # small groups that were taken as one
    choice: Choice | None = None  # what `scoring` has chosen

    def ranked(self, name: str, value: float, plain: float) -> Report:
        """Return the report of a model whose scores are meant, not its predictions."""
        return replace(self, ranking=(name, value, plain), groups=())

    @property
    def quality(self) -> str:
        """How good the model is, beside the one without constraints."""
        measured = self.ranking or ("accuracy", self.accuracy, self.plain_accuracy)
        return "{} {:.4f} (unconstrained {:.4f})".format(*measured)

    def __str__(self) -> str:
        return as_text(self)

    @property
    def scope(self) -> str:
        """Of which rows the table of bounds speaks."""
        return SCOPE if self.promise is None else TRAINED

    @property
    def remarks(self) -> list[str]:
        """What became of small groups."""
        found = []
        if self.pooled:
            found.append(
                f"one group, {POOLED!r}, as each alone is small: {', '.join(self.pooled)}. Its bounds are "
                "of the rates of all its rows together."
            )
        if self.skipped:
            found.append(f"too small to constrain: {', '.join(self.skipped)}")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data that JSON can hold; what is not known is None."""
        return as_dict(self)

    def _repr_html_(self) -> str:
        """Return the report as notebooks show it."""
        return as_html(self)

    def to_frame(self, part: str = "constraints") -> Any:
        """Return one part, ``"constraints"`` or ``"groups"``, as a pandas data frame."""
        import pandas as pd

        rows: dict[str, tuple[Any, ...]] = {"constraints": self.constraints, "groups": self.groups}
        if part not in rows:
            raise ValueError(f"Report.to_frame: `part` must be one of {list(rows)}, got {part!r}.")
        return pd.DataFrame([asdict(line) for line in rows[part]])
