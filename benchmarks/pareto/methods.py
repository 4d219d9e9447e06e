"""What is compared: for every method, models to choose from, with AUCs and gaps on two parts of the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.pareto import libauc_rival
from benchmarks.pareto.data import Part, Split
from benchmarks.pareto.selection import Table, undominated
from equipoise import AUCClassifier, Subset, auc
from equipoise.baselines import CorrelationPenalty, ScorePostProcessing, SurrogateAUC
from equipoise.baselines._transforms import AtomAUCs
from equipoise.constraints import Expression
from equipoise.solvers import SFLS, SMD, InverseSqrt, ProxyLagrangian

KINDS = ("group", "inter", "intra")
KAPPAS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8)
"""Of the quadratic surrogate, which shrinks scores: small gaps of AUCs need no small kappa."""
PENALTIES = tuple(np.logspace(-2, 2, 9))
STEP_SIZES = (0.01, 0.1, 1.0)
TUNED_AT, TUNED_GAP = 0.2, 0.05  # the kappa and the gap for which a step size is chosen
SNAPSHOTS = 20

SIGNED_BOUNDS = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.015, 0.0, -0.02, -0.04, -0.07, -0.1)
"""Of `AUCClassifier` on the gap with its sign, on the training rows."""
BETWEEN = 4  # models between two neighbours of a path


def measured(scores: np.ndarray, part: Part, kind: str) -> tuple[float, float]:
    """The gap and the AUC of one vector of scores."""
    found = AtomAUCs.of(scores, part.positive, part.member)
    return float(found.gap(kind)), float(found.auc())


def signed_gap(weights: np.ndarray, part: Part, kind: str) -> float:
    """The gap with its sign."""
    found = AtomAUCs.of(np.asarray(part.X @ weights), part.positive, part.member)
    return float(found.signed_gap(kind))


@dataclass(frozen=True)
class Case:
    """What a method is given."""

    split: Split
    kind: str
    seed: int
    quick: bool

    def some(self, values: Sequence[Any], every: int) -> Sequence[Any]:
        """In a quick run only some values."""
        return values[::every] if self.quick else values


def table(models: np.ndarray, case: Case) -> Table:
    """What linear models (k, d) do, those that would be chosen for some bound."""
    split, kind = case.split, case.kind
    found = np.array(
        [measured(np.asarray(split.validation.X @ w), split.validation, kind) for w in models]
    )
    kept = undominated(*found.T)
    return [
        (*found[i], *measured(np.asarray(split.test.X @ models[i]), split.test, kind)) for i in kept
    ]


def joined(path: Sequence[np.ndarray]) -> np.ndarray:
    """The models of a path and some between every two neighbours, on the segment that joins them.

    A score is divided by its size first, on which no AUC depends.
    """
    steps = np.arange(BETWEEN + 1) / (BETWEEN + 1)
    same_size = [w / max(np.linalg.norm(w), 1e-300) for w in path]
    inner = [(1 - t) * a + t * b for a, b in zip(same_size, same_size[1:]) for t in steps]
    return np.array([*inner, same_size[-1]])


def fitted(model: Any, part: Part) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a bound that is not met shows in the table
        return model.fit(part.X, part.y, sensitive_features=part.groups)


def plain(case: Case) -> Table:
    return table(fitted(AUCClassifier(), case.split.train).coef_, case)


Method = Callable[[Case], Table]


def gap_of(kind: str) -> Expression:
    """The difference of AUCs with its sign, as a rule for `AUCClassifier`."""
    return {
        "group": lambda: auc(Subset(1), Subset(-1)) - 0.5,
        "inter": lambda: auc(1, -1) - auc(-1, 1),
        "intra": lambda: auc(1, 1) - auc(-1, -1),
    }[kind]()


def constrained(case: Case) -> Table:
    """`AUCClassifier` for bounds on the gap with its sign, each from the last.

    The gap of other rows differs from that of the training rows, so the bounds go on below 0 until the gap of
    the rows for choosing has turned over.
    """
    train, validation, kind = case.split.train, case.split.validation, case.kind
    model = fitted(AUCClassifier(warm_start=True), train)
    side = np.sign(signed_gap(model.coef_[0], train, kind))
    found = [model.coef_[0]]
    for bound in case.some(SIGNED_BOUNDS, 4):
        fitted(model.set_params(constraints=side * gap_of(kind) <= bound), train)
        found.append(model.coef_[0])
        if bound <= 0 and side * signed_gap(model.coef_[0], validation, kind) < 0:
            break
    return table(joined(found), case)


def group_known(case: Case) -> Table:
    """The same with the group, and its products with all features, as further features."""
    return constrained(replace(case, split=case.split.with_group()))


def surrogate(case: Case) -> Table:
    """The quadratic surrogate, solved exactly for every kappa."""
    models = [SurrogateAUC(case.kind, kappa, solver="auto") for kappa in case.some(KAPPAS, 3)]
    return table(joined([fitted(model, case.split.train).coef_[0] for model in models]), case)


def tuned(solver: Callable[[float], Any], batch: int, steps: int) -> Method:
    """A method whose step size is chosen at one kappa; then all kappas. Every snapshot is a model."""

    def run(case: Case) -> Table:
        def path(kappa: float, size: float) -> Table:
            model = SurrogateAUC(
                case.kind,
                kappa,
                solver=solver(size),
                batch=batch,
                max_steps=100 if case.quick else steps,
                snapshots=SNAPSHOTS,
                random_state=case.seed,
            )
            return table(fitted(model, case.split.train).path_, case)

        sizes = case.some(STEP_SIZES, 2)
        tried = [path(TUNED_AT, size) for size in sizes]
        size = sizes[int(np.argmax([best_within(rows, TUNED_GAP) for rows in tried]))]
        others = [path(kappa, size) for kappa in case.some(KAPPAS, 5) if kappa != TUNED_AT]
        return [row for rows in (*tried, *others) for row in rows]

    return run


def best_within(rows: Table, bound: float) -> float:
    """The largest AUC on the rows for choosing of models within a bound there."""
    return max((row[1] for row in rows if row[0] <= bound), default=0.0)


def penalised(case: Case) -> Table:
    models = [CorrelationPenalty(penalty) for penalty in case.some(PENALTIES, 4)]
    return table(joined([fitted(model, case.split.train).coef_[0] for model in models]), case)


def post_processed(case: Case) -> Table:
    """Of the 6,161 transforms those that would be chosen for some bound."""
    kind, test = case.kind, case.split.test
    base = fitted(AUCClassifier(), case.split.train)
    model = ScorePostProcessing(base, kind=kind, bound=1.0, prefit=True)
    transforms = fitted(model, case.split.validation).transforms_
    gaps, aucs = transforms.measured.gap(kind), transforms.measured.auc()
    rows = []
    for place in undominated(gaps.ravel(), aucs.ravel()):
        i, j = np.unravel_index(place, gaps.shape)
        model.scale_, model.shift_ = transforms.scales[i], transforms.shifts[j]
        scores = model.decision_function(test.X, test.groups)
        rows.append((float(gaps[i, j]), float(aucs[i, j]), *measured(scores, test, kind)))
    return rows


def libauc(case: Case) -> Table:
    return table(libauc_rival.models(case.split.train, case.seed, case.quick), case)


def sfls(size: float) -> SFLS:
    return SFLS(theta=1.0, inner_method=SMD(steps=500, step_size=InverseSqrt(size)))


def proxy(size: float) -> ProxyLagrangian:
    return ProxyLagrangian(step_size=InverseSqrt(size))


OURS, OURS_WITH_GROUP = "AUCClassifier", "AUCClassifier, group known"
METHODS: dict[str, tuple[Method, Sequence[str]]] = {
    OURS: (constrained, KINDS),
    OURS_WITH_GROUP: (group_known, ("group", "inter")),
    "quadratic, exact": (surrogate, KINDS),
    "SFLS + SMD": (tuned(sfls, batch=100, steps=3000), KINDS),
    "proxy-Lagrangian": (tuned(proxy, batch=1000, steps=700), KINDS),
    "correlation penalty": (penalised, ("group",)),
    "post-processing": (post_processed, ("group", "inter")),
    "plain AUC": (plain, KINDS),
}
"""What each method is, and for which kinds of gap it is meant."""
if libauc_rival.installed():
    METHODS["LibAUC"] = (libauc, KINDS)
