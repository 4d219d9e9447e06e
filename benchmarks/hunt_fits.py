"""A hunt for fits that fail where a simple model does not: random data, losses, rules, weights, penalties.

    python -m benchmarks.hunt_fits [FITS] [SEED]

Predictions are counted with NumPy, and compared with simple models that know nothing of the library:
scikit-learn's linear classifiers with their threshold moved, and the constants (`benchmarks.simple_models`).
A fit is at fault

- *silent*: it breaks a bound and does not warn;
- *false verdict*: it returns a model that breaks a bound, and a simple model keeps all of them;
- *false proof*: the same, and it claims a proof;
- *worse*: it keeps the bounds, and is less accurate by over a hundredth than a simple model of the same
  penalty that keeps them, and than the library's model without constraints: loss and penalty are the
  user's choice.

It prints a line for each fit at fault, and a summary. Of fits 0 to 339 of seed 0 (320 that can be made), none
may be at fault by a silent violation, a false verdict or a false proof.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import equipoise as eq
from benchmarks.simple_models import Rows, Simple, simple_models
from equipoise.datasets import load_bank, load_compas, make_census
from equipoise.estimators import InfeasibleWarning

WORSE = 0.01  # of accuracy
LOSSES = ("logistic", "hinge", "logistic", "hinge", "squared", "truncated_logistic")
TIGHT = (0.0, 0.005, 0.02, 0.05, 0.1)
SIZES = (200, 500, 1000, 3000)


@dataclass(frozen=True)
class Rule:
    """A constraint for the library, and its name and bound for the count."""

    name: str
    bound: float
    constraint: Any


def rules_for(rng: np.random.Generator, rows: Rows) -> list[Rule]:
    """Draw one to three rules; their bounds are tight more often than not."""
    gap, base = float(rng.choice(TIGHT)), float(np.average(rows.y, weights=rows.weight))
    share = float(rng.uniform(0, 1))
    groups = np.unique(rows.group)
    one = groups[int(rng.integers(len(groups)))]
    kinds = {
        "demographic_parity": (gap, eq.demographic_parity),
        "equal_opportunity": (gap, eq.equal_opportunity),
        "equalized_odds": (gap, eq.equalized_odds),
        "false_positive_parity": (gap, eq.false_positive_parity),
        "false_negative_parity": (gap, eq.false_negative_parity),
        "parity_pair": (gap, lambda b: eq.parity_pair(1.0 + b)),
        "coverage at least": (base * 2 * share, lambda b: eq.coverage(at_least=min(b, 1.0))),
        "coverage at most": (base * 2 * share, lambda b: eq.coverage(at_most=min(b, 1.0))),
        "recall": (1 - 0.3 * share, eq.recall),
        "precision": (base + (1 - base) * share, eq.precision),
        "false_positive_rate": (0.2 * share, eq.false_positive_rate),
        "false_negative_rate": (0.3 * share, eq.false_negative_rate),
        "f_score": (0.9 * share, lambda b: eq.f_score(at_least=b)),
        "error_rate": (0.1 + 0.4 * share, eq.error_rate),
        f"error of {one}": (0.1 + 0.4 * share, lambda b: eq.error_rate(b, group=one)),
        "churn": (0.2 * share, lambda b: eq.churn(b, rows.reference)),
    }
    if len(groups) != 2:
        kinds.pop("parity_pair")  # it is of a pair
    names = rng.choice(
        list(kinds), size=int(rng.choice((1, 2, 3), p=(0.3, 0.4, 0.3))), replace=False
    )
    return [
        Rule(str(name), min(kinds[name][0], 1.0), kinds[name][1](kinds[name][0])) for name in names
    ]


def rows_for(rng: np.random.Generator, sources: dict[str, Any]) -> tuple[str, Rows]:
    """Draw data of a kind, its size, groups and weights."""
    kind = str(rng.choice(["census", "generated", "compas", "bank"]))
    n, seed = int(rng.choice(SIZES)), int(rng.integers(1 << 30))
    if kind == "census":
        data = make_census(n, seed=seed)
        group = data.attributes["race"] if rng.random() < 0.4 else data.groups
        X, y = data.X, data.y
    elif kind == "generated":
        d, k = int(rng.choice((1, 2, 5, 15, 40))), int(rng.choice((2, 3, 6)))
        group = rng.integers(k, size=n).astype(str)
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
        noise = rng.logistic(size=n) * rng.choice((0.3, 1.0, 3.0))
        lift = rng.normal(size=k)[group.astype(int)]
        score = (X / X.std(axis=0)) @ rng.normal(size=d) + lift + noise
        y = (score > np.quantile(score, rng.choice((0.5, 0.7, 0.9)))).astype(int)
    else:
        data = sources[kind]
        some = rng.choice(len(data.y), min(n, len(data.y)), replace=False)
        X, y, group = data.X[some], data.y[some], np.asarray(data.groups)[some]
        X = X.toarray() if hasattr(X, "toarray") else X
    y = (y == np.unique(y)[-1]).astype(int)
    weight = rng.uniform(0.2, 3.0, len(y)) if rng.random() < 0.3 else np.ones(len(y))
    old = X @ (np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean()))
    reference = (old > np.quantile(old, 1 - y.mean())).astype(int)
    return kind, Rows(
        np.ascontiguousarray(X, dtype=float), y, np.asarray(group).astype(str), weight, reference
    )


def sources() -> dict[str, Any]:
    """Load the real data sets."""
    return {"compas": load_compas(), "bank": load_bank()}


@dataclass(frozen=True)
class Finding:
    """What one fit came to."""

    number: int
    data: str
    rows: int
    columns: int
    groups: int
    loss: str
    C: float
    rules: str
    weighted: bool
    status: str
    fault: str
    accuracy: float
    simple: float
    simple_name: str
    seconds: float

    def __str__(self) -> str:
        weighted = "weighted" if self.weighted else ""
        size = f"{self.rows} x {self.columns}, {self.groups} groups"
        return (
            f"{self.number:4d} {self.fault:13s} {self.data:9s} {size:21s} {weighted:8s} {self.loss:18s} "
            f"C={self.C:7.1e} {self.status:18s} {self.accuracy:.3f} against {self.simple:.3f} "
            f"({self.simple_name}), {self.seconds:.1f} s: {self.rules}"
        )


def usable(rows: Rows) -> bool:
    """Whether every group has rows of both labels, enough for its rates."""
    cells = [
        np.sum((rows.group == g) & (rows.y == v)) for g in np.unique(rows.group) for v in (0, 1)
    ]
    return min(cells) >= 2


def one_fit(seed: int, number: int, known: dict[str, Any]) -> Finding | None:
    """Draw one fit, make it, and judge it; None where the data have groups too small for rates."""
    rng = np.random.default_rng((seed, number))
    kind, rows = rows_for(rng, known)
    if not usable(rows):
        return None
    rules = rules_for(rng, rows)
    loss, C = str(rng.choice(LOSSES)), float(10.0 ** rng.uniform(-4, 6))
    model = eq.ConstrainedClassifier(
        [r.constraint for r in rules], loss=loss, C=C, max_seconds=60.0
    )
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(
            rows.X,
            rows.y,
            sensitive_features=rows.group,
            sample_weight=rows.weight if (rows.weight != 1).any() else None,
        )
    seconds = time.perf_counter() - started
    positive = model.predict(rows.X) == 1
    kept = rows.keeps(positive, rules)
    warned = [str(w.message) for w in caught if issubclass(w.category, InfeasibleWarning)]
    accuracy = rows.accuracy(positive)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        simple = simple_models(rows, rules, C)
    rivals = [one for one in simple if one.same_penalty or not kept]
    best = max(rivals, key=lambda one: one.accuracy, default=Simple("none", True, 0.0))
    fault = ""
    if not kept and not warned:
        fault = "silent"
    elif not kept and simple:
        fault = "false proof" if model.status_.name == "INFEASIBLE" else "false verdict"
    elif kept and accuracy < min(best.accuracy, model.report_.plain_accuracy) - WORSE:
        fault = "worse"
    return Finding(
        number,
        kind,
        *rows.X.shape,
        len(np.unique(rows.group)),
        loss,
        C,
        " & ".join(f"{r.name} {r.bound:.3g}" for r in rules),
        bool((rows.weight != 1).any()),
        model.status_.name + ("" if kept else " BROKEN"),
        fault,
        accuracy,
        best.accuracy,
        best.name,
        seconds,
    )


def main(fits: int = 300, seed: int = 0, first: int = 0) -> int:
    """Make the fits, print those at fault and a summary; return how many were at fault."""
    known, found, number = sources(), [], first
    while len(found) < fits:
        finding = one_fit(seed, number, known)
        number += 1
        if finding is None:
            continue
        found.append(finding)
        if finding.fault:
            print(finding, flush=True)
    faults = Counter(f.fault or "none" for f in found)
    statuses = Counter(f.status for f in found)
    seconds = sum(f.seconds for f in found)
    print(f"{len(found)} fits, {seconds:.0f} s; faults: {dict(faults)}; statuses: {dict(statuses)}")
    return sum(1 for f in found if f.fault)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
