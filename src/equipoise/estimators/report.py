"""The report of a fit: bounds, surrogates, the truth, prices, and every group's rates."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from equipoise.constraints import Binding
from equipoise.estimators.counting import Kept, prediction_scores


@dataclass(frozen=True)
class ConstraintLine:
    """One bound: what was asked, what holds, and what it costs.

    Attributes
    ----------
    name, sense, bound : the rule.
    surrogate : what the smooth rates say.
    true : what counting predictions on the training data says.
    unconstrained : the same for the model without constraints.
    holds : whether the true value meets the bound.
    multiplier : the price: loosening the bound by 0.01 buys about ``0.01 * multiplier`` of objective;
        NaN if the model is the best one with its predictions, which bounds have no part in, or if
        not all bounds are met.
    """

    name: str
    sense: str
    bound: float
    surrogate: float
    true: float
    unconstrained: float
    holds: bool
    multiplier: float

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
    rounds: int
    skipped: tuple[str, ...] = ()
    near: float | None = None  # the residual that `Result.near` proves

    @property
    def _near(self) -> str:
        return "" if self.near is None else f" ({self.near:.1e} next to it, on kinks)"

    def __str__(self) -> str:
        lines = [
            self.status,
            f"accuracy {self.accuracy:.4f} (unconstrained {self.plain_accuracy:.4f}); "
            f"KKT residual {self.residual:.1e}{self._near}; {self.rounds} problems solved",
        ]
        if self.constraints:
            width = max(12, *(len(line.name) for line in self.constraints))
            lines += [
                "",
                f"{'constraint':{width}}  {'bound':>9}  {'surrogate':>9}  {'true':>8}  {'plain':>8}  "
                f"holds  price",
            ]
            lines += [
                f"{line.name:{width}}  {line.sense:>2}{_bound(line.bound):>7}  {line.surrogate:9.4f}  "
                f"{line.true:8.4f}  {line.unconstrained:8.4f}  {'yes' if line.holds else 'NO':>5}  "
                f"{line.price}"
                for line in self.constraints
            ]
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
        if self.skipped:
            lines += ["", f"too small to constrain: {', '.join(self.skipped)}"]
        return "\n".join(lines)

    def to_frame(self, part: str = "constraints") -> Any:
        """Return one part, ``"constraints"`` or ``"groups"``, as a pandas data frame."""
        import pandas as pd

        rows: dict[str, tuple[Any, ...]] = {"constraints": self.constraints, "groups": self.groups}
        if part not in rows:
            raise ValueError(f"Report.to_frame: `part` must be one of {list(rows)}, got {part!r}.")
        return pd.DataFrame([asdict(line) for line in rows[part]])


def make_report(
    binding: Binding,
    fit: Kept,
    plain: Kept,
    truth: np.ndarray,
    weight: np.ndarray | None,
) -> Report:
    """Write the report of a fit on its training data; `truth` is 1 for the positive class."""
    w = np.ones(truth.size) if weight is None else weight
    model = fit.problem.model
    predicted = prediction_scores(model, fit.result.x) > 0
    plainly = prediction_scores(model, plain.result.x) > 0
    priced = fit.kept or fit.result.success
    prices = fit.prices if priced else np.full(fit.prices.size, np.nan)
    lines = tuple(
        ConstraintLine(
            name=row.name,
            sense=row.sense,
            bound=row.bound,
            surrogate=row.measured(fit.smooth[i]),
            true=row.measured(fit.true[i]),
            unconstrained=row.measured(plain.true[i]),
            holds=bool(fit.holds[i]),
            multiplier=float(prices[i]) * row.factor,
        )
        for i, row in enumerate(binding.rows)
    )
    groups = []
    for column in binding.groups.columns.values() if binding.groups is not None else ():
        for code, label in enumerate(column.labels[:50]):
            rows = column.members(code)
            groups.append(_group(column.name, label, rows, truth, w, predicted, plainly))
    return Report(
        status=fit.result.message if fit.result.success or not lines else _status(fit),
        accuracy=_mean(predicted == truth, w),
        plain_accuracy=_mean(plainly == truth, w),
        constraints=lines,
        groups=tuple(groups),
        residual=fit.result.certificate.residual,
        near=None if fit.result.near is None else fit.result.near.residual,
        rounds=fit.rounds,
        skipped=binding.skipped,
    )


def _bound(value: float) -> str:
    """Three decimals, or as many digits as it takes."""
    return f"{value:.3f}" if round(value, 3) == value else f"{value:.4g}"


def _status(fit: Kept) -> str:
    if fit.kept and "hold on the counted rates" in fit.result.message:
        return fit.result.message
    verdict = "All bounds hold on the counted rates." if fit.kept else "Some bounds do NOT hold."
    return f"{verdict} {fit.result.message}"


def _group(
    column: str,
    label: str,
    rows: np.ndarray,
    truth: np.ndarray,
    weight: np.ndarray,
    predicted: np.ndarray,
    plainly: np.ndarray,
) -> GroupLine:
    y, w, p, q = truth[rows].astype(bool), weight[rows], predicted[rows], plainly[rows]
    rate = _mean(p, w)
    effective = w.sum() ** 2 / max((w**2).sum(), 1e-300)
    return GroupLine(
        column=column,
        group=label,
        rows=int(rows.size),
        base_rate=_mean(y, w),
        positive_rate=rate,
        interval=wilson(rate, effective),
        true_positive_rate=_mean(p[y], w[y]),
        false_positive_rate=_mean(p[~y], w[~y]),
        accuracy=_mean(p == y, w),
        plain_positive_rate=_mean(q, w),
        plain_accuracy=_mean(q == y, w),
    )


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    total = float(weight.sum())
    return float(np.sum(weight, where=values)) / total if total > 0 else math.nan


def wilson(rate: float, n: float, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's interval of a proportion observed on `n` rows."""
    if not n > 0 or math.isnan(rate):
        return (math.nan, math.nan)
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)
