"""What is tried: populations, rules, and one trial of each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from equipoise import (
    ConstrainedClassifier,
    NeymanPearsonClassifier,
    audit,
    demographic_parity,
    equalized_odds,
)
from equipoise.datasets import load

ROWS = 6000  # drawn with replacement for each fit
GROUP_ROWS = 20  # drawn of each group, for the intervals of small groups


@dataclass(frozen=True)
class Population:
    """All rows of a data set, from which samples are drawn with replacement."""

    X: Any
    y: np.ndarray
    groups: np.ndarray

    @property
    def n(self) -> int:
        return self.y.size

    def drawn(self, rows: np.ndarray) -> Population:
        return Population(self.X[rows], self.y[rows], self.groups[rows])


@cache
def population(name: str) -> Population:
    data = load(name)
    y = (np.asarray(data.y) == np.unique(data.y)[1]).astype(int)
    return Population(data.X, y, np.asarray(data.groups))


@cache
def usual_predictions(name: str) -> np.ndarray:
    """Return what a model without constraints predicts of the population."""
    whole = population(name)
    return ConstrainedClassifier().fit(whole.X, whole.y).predict(whole.X)


def parity(predicted: np.ndarray, rows: Population) -> float:
    """Return the largest difference of positive rates, counted."""
    rates = [predicted[rows.groups == group].mean() for group in np.unique(rows.groups)]
    return float(max(rates) - min(rates))


def odds(predicted: np.ndarray, rows: Population) -> float:
    """Return the largest difference of true or false positive rates, counted."""
    gaps = []
    for label in (0, 1):
        own = rows.y == label
        part = Population(None, rows.y[own], rows.groups[own])
        gaps.append(parity(predicted[own], part))
    return max(gaps)


def false_positives(predicted: np.ndarray, rows: Population) -> float:
    return float(predicted[rows.y == 0].mean())


@dataclass(frozen=True)
class Case:
    """A rule on a population."""

    data: str
    rule: str
    bound: float

    @property
    def name(self) -> str:
        return f"{self.data}, {self.rule} {self.bound:g}"

    def model(self, confidence: float | None, seed: int) -> Any:
        made: dict[str, Callable[..., Any]] = {
            "parity": lambda **k: ConstrainedClassifier(demographic_parity(self.bound), **k),
            "equalised odds": lambda **k: ConstrainedClassifier(equalized_odds(self.bound), **k),
            "Neyman-Pearson": lambda **k: NeymanPearsonClassifier(self.bound, **k),
        }
        return made[self.rule](confidence=confidence, random_state=seed)

    def fitted(self, confidence: float | None, seed: int, rows: Population) -> Any:
        model = self.model(confidence, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.rule == "Neyman-Pearson":
                return model.fit(rows.X, rows.y)
            return model.fit(rows.X, rows.y, sensitive_features=rows.groups)

    def value(self, predicted: np.ndarray, rows: Population) -> float:
        measures = {"parity": parity, "equalised odds": odds, "Neyman-Pearson": false_positives}
        return measures[self.rule](predicted, rows)


CASES = (
    Case("adult", "parity", 0.05),
    Case("adult", "equalised odds", 0.15),
    Case("adult", "Neyman-Pearson", 0.05),
    Case("bank", "parity", 0.08),
    Case("bank", "equalised odds", 0.25),
    Case("bank", "Neyman-Pearson", 0.02),
    Case("compas", "parity", 0.1),
    Case("compas", "equalised odds", 0.15),
    Case("compas", "Neyman-Pearson", 0.2),
)


def fit_trial(case: Case, confidence: float, seed: int, rows: int = ROWS) -> dict[str, Any]:
    """Return whether a fit to a sample promised its bound, and what became of it in the population.

    For the accuracy given up, the same model without a promise is fitted to the same sample.
    """
    whole = population(case.data)
    rng = np.random.default_rng([seed, CASES.index(case)])
    sample = whole.drawn(rng.integers(whole.n, size=rows))
    promised = case.fitted(confidence, seed, sample)
    plain = case.fitted(None, seed, sample)
    own, other = promised.predict(whole.X), plain.predict(whole.X)
    return {
        "promised": bool(promised.report_.promise.kept),
        "value": case.value(own, whole),
        "plain_value": case.value(other, whole),
        "accuracy": float(np.mean(own == whole.y)),
        "plain_accuracy": float(np.mean(other == whole.y)),
        "seconds": promised.result_.seconds,
    }


def audit_trial(
    data: str, confidence: float, seed: int, group_rows: int = GROUP_ROWS
) -> dict[str, Any]:
    """Return whether all intervals of an audit of small groups held the population's values."""
    whole, predicted = population(data), usual_predictions(data)
    rng = np.random.default_rng([seed, group_rows])
    chosen = [
        rng.choice(np.flatnonzero(whole.groups == group), group_rows)
        for group in np.unique(whole.groups)
    ]
    rows = np.concatenate(chosen)
    rules = [demographic_parity(0.1), equalized_odds(0.1)]
    found = audit(
        whole.y[rows],
        predicted[rows],
        rules,
        sensitive_features=whole.groups[rows],
        confidence=confidence,
    )
    truth = {line.name: line.value for line in _truth(data).lines}
    right = [line.lower <= truth[line.name] <= line.upper for line in found.lines]
    wrong = [
        (line.verdict == "holds" and truth[line.name] > line.bound)
        or (line.verdict == "broken" and truth[line.name] <= line.bound)
        for line in found.lines
    ]
    return {"covered": all(right), "wrong_verdict": any(wrong), "intervals": len(right)}


@cache
def _truth(data: str) -> Any:
    whole = population(data)
    rules = [demographic_parity(0.1), equalized_odds(0.1)]
    return audit(whole.y, usual_predictions(data), rules, sensitive_features=whole.groups)
