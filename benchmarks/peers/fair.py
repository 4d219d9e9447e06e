"""Whole fits of fair classifiers: true metric, accuracy and time beside fairlearn's reductions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks.page import Page, best_times, figure, yes
from benchmarks.peers.race import data
from equipoise import ConstrainedClassifier, demographic_parity, equalized_odds

NOTIONS = {
    "demographic parity": (demographic_parity, "DemographicParity"),
    "equalised odds": (equalized_odds, "EqualizedOdds"),
}
FRACTION, MULTIPLE, POINTS = 1 / 20, 4.0, 0.01  # of EG's time, of LR's time, below EG's accuracy


@dataclass(frozen=True)
class Outcome:
    """What a fitted classifier does on the training rows."""

    seconds: float
    accuracy: float
    gap: float


def run(page: Page, quick: bool) -> None:
    page.say(
        "\n## Fair classifiers: the whole fit\n\n"
        "Training accuracy, and the gap of counted predictions (of expected ones where the model is "
        "randomised, as ExponentiatedGradient's is). *x ours*: time as a multiple of Equipoise's. "
        "*at its gap*: Equipoise's accuracy when asked for the gap that ExponentiatedGradient "
        "reached. fairlearn and LogisticRegression (no constraint) see standardised columns where "
        "the data are dense; fairlearn takes no sparse matrix, and is given a dense copy of a9a (slower to "
        "multiply with than the sparse one)."
    )
    page.table(
        "data", "notion" + 12 * " ", "bound", "method" + 16 * " ", "accuracy", "gap", "holds",
        "seconds", "x ours", "at its gap",
    )  # fmt: skip
    for label in ("a9a", "compas") if quick else ("a9a", "bank", "compas"):
        for notion in NOTIONS:
            for bound in (0.05,) if quick else (0.02, 0.05):
                _compare(page, label, notion, bound, repeats=1 if quick else 3)


def _compare(page, label, notion, bound, repeats):
    rows = data(label)
    X = rows.X if sparse.issparse(rows.X) else _standardised(rows.X)
    (ours_s, plain_s), (model, plain) = best_times(
        (lambda: _equipoise(rows, notion, bound), lambda: _plain(X, rows.y)), repeats
    )
    ours = _outcome(rows, notion, model.predict(rows.X), ours_s)
    outcomes = {"Equipoise": ours}
    outcomes["LogisticRegression"] = _outcome(rows, notion, plain.predict(X), plain_s)
    dense = X.toarray() if sparse.issparse(X) else X
    outcomes["GridSearch"] = _reduction("GridSearch", rows, dense, notion, bound)
    peer = _reduction("ExponentiatedGradient", rows, dense, notion, bound)
    outcomes["ExponentiatedGradient"] = peer
    for method, outcome in outcomes.items():
        cells = [
            label, notion, f"{bound:.2f}", method, f"{outcome.accuracy:.4f}", f"{outcome.gap:.4f}",
            yes(outcome.gap <= bound + 1e-12), figure(outcome.seconds),
            figure(outcome.seconds / ours.seconds), "",
        ]  # fmt: skip
        if outcome is peer:
            same = _equipoise(rows, notion, float(peer.gap))
            matched = float(np.mean(same.predict(rows.X) == rows.y))
            cells[-1] = f"{matched:.4f}"
        page.row(*cells)
    what = f"{label}, {notion} {bound:g}:"
    page.goal(f"{what} counted gap", ours.gap, bound + 1e-12)
    page.goal(f"{what} accuracy below EG's at its gap", peer.accuracy - matched, POINTS)
    if label != "compas":
        page.goal(f"{what} time, x ExponentiatedGradient", ours.seconds / peer.seconds, FRACTION)
    page.goal(f"{what} time, x LogisticRegression", ours.seconds / plain_s, MULTIPLE)


def _equipoise(rows, notion, bound):
    model = ConstrainedClassifier(NOTIONS[notion][0](bound), on_infeasible="ignore")
    return model.fit(rows.X, rows.y, sensitive_features=rows.groups)


def _plain(X, y):
    return LogisticRegression(max_iter=1000).fit(X, y)


def _reduction(name, rows, X, notion, bound):
    """Fit one of fairlearn's reductions over LogisticRegression."""
    from fairlearn import reductions

    def fit():
        moment = getattr(reductions, NOTIONS[notion][1])(difference_bound=bound)
        model = getattr(reductions, name)(LogisticRegression(max_iter=1000), moment)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, rows.y, sensitive_features=rows.groups) or model

    (seconds,), (model,) = best_times((fit,), 1)
    randomised = name == "ExponentiatedGradient"
    positive = model._pmf_predict(X)[:, 1] if randomised else model.predict(X)
    return _outcome(rows, notion, positive, seconds)


def _outcome(rows, notion, positive, seconds):
    """`positive`: predictions, or the probability of predicting 1."""
    p = np.asarray(positive, dtype=float)
    accuracy = float(np.mean(np.where(rows.y == 1, p, 1 - p)))
    return Outcome(seconds, accuracy, _gap(rows, notion, p))


def _gap(rows, notion, p):
    """The largest difference of rates between groups; fairlearn.metrics agrees on predictions."""
    parts = (
        [np.ones(rows.n, bool)] if notion == "demographic parity" else [rows.y == 1, rows.y == 0]
    )
    gaps = []
    for part in parts:
        rates = [p[part & (rows.groups == g)].mean() for g in np.unique(rows.groups)]
        gaps.append(max(rates) - min(rates))
    return float(max(gaps))


def _standardised(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
