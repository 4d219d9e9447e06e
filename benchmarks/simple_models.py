"""Simple models and counted rates, by NumPy and scikit-learn alone: what fits are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

ROUNDING = 1e-12  # of a counted rate
APART = 1e-9  # two scores, relative to the largest, between which a threshold is put


@dataclass(frozen=True)
class Rows:
    """Features, labels (0 and 1), groups, weights and the predictions of an older model."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    reference: np.ndarray

    def __post_init__(self) -> None:
        names, code = np.unique(self.group, return_inverse=True)
        cell = (code * 2 + self.y) * 2 + self.reference
        object.__setattr__(self, "names", names.tolist())
        object.__setattr__(self, "cell", cell)
        shape = (len(names), 2, 2)
        object.__setattr__(
            self, "total", np.bincount(cell, self.weight, 4 * len(names)).reshape(shape)
        )

    def counted(self, positive: np.ndarray) -> np.ndarray:
        """Return the weight predicted positive by group, label and reference: (1, G, 2, 2)."""
        return np.bincount(self.cell, self.weight * positive, self.total.size).reshape(
            1, *self.total.shape
        )

    def above(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all thresholds of the scores, and the counts above each: (T, G, 2, 2)."""
        order = np.argsort(-scores, kind="stable")
        falling = scores[order]
        gaps = np.flatnonzero(falling[:-1] - falling[1:] > APART * np.abs(scores).max()) + 1
        each = np.zeros((len(scores) + 1, self.total.size))
        each[np.arange(len(scores)) + 1, self.cell[order]] = self.weight[order]
        counts = np.cumsum(each, axis=0)[np.r_[0, gaps, len(scores)]]
        between = (falling[gaps - 1] + falling[gaps]) / 2
        return np.r_[falling[0] + 1, between, falling[-1] - 1], counts.reshape(
            -1, *self.total.shape
        )

    def violation(self, counts: np.ndarray, rules: Any) -> np.ndarray:
        """Return the largest violation for each of T counts."""
        return np.max([self._of(rule.name, rule.bound, counts) for rule in rules], axis=0)

    def _of(self, name: str, bound: float, p: np.ndarray) -> np.ndarray:
        n = self.total
        whole, true = n.sum(), n[:, 1].sum()
        hits, chosen = p[:, :, 1].sum(axis=(1, 2)), p.sum(axis=(1, 2, 3))

        def gap(part: Any) -> np.ndarray:
            rates = p[part].sum(axis=-1) / n[part[1:]].sum(axis=-1)
            return np.ptp(rates, axis=1)

        def wrong(of: np.ndarray, total: np.ndarray) -> np.ndarray:
            return (
                of[:, :, 0].sum(axis=(1, 2)) + total[:, 1].sum() - of[:, :, 1].sum(axis=(1, 2))
            ) / total.sum()

        everyone = slice(None)
        tpr, fpr = (everyone, everyone, 1), (everyone, everyone, 0)
        if name in ("demographic_parity", "parity_pair"):
            return np.ptp(p.sum(axis=(2, 3)) / n.sum(axis=(1, 2)), axis=1) - bound
        if name in ("equal_opportunity", "false_negative_parity"):
            return gap(tpr) - bound
        if name == "false_positive_parity":
            return gap(fpr) - bound
        if name == "equalized_odds":
            return np.maximum(gap(tpr), gap(fpr)) - bound
        if name == "coverage at least":
            return bound - chosen / whole
        if name == "coverage at most":
            return chosen / whole - bound
        if name == "recall":
            return bound - hits / true
        if name == "false_negative_rate":
            return 1 - hits / true - bound
        if name == "false_positive_rate":
            return (chosen - hits) / (whole - true) - bound
        if name == "precision":
            return np.where(chosen > 0, bound - hits / np.maximum(chosen, 1e-300), 0.0)
        if name == "f_score":
            return bound - 2 * hits / (chosen + true)
        if name == "error_rate":
            return wrong(p, n) - bound
        if name.startswith("error of "):
            own = [self.names.index(name.removeprefix("error of "))]
            return wrong(p[:, own], n[own]) - bound
        if name == "churn":
            return (
                p[..., 0].sum(axis=(1, 2)) + n[..., 1].sum() - p[..., 1].sum(axis=(1, 2))
            ) / whole - bound
        raise ValueError(name)

    def accuracies(self, counts: np.ndarray) -> np.ndarray:
        """Return the share of weight predicted rightly for each of T counts."""
        wrong = (
            counts[:, :, 0].sum(axis=(1, 2))
            + self.total[:, 1].sum()
            - counts[:, :, 1].sum(axis=(1, 2))
        )
        return 1 - wrong / self.total.sum()

    def keeps(self, positive: np.ndarray, rules: Any) -> bool:
        """Whether predictions keep all bounds."""
        return bool(self.violation(self.counted(positive), rules)[0] <= ROUNDING)

    def accuracy(self, positive: np.ndarray) -> float:
        """Return the share of weight that is predicted rightly."""
        return float(self.accuracies(self.counted(positive))[0])


@dataclass(frozen=True)
class Simple:
    """A simple model that keeps all bounds."""

    name: str
    same_penalty: bool  # as the fit that it is compared with
    accuracy: float


def simple_models(rows: Rows, rules: Any, C: float) -> list[Simple]:
    """Return the simple models that keep all bounds: for each kind its most accurate threshold.

    Those of the penalty `C` come first, then those of scikit-learn's defaults, and the constants.
    """
    spread = rows.X.std(axis=0)
    Z = (rows.X - rows.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    n = rows.total.sum(axis=2)
    fair = n.sum(axis=1, keepdims=True) * n.sum(axis=0) / n / n.sum()  # Kamiran & Calders 2012
    fair = rows.weight * fair[np.searchsorted(rows.names, rows.group), rows.y]
    alpha = float(np.clip(1 / (C * len(rows.y)), 1e-9, 1e3))
    models = [
        ("logistic", True, LogisticRegression(C=C, max_iter=2000), rows.weight),
        ("reweighed", True, LogisticRegression(C=C, max_iter=2000), fair),
        ("hinge", True, LinearSVC(C=min(C, 10.0), max_iter=2000), rows.weight),
        ("SGD", True, SGDClassifier(alpha=alpha, random_state=0), rows.weight),
        ("logistic, C=1", False, LogisticRegression(max_iter=2000), rows.weight),
        ("balanced, C=1", False, LogisticRegression(class_weight="balanced"), rows.weight),
        ("reweighed, C=1", False, LogisticRegression(max_iter=2000), fair),
    ]
    found = []
    for name, own, model, weight in models:
        scores = model.fit(Z, rows.y, sample_weight=weight).decision_function(Z)
        _, counts = rows.above(scores)
        keeps, right = rows.violation(counts, rules) <= ROUNDING, rows.accuracies(counts)
        if keeps[1:-1].any():
            found.append(Simple(name, own, float(right[1:-1][keeps[1:-1]].max())))
    ends = keeps[[0, -1]]
    if ends.any():
        found.append(Simple("constant", True, float(right[[0, -1]][ends].max())))
    return found
