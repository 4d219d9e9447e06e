"""What is compared: for every method, models to choose from, with AUCs and gaps on two parts of the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.pareto import libauc_rival
from benchmarks.pareto.data import Part, Split
from equipoise import AUCClassifier, auc_parity
from equipoise.baselines import CorrelationPenalty, ScorePostProcessing, SurrogateAUC
from equipoise.baselines._transforms import AtomAUCs
from equipoise.solvers import SFLS, SMD, InverseSqrt, ProxyLagrangian

KINDS = ("group", "inter", "intra")
BOUNDS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
"""Asked of the rows for choosing; the sweep of `AUCClassifier` asks the same of the training rows."""
KAPPAS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8)
"""Of the quadratic surrogate, which shrinks scores: small gaps of AUCs need no small kappa."""
PENALTIES = tuple(np.logspace(-2, 2, 9))
STEP_SIZES = (0.01, 0.1, 1.0)
TUNED_AT, TUNED_GAP = 0.2, 0.05  # the kappa and the gap for which a step size is chosen
SNAPSHOTS = 20

Table = list[tuple[float, float, float, float]]
"""For each model: gap and AUC on the rows for choosing, then on the rows held out."""


def measured(scores: np.ndarray, part: Part, kind: str) -> tuple[float, float]:
    """The gap and the AUC of one vector of scores."""
    found = AtomAUCs.of(scores, part.positive, part.member)
    return float(found.gap(kind)), float(found.auc())


def table(models: np.ndarray, split: Split, kind: str) -> Table:
    """What linear models (k, d) do."""
    rows = []
    for model in np.unique(models, axis=0):
        each = [measured(np.asarray(p.X @ model), p, kind) for p in (split.validation, split.test)]
        rows.append((*each[0], *each[1]))
    return rows


def fitted(model: Any, part: Part) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bound that is not met shows in the table
        return model.fit(part.X, part.y, sensitive_features=part.groups)


def plain(split: Split, kind: str, seed: int, quick: bool) -> Table:
    return table(fitted(AUCClassifier(), split.train).coef_, split, kind)


def constrained(split: Split, kind: str, seed: int, quick: bool) -> Table:
    """`AUCClassifier` for every bound, each from the last."""
    model = fitted(AUCClassifier(warm_start=True), split.train)
    found = [model.coef_]
    for bound in sorted(BOUNDS[::3] if quick else BOUNDS, reverse=True):
        found.append(
            fitted(model.set_params(constraints=auc_parity(kind, bound)), split.train).coef_
        )
    return table(np.vstack(found), split, kind)


def surrogate(split: Split, kind: str, seed: int, quick: bool) -> Table:
    """The quadratic surrogate, solved exactly for every kappa."""
    kappas = KAPPAS[::3] if quick else KAPPAS
    found = [
        fitted(SurrogateAUC(kind, kappa, solver="auto"), split.train).coef_ for kappa in kappas
    ]
    return table(np.vstack(found), split, kind)


def tuned(solver: Callable[[float], Any], batch: int, steps: int) -> Callable[..., Table]:
    """A method whose step size is chosen at one kappa; then all kappas. Every snapshot is a model."""

    def run(split: Split, kind: str, seed: int, quick: bool) -> Table:
        def path(kappa: float, size: float) -> Table:
            model = SurrogateAUC(
                kind,
                kappa,
                solver=solver(size),
                batch=batch,
                max_steps=100 if quick else steps,
                snapshots=SNAPSHOTS,
                random_state=seed,
            )
            return table(fitted(model, split.train).path_, split, kind)

        tried = [path(TUNED_AT, size) for size in (STEP_SIZES[1:2] if quick else STEP_SIZES)]
        size = STEP_SIZES[int(np.argmax([best_within(t, TUNED_GAP) for t in tried]))]
        others = [k for k in (KAPPAS[::5] if quick else KAPPAS) if k != TUNED_AT]
        return [row for t in (*tried, *(path(k, size) for k in others)) for row in t]

    return run


def best_within(rows: Table, bound: float) -> float:
    """The largest AUC on the rows for choosing of models within a bound there."""
    return max((auc for gap, auc, *_ in rows if gap <= bound), default=0.0)


def penalised(split: Split, kind: str, seed: int, quick: bool) -> Table:
    found = [
        fitted(CorrelationPenalty(penalty), split.train).coef_
        for penalty in (PENALTIES[::4] if quick else PENALTIES)
    ]
    return table(np.vstack(found), split, kind)


def post_processed(split: Split, kind: str, seed: int, quick: bool) -> Table:
    """The best transform for every bound; the models of one bound only, of the 6,161 of the grid."""
    base, validation, test = fitted(AUCClassifier(), split.train), split.validation, split.test
    model = fitted(
        ScorePostProcessing(base, kind=kind, bound=BOUNDS[0], prefit=True), validation
    )
    rows = set()
    for bound in BOUNDS:
        model.scale_, model.shift_, met = model.transforms_.best(kind, bound)
        if met:
            each = [
                measured(model.decision_function(part.X, part.groups), part, kind)
                for part in (validation, test)
            ]
            rows.add((*each[0], *each[1]))
    return sorted(rows)


def libauc(split: Split, kind: str, seed: int, quick: bool) -> Table:
    return table(libauc_rival.models(split.train, seed, quick), split, kind)


def sfls(size: float) -> SFLS:
    return SFLS(theta=1.0, inner_method=SMD(steps=500, step_size=InverseSqrt(size)))


def proxy(size: float) -> ProxyLagrangian:
    return ProxyLagrangian(step_size=InverseSqrt(size))


OURS = "AUCClassifier"
METHODS: dict[str, tuple[Callable[..., Table], Sequence[str]]] = {
    OURS: (constrained, KINDS),
    "quadratic, exact": (surrogate, KINDS),
    "SFLS + SMD": (tuned(sfls, batch=100, steps=3000), KINDS),
    "proxy-Lagrangian": (tuned(proxy, batch=1000, steps=1000), KINDS),
    "correlation penalty": (penalised, ("group",)),
    "post-processing": (post_processed, ("group", "inter")),
    "plain AUC": (plain, KINDS),
}
"""What each method is, and for which kinds of gap it is meant."""
if libauc_rival.installed():
    METHODS["LibAUC"] = (libauc, KINDS)
