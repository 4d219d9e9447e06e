"""Promises on real splits: trained on 70 % of the rows, counted on the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.coverage.cases import Case, population

SPLIT_CASES = (
    (Case("adult", "parity", 0.05), 0.95),
    (Case("adult", "parity", 0.03), 0.95),
    (Case("bank", "parity", 0.05), 0.95),
    (Case("compas", "parity", 0.1), 0.95),
)


def split_trial(case: Case, confidence: float, seed: int) -> dict[str, Any]:
    """Return what a fit promised, and what was counted on the rows that it has not seen."""
    whole = population(case.data)
    order = np.random.default_rng(seed).permutation(whole.n)
    cut = int(0.7 * whole.n)
    train, test = whole.drawn(order[:cut]), whole.drawn(order[cut:])
    promised = case.fitted(confidence, seed, train)
    plain = case.fitted(None, seed, train)
    own, other = promised.predict(test.X), plain.predict(test.X)
    return {
        "promised": bool(promised.report_.promise.kept),
        "gap": case.value(own, test),
        "plain_gap": case.value(other, test),
        "accuracy": float(np.mean(own == test.y)),
        "plain_accuracy": float(np.mean(other == test.y)),
    }
