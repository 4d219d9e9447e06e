"""PLADA and the multiplier model on the errors of hundreds of overlapping groups.

    python -m benchmarks.many_groups [--quick] [--write] [--fresh] [--seeds 1 2 3 4 5]

Seeds are kept in benchmarks/results/many_groups; what was interrupted goes on where it stopped. Communities
and Crime is read from the folder named by EQUIPOISE_DATA, or downloaded.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.many_groups.methods import ALLOWED, EVERY, METHODS, SIZES, STEPS, candidates, chosen
from benchmarks.many_groups.study import EXCESS, LAYERS, WIDTH, Study
from benchmarks.page import Page, facts, figure

SEEDS = (1, 2, 3, 4, 5)  # 0 was looked at while the study was set up
OUTPUT = Path(__file__).parents[2] / "docs" / "many_groups.md"
RESULTS = Path(__file__).parents[1] / "results" / "many_groups"

ABOUT = f"""
Every community belongs to those of 1,000 groups whose three thresholds on the shares of its Black,
Asian and Hispanic population it lies above; groups with more than 1 % of the rows of every part are
kept. A network with {LAYERS} hidden layers of {WIDTH} ReLU units is trained with hinge loss, so that
the loss of no group is more than {EXCESS:g} above everyone's. Measured are errors: *worst*, by how much
more than {EXCESS:g} the error of a group exceeds everyone's, at worst; *99 %*, the 99th percentile over
groups. Each seed is another division of the rows into halves for training and quarters for validation
and test, and another network.

Each method has {STEPS} steps on all training rows with each of the step sizes {SIZES}; every {EVERY}
steps is a candidate. Its model is the candidate with the least *worst* on **validation** rows among
those whose error there is at most {ALLOWED:g} above the least error of a network without constraints.
Test rows are not looked at before; step sizes and the scale of PLADA's constraints were settled on a
division that is not among these. PLADA and the multiplier model have otherwise the settings of their
papers. *PLADA, all groups* has a constraint for each group; *mean of groups* has the one constraint
that the PLADA paper prints, which is not about the worst group. Where all groups are constraints of
PLADA, each is divided by the root of their number. Every number is a mean over seeds, with its standard
error.
"""


def run(seed: int, quick: bool) -> dict:
    """All candidates of all methods, (sizes, candidates, parts, 3), and the seconds they took."""
    study = Study(seed, 8 if quick else WIDTH)
    found: dict = {"groups": study.members.shape[1]}
    for method in METHODS:
        began = time.process_time()
        steps = 2 * EVERY if quick else STEPS
        rows = [list(candidates(study, method, size, steps)) for size in SIZES]
        seconds = time.process_time() - began
        found[method] = {"rows": rows, "seconds": seconds}
        print(f"seed {seed}, {method}: {seconds:.0f} s", flush=True)
    return found


def kept(folder: Path, seed: int, quick: bool) -> dict:
    """The same, kept on disk."""
    path = folder / f"seed-{seed}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(".part")
        with threadpool_limits(1):
            whole.write_text(json.dumps(run(seed, quick)))
        whole.rename(path)
    return json.loads(path.read_text())


def models(found: dict) -> dict[str, np.ndarray]:
    """The figures (parts, 3) of the model of each method."""
    tables = {method: np.concatenate(found[method]["rows"]) for method in METHODS}
    most = tables["no constraints"][:, 1, 0].min() + ALLOWED
    return {method: rows[chosen(rows, most)] for method, rows in tables.items()}


def tabulate(page: Page, seeds: list[dict]) -> None:
    """Print the means over seeds, and the difference of the two methods in question."""
    figures = [models(found) for found in seeds]
    page.table("method", "part", "error", "+-", "worst", "+-", "99 %", "+-")
    for method in METHODS:
        for number, part in enumerate(("training", "validation", "test")):
            own = np.array([found[method][number] for found in figures])
            page.row(method, part, *_means(own))
    page.say(
        "\nPLADA with all groups less the multiplier model, seed by seed. Of so few seeds, a difference of "
        "less than three standard errors may be chance."
    )
    page.table("part", "error", "+-", "worst", "+-", "99 %", "+-", "worst lower in")
    for number, part in enumerate(("training", "validation", "test")):
        ours, theirs = (
            np.array([found[method][number] for found in figures])
            for method in ("PLADA, all groups", "multiplier model")
        )
        lower = f"{np.count_nonzero(ours[:, 1] < theirs[:, 1])} of {len(figures)}"
        page.row(part, *_means(ours - theirs), lower)
        if part == "test":
            error, worst, _ = (ours - theirs).mean(axis=0)
            page.goal("PLADA's worst excess less the multiplier model's, test rows", worst, 0.0)
            page.goal("PLADA's error less the multiplier model's, test rows", error, 0.0)


def last_ones(page: Page, seeds: list[dict]) -> None:
    """Print where every run ended, chosen by nothing."""
    page.say("\nThe last iterates, on training rows and on test rows, means over seeds:")
    page.table("method", "step size", "error", "worst", "99 %", "test error", "worst", "99 %")
    for method in METHODS:
        for number, size in enumerate(SIZES):
            own = np.mean([found[method]["rows"][number][-1] for found in seeds], axis=0)
            page.row(method, size, *(f"{value:.4f}" for part in own[[0, 2]] for value in part))


def _means(own: np.ndarray) -> list[str]:
    """Means and standard errors of the columns, one after the other."""
    error = own.std(axis=0, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.full(3, np.nan)
    return [f"{value:.4f}" for pair in zip(own.mean(axis=0), error) for value in pair]


def main(
    arguments: Sequence[str] | None = None, output: Path = OUTPUT, results: Path = RESULTS
) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two seeds of a few steps")
    parser.add_argument("--write", action="store_true", help=f"write {output.name}")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="by default five")
    given = parser.parse_args(arguments)
    folder = results / ("quick" if given.quick else "full")
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    numbers = given.seeds[:2] if given.quick else given.seeds
    seeds = [kept(folder, seed, given.quick) for seed in numbers]
    spent = sum(found[method]["seconds"] for found in seeds for method in METHODS)
    about = f"All runs together took {spent / 60:.0f} minutes of one core."
    page = Page("Hundreds of overlapping groups", "make many-groups", about)
    packages = facts("equipoise", "numpy", "torch")
    page.say(packages + (". **A quick run.**" if given.quick else "."))
    page.say(ABOUT)
    groups = [found["groups"] for found in seeds]
    listed = (", ".join(map(str, some)) for some in (numbers, groups))
    page.say("Seeds: {}. Groups kept: {}.".format(*listed))
    tabulate(page, seeds)
    last_ones(page, seeds)
    page.say("\nSeconds of one core for a run of one step size, mean:")
    page.table("method", "seconds")
    for method in METHODS:
        own = np.mean([found[method]["seconds"] for found in seeds]) / len(SIZES)
        page.row(method, figure(own))
    page.summary()
    if given.write:
        page.write(output)


if __name__ == "__main__":
    main()
