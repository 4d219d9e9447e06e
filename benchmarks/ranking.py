"""Linear rankings of MSLR's documents, with a bound in every query on what groups do to it.

    python -m benchmarks.ranking [--write]

MSLR is read from the folder named by EQUIPOISE_DATA.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.page import Page, facts, figure
from equipoise import solve
from equipoise.datasets import load_mslr
from equipoise.models import LinearModel
from equipoise.problems import LearningProblem
from equipoise.terms import ranking_terms

SLACK, L2, TOL = 0.25, 0.01, 1e-5
FARTHEST = (
    5.0  # standard deviations beyond which a feature is cut off: some are counts with long tails
)
SHARPNESS = (1.0, 4.0, 16.0)  # of the sigmoids that stand for counts
OUTPUT = Path(__file__).parents[1] / "docs" / "ranking.md"

ABOUT = f"""
In every query, the share of pairs in the right order with a relevant document of high quality and an
irrelevant one of low quality, and that of pairs the other way round, shall differ by at most {SLACK:g}
(Narasimhan et al. 2020). The score is linear in the 136 features; minimised is the logistic loss of the
pairs, query by query. *loss* is that loss; *worst* and *mean*: by how much more than {SLACK:g} the
counted shares of a query differ, at worst and on average over queries (0 where they do not). Sigmoids
stand for counts in the fit; sharper ones are closer to them and less smooth.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    given = parser.parse_args()
    data = load_mslr()
    parts = {name: data.part(name) for name in ("train", "test")}
    X = parts["train"].X
    center, scale = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    rows = {n: np.clip((p.X - center) / scale, -FARTHEST, FARTHEST) for n, p in parts.items()}

    def terms_of(part, slack):
        high = part.groups == "high quality"
        return ranking_terms(part.y == 1, high, part.query, slack)

    bounded = {name: terms_of(part, SLACK) for name, part in parts.items()}
    fair = bounded["train"]
    page = Page("Fair rankings", "make ranking", "All times are of this run, with one BLAS thread.")
    page.say(facts("equipoise", "numpy", "scipy") + ".")
    page.say(ABOUT)
    page.say(
        f"{data.note}\n\nTraining rows: {parts['train'].n}, with {fair.n_constraints} constraints."
    )
    page.table("fit", "status", "steps", "seconds", "part", "loss", "worst", "mean")
    fits = {"no constraints": terms_of(parts["train"], 1.0)}  # shares differ by 1 at most
    fits |= {f"sharpness {k:g}": fair.sharpened(k) for k in SHARPNESS}
    model = LinearModel(rows["train"], intercept=False)
    with threadpool_limits(1):
        for name, terms in fits.items():
            began = time.perf_counter()
            found = solve(LearningProblem.of(model, terms, l2=L2), tol=TOL)
            seconds = time.perf_counter() - began
            for part, own in bounded.items():
                scores = rows[part] @ found.x
                excess = np.maximum(own.thresholded(scores)[1:], 0.0)
                excess = np.maximum(*np.split(excess, 2))  # of a query: whichever side is broken
                page.row(
                    name, found.status.name, found.nit, figure(seconds), part,
                    f"{own.at(scores).values[0]:.4f}", f"{excess.max():.4f}", f"{excess.mean():.4f}",
                )  # fmt: skip
    page.say(
        "\nThe bound is on the training queries, each of its own; what it does to new queries is in the rows "
        "of the test part."
    )
    if given.write:
        page.write(OUTPUT)


if __name__ == "__main__":
    main()
