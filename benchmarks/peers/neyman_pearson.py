"""The Neyman-Pearson problem of Ma, Lin & Yang (2020) against the exact penalty method, at equal time."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.page import Page, figure, yes
from equipoise import NeymanPearsonClassifier, sets, solve
from equipoise.datasets import load
from equipoise.models import MultiClassLinearModel
from equipoise.problems import LearningProblem
from equipoise.solvers import ExactPenalty
from equipoise.terms import class_loss_terms

BOUNDS = {"pendigits": 4.5, "segment": 3.0, "usps": 4.5}
RADIUS = 0.1


def run(page: Page, quick: bool) -> None:
    page.say(
        "\n## Multi-class Neyman-Pearson (Ma, Lin & Yang 2020)\n\n"
        "Loss of the first class; largest excess of the other classes' losses over their bounds; the exact "
        "penalty method, with the paper's parameters, runs for as long as Equipoise did."
    )
    page.table(
        "data",
        "method" + 8 * " ",
        "seconds",
        "objective",
        "excess",
        "holds",
        "steps",
        "KKT residual",
    )
    with threadpool_limits(1):  # for both, so that equal time is equal work
        for name in ("segment",) if quick else BOUNDS:
            _compare(page, name, BOUNDS[name])


def _compare(page, name, bound):
    data = load(name)
    data = data.part("train") if "train" in data.split else data
    model = NeymanPearsonClassifier(bounds=bound, radius=RADIUS, on_infeasible="ignore")
    start = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    K, d = len(model.classes_), data.X.shape[1]
    problem = LearningProblem.of(
        MultiClassLinearModel(data.X, K, intercept=False),
        class_loss_terms(data.y, np.full(K, bound)),
        domain=sets.Product([(sets.L2Ball(RADIUS), d)] * K),
    )
    other = solve(
        problem,
        ExactPenalty.paper(),
        np.zeros(problem.dim),
        max_steps=10**6,
        max_seconds=seconds,
        density=2,
    )
    runs = (("Equipoise", model.result_, seconds), ("exact penalty", other, other.seconds))
    for method, result, spent in runs:
        certificate = result.certificate
        excess = certificate.values[1:].max()
        page.row(
            name, method, figure(spent), f"{certificate.objective:.5f}", f"{excess:+.1e}",
            yes(excess <= 1e-6), result.nit, f"{certificate.residual:.1e}",
        )  # fmt: skip
    ours, theirs = model.result_.certificate, other.certificate
    page.goal(f"{name}: objective, exact penalty's at equal time", ours.objective, theirs.objective)
    page.goal(f"{name}: largest class loss over its bound", ours.values[1:].max(), 1e-6)
