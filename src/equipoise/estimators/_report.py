"""The report of a fit: bounds, surrogates, the truth, prices, and every group's rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from equipoise.constraints import Binding
from equipoise.constraints._sample import POOLED
from equipoise.estimators._counted import Candidate
from equipoise.estimators._counts import GroupRates, ModelRates, grouped, wilson
from equipoise.estimators._promised import Promise
from equipoise.estimators._report_formats import as_dict, as_html

SCOPE = "On the training rows; `confidence` makes bounds hold for new ones, and `evaluate` measures them:"
TRAINED = "On the training rows:"

# Bounds that the report shows, at the most: where there are more, the worst ones, each pair of groups once.
# Chosen.
MAX_BOUNDS_LISTED = 10

# Groups of a sensitive column that the report lists, at the most. Chosen.
MAX_GROUPS_LISTED = 50

# Labels of which everybody knows the positive one; the report names it for all others. Chosen.
USUAL_CLASSES = ((0, 1), (-1, 1))


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

    def ranked(self, name: str, value: float, plain: float) -> Report:
        """Return the report of a model whose scores are meant, not its predictions."""
        return replace(self, ranking=(name, value, plain), groups=())

    @property
    def _quality(self) -> str:
        measured = self.ranking or ("accuracy", self.accuracy, self.plain_accuracy)
        return "{} {:.4f} (unconstrained {:.4f})".format(*measured)

    @property
    def _near(self) -> str:
        return "" if self.near is None else f" ({self.near:.1e} next to it, on kinks)"

    def __str__(self) -> str:
        lines = [
            self.status,
            f"{self._quality}; "
            f"KKT residual {self.residual:.1e}{self._near}; {self.problems_solved} problems solved",
        ]
        if self.classes and self.classes not in USUAL_CLASSES:
            lines.append(
                f"positive class: {self.classes[1]!r}; negative class: {self.classes[0]!r}"
            )
        if self.constraints:
            lines += [] if self.promise is None else ["", str(self.promise)]
            lines += ["", self.scope]
            shown = worst_bounds(self.constraints)
            width = max(12, *(len(line.name) for line in shown))
            lines += [
                "",
                f"{'constraint':{width}}  {'bound':>9}  {'surrogate':>9}  {'true':>8}  {'plain':>8}  "
                f"holds  price",
            ]
            lines += [
                f"{line.name:{width}}  {line.sense:>2}{_bound(line.bound):>7}  {line.surrogate:9.4f}  "
                f"{line.true:8.4f}  {line.unconstrained:8.4f}  {'yes' if line.holds else 'NO':>5}  "
                f"{line.price}"
                for line in shown
            ]
            if len(shown) < len(self.constraints):
                more = len(_once(self.constraints)) - len(shown)
                left = (
                    f"{more} more, farther from their bounds" if more else "the other side of each"
                )
                lines.append(f"... and {left} (`to_frame` has all)")
        if self.groups:
            width = max(8, *(len(line.group) for line in self.groups))
            lines += [
                "",
                f"{'group':{width}}  {'rows':>7}  {'base':>6}  {'positive (95 %)':>22}  {'TPR':>6}  "
                f"{'FPR':>6}  {'accuracy':>8}  {'plain positive':>14}",
            ]
            lines += [
                f"{line.group:{width}}  {line.rows:7d}  {line.base_rate:6.3f}  "
                f"{line.positive_rate:6.3f} [{line.interval[0]:.3f}, {line.interval[1]:.3f}]  "
                f"{line.true_positive_rate:6.3f}  {line.false_positive_rate:6.3f}  "
                f"{line.accuracy:8.4f}  {line.plain_positive_rate:14.3f}"
                for line in self.groups
            ]
        for remark in self.remarks:
            lines += ["", remark]
        return "\n".join(lines)

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


def worst_bounds(lines: tuple[ConstraintLine, ...]) -> list[ConstraintLine]:
    """Return all bounds if they are few; else the worst ones, of each pair of groups the larger side."""
    if len(lines) <= MAX_BOUNDS_LISTED:
        return list(lines)
    return sorted(_once(lines), key=lambda line: -line.excess)[:MAX_BOUNDS_LISTED]


def _once(lines: tuple[ConstraintLine, ...]) -> list[ConstraintLine]:
    """Return the side of each pair of groups that is nearer to its bound, and all other bounds."""
    found: dict[Any, ConstraintLine] = {}
    for line in lines:
        pair = len(line.groups) == 2
        key = (line.name.split(":")[0], frozenset(line.groups)) if pair else line.name
        if key not in found or line.excess > found[key].excess:
            found[key] = line
    return list(found.values())


def make_report(binding: Binding, fit: Candidate, plain: Candidate) -> Report:
    """Write the report of a fit; `plain` is the model without constraints, measured by the plain problem."""
    rows = plain.problem.rows
    priced = fit.keeps_bounds or fit.result.success
    prices = fit.prices if priced else np.full(fit.prices.size, np.nan)
    other = ModelRates.of(
        binding, rows, plain.x
    )  # one model after the other: its scores are shared
    own = ModelRates.of(binding, rows, fit.x)
    left = {
        "surrogate": binding.measured(fit.smooth, lambda: rows.at(fit.x).values),
        "true": binding.measured(fit.counted, lambda: rows.thresholded(fit.x)),
        "unconstrained": binding.measured(plain.counted, lambda: rows.thresholded(plain.x)),
    }
    lines = tuple(
        ConstraintLine(
            name=row.name,
            sense=row.sense,
            bound=row.bound,
            **{name: float(values[i]) for name, values in left.items()},
            holds=bool(fit.holds[i]),
            multiplier=float(prices[i]) * row.factor,
            groups=row.groups,
        )
        for i, row in enumerate(binding.inequalities)
    )
    groups: list[GroupLine] = []
    for name, column in grouped(binding).items():
        labels = column.labels[:MAX_GROUPS_LISTED]
        groups += _group_lines(column.name, labels, own.by_column[name], other.by_column[name])
    return Report(
        status=fit.result.message if fit.result.success or not lines else _status(fit),
        accuracy=float(own.everyone.accuracy[0]),
        plain_accuracy=float(other.everyone.accuracy[0]),
        constraints=lines,
        groups=tuple(groups),
        residual=fit.result.certificate.residual,
        near=None if fit.result.near is None else fit.result.near.residual,
        problems_solved=fit.problems_solved,
        skipped=binding.skipped,
        classes=binding.table.classes,
        pooled=binding.pooled,
    )


def _group_lines(
    column: str, labels: Sequence[str], own: GroupRates, plain: GroupRates
) -> list[GroupLine]:
    return [
        GroupLine(
            column=column,
            group=label,
            rows=int(own.rows[i]),
            base_rate=float(own.base[i]),
            positive_rate=float(own.positive[i]),
            interval=wilson(float(own.positive[i]), float(own.effective[i])),
            true_positive_rate=float(own.true_positive[i]),
            false_positive_rate=float(own.false_positive[i]),
            accuracy=float(own.accuracy[i]),
            plain_positive_rate=float(plain.positive[i]),
            plain_accuracy=float(plain.accuracy[i]),
        )
        for i, label in enumerate(labels)
    ]


def _bound(value: float) -> str:
    """Three decimals, or as many digits as it takes."""
    return f"{value:.3f}" if round(value, 3) == value else f"{value:.4g}"


def _status(fit: Candidate) -> str:
    if fit.keeps_bounds and fit.result.verdict.claim is not None:
        return fit.result.message  # it says what became of the bounds
    verdict = "All bounds hold" if fit.keeps_bounds else "Some bounds do NOT hold"
    return f"{verdict} on the counted rates. {fit.result.message}"
