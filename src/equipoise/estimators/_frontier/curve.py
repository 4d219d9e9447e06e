"""A trade-off curve: its points, its knee, its picture."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

MEASURE_NAMES = {"accuracy": "accuracy", "auc": "AUC"}  # how a measure of a model is written


@dataclass(frozen=True)
class FrontierPoint:
    """One model of a trade-off curve.

    Attributes
    ----------
    bound : what was asked.
    split : which random training part; 0 where there is one only.
    value : the largest counted value of the bounded rates, on the training rows.
    accuracy, auc : on the training rows; NaN for the one that the estimator is not meant for.
    objective : on the training rows.
    multiplier : minus the slope of the objective in the bound: what loosening it buys; NaN if unknown.
    residual, status : of the certificate.
    holds : whether the bound holds on the counted training rates.
    coef, intercept : the model.
    seconds : what the fit took.
    test_value, test_accuracy, test_auc : on the rows held out, if any.
    promised : the bound that is promised for the population, where the estimator has a `confidence`: all
        points of a curve are promised at once.
    """

    bound: float
    split: int
    value: float
    accuracy: float
    objective: float
    multiplier: float
    residual: float
    status: str
    holds: bool
    coef: np.ndarray
    intercept: float
    seconds: float
    test_value: float = math.nan
    test_accuracy: float = math.nan
    promised: float = math.nan
    auc: float = math.nan
    test_auc: float = math.nan

    @property
    def measure(self) -> str:
        """What the model is meant to be good at: "accuracy", or "auc" of an estimator that ranks."""
        return "accuracy" if math.isnan(self.auc) else "auc"

    def __str__(self) -> str:
        return (
            f"bound {self.bound:.4g}: {'holds' if self.holds else 'NOT MET'}, counted "
            f"{self.value:.4f}, {MEASURE_NAMES[self.measure]} {getattr(self, self.measure):.4f}, "
            f"residual {self.residual:.1e}"
        )


@dataclass(frozen=True)
class Frontier:
    """A trade-off curve; the points of each split run from the loosest bound to the tightest."""

    points: tuple[FrontierPoint, ...]

    @property
    def bounds(self) -> np.ndarray:
        """The bounds, ascending."""
        return np.array(sorted({point.bound for point in self.points}))

    @property
    def measure(self) -> str:
        """What the curve shows of its models: "accuracy", or "auc"."""
        return self.points[0].measure

    @property
    def n_splits(self) -> int:
        """How many random training parts there are."""
        return len({point.split for point in self.points})

    def summary(self) -> dict[str, np.ndarray]:
        """Return means and standard errors over the splits, one entry for each bound (ascending).

        What is not known of a split (NaN) is left out.
        """
        own = self.measure
        fields = ("value", own, "objective", "multiplier", "test_value", f"test_{own}", "promised")
        table: dict[str, np.ndarray] = {"bound": self.bounds}
        for name in fields:
            columns = [
                np.array([getattr(p, name) for p in self.points if p.bound == bound])
                for bound in self.bounds
            ]
            known = [column[~np.isnan(column)] for column in columns]
            table[name] = np.array([c.mean() if c.size else math.nan for c in known])
            spread = [c.std(ddof=1) / math.sqrt(c.size) if c.size > 1 else 0.0 for c in known]
            table[f"{name}_error"] = np.array(spread)
        return table

    @property
    def knee(self) -> float:
        """The bound at which the curve bends most: tighter costs more, looser gains little.

        The point farthest above the chord from the first to the last (bound, `measure`), of those that
        are met; NaN if these are fewer than three, or the curve is flat.
        """
        table = self.summary()
        broken = [point.bound for point in self.points if not point.holds]
        met = ~np.isin(table["bound"], broken)
        x, y = table["bound"][met], table[self.measure][met]
        if x.size < 3 or np.ptp(y) == 0:
            return math.nan
        chord = y[0] + (y[-1] - y[0]) * (x - x[0]) / np.ptp(x)
        return float(x[int(np.argmax(y - chord))])

    def to_frame(self) -> Any:
        """Return the points as a pandas data frame, without the coefficients."""
        import pandas as pd

        rows = [asdict(point) for point in self.points]
        other = next(name for name in MEASURE_NAMES if name != self.measure)
        return pd.DataFrame(rows).drop(columns=["coef", "intercept", other, f"test_{other}"])

    def _repr_html_(self) -> str:
        """Return the text as notebooks show it."""
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        table, own = self.summary(), self.measure
        knee, title = self.knee, MEASURE_NAMES[own]
        head = f"{'bound':>8} {'counted':>9} {title:>9} {'slope':>9} {'held out':>20}"
        promises = not np.isnan(table["promised"]).all()
        lines = [f"{head} {'promised':>9}" if promises else head]
        for i, bound in enumerate(table["bound"]):
            held = ""
            if not math.isnan(table[f"test_{own}"][i]):
                held = f"{table['test_value'][i]:.4f} / {table[f'test_{own}'][i]:.4f}"
            promised = f" {table['promised'][i]:9.4f}" if promises else ""
            mark = "  <- knee" if bound == knee else ""
            broken = sum(not p.holds for p in self.points if p.bound == bound)
            if broken:
                mark += "  NOT MET" + (f" in {broken} splits" if self.n_splits > 1 else "")
            lines.append(
                f"{bound:8.4g} {table['value'][i]:9.4f} {table[own][i]:9.4f} "
                f"{table['multiplier'][i]:9.4f} {held:>20}{promised}{mark}"
            )
        return "\n".join(lines)

    def plot(self, axes: Any = None) -> Any:
        """Draw accuracy or AUC against the counted value, with error bars over splits and the knee marked."""
        from matplotlib import pyplot as plt

        if axes is None:
            _, axes = plt.subplots(figsize=(6.4, 4.2))
        table, own = self.summary(), self.measure
        axes.errorbar(
            table["value"],
            table[own],
            xerr=table["value_error"],
            yerr=table[f"{own}_error"],
            marker="o",
            capsize=2,
            label="training rows",
        )
        if not np.isnan(table[f"test_{own}"]).any():
            axes.errorbar(
                table["test_value"],
                table[f"test_{own}"],
                xerr=table["test_value_error"],
                yerr=table[f"test_{own}_error"],
                marker="s",
                capsize=2,
                label="held-out rows",
            )
        for i in np.flatnonzero(table["bound"] == self.knee):
            axes.annotate(
                f"knee: bound {self.knee:g}",
                (table["value"][i], table[own][i]),
                textcoords="offset points",
                xytext=(10, -18),
                arrowprops={"arrowstyle": "->"},
            )
        axes.set(xlabel="counted value of the bounded rates", ylabel=MEASURE_NAMES[own])
        axes.grid(alpha=0.3)
        axes.legend()
        return axes
