"""The trade-off between AUC and gaps of AUCs on rows held out, beside that of baselines.

    python -m benchmarks.pareto [--quick] [--write] [--fresh] [--jobs N]

Runs are kept in benchmarks/results/pareto; what was interrupted goes on where it stopped. Data sets are read
from the folder named by EQUIPOISE_DATA, or downloaded.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.page import Page, facts, figure
from benchmarks.pareto import data, runs
from benchmarks.pareto.methods import KINDS, METHODS, OURS, OURS_WITH_GROUP
from benchmarks.pareto.plot import Curves, draw
from benchmarks.pareto.selection import Table, chosen, hypervolume, mean_and_error

SEEDS = 5
BOUNDS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
"""On the rows for choosing; one point of the picture each."""
SHOWN = (0.02, 0.05)  # of them, those in the tables
KNOWS_GROUP = ("post-processing",)  # baselines that see the group of the rows they score
OUTPUT = Path(__file__).parents[2] / "docs" / "pareto.md"
RESULTS = Path(__file__).parents[1] / "results" / "pareto"

Results = dict[tuple[str, str, str], list[tuple[Table, float]]]
"""By data set, kind and method: the table and the seconds for every seed."""

ABOUT = f"""
Linear models on the three data sets of Yao, Lin & Yang (2023): a9a (female against male), bank-additional (age 25 to
60 against others) and COMPAS (11,757 rows, Caucasian against others). *group*: a row of one group ranks above one of
the other as often as below. *inter*: positives of one above negatives of the other, as often as the other way round.
*intra*: the AUCs within both groups agree. All AUCs are counted by ranks.

Every method gives models, by training with several bounds, penalties or transforms. Of these, for every bound, the
one with the best AUC that keeps the bound is **chosen on validation rows**, and **judged on test rows**. a9a has its
own test rows, and 10 % of the others for choosing; of the other two, 60 % are for training and 20 % each for choosing
and judging. Five random divisions; the numbers are means with standard errors.

- **{OURS}**: this library, trained with bounds on the gap with its sign. Rows for choosing have another gap than
  training rows, so the bounds go on below 0 until the gap on the former has turned over.
- **{OURS_WITH_GROUP}**: the same with the group, and its products with all features, as further features: what
  post-processing knows.
- **quadratic, exact**: the quadratic surrogate of Yao, Lin & Yang, solved to 1e-6 (`SurrogateAUC(solver="auto")`).
- **SFLS + SMD**: their method for it; 3,000 steps with 100 rows each. *c1* is 0.5, for with 1 no bound below 1 can be met.
- **proxy-Lagrangian** (Cotter, Jiang & Sridharan 2019): surrogates give the gradients and AUCs by ranks the
  multipliers; 700 steps with 1,000 rows each. Of this and the method above, 20 iterates of every run are models, and
  the step size is chosen of 0.01, 0.1 and 1 at one bound.
- **correlation penalty** (after Beutel et al. 2019), solved to 1e-6 for nine penalties; for *group* alone.
- **post-processing** (Kallus & Zhou 2019): 6,161 transforms of the scores of one group, for *group* and *inter*.
- **plain AUC**: `AUCClassifier` without constraints. **LibAUC**: its AUC-margin loss with its optimiser PESG, three
  step sizes, five passes over the rows, a model after each. It bounds no gap.

Models of one path (ours, the exact surrogate and the correlation penalty) are joined by four more between neighbours.
"""


def collect(folder: Path, todo: list[runs.Cell]) -> Results:
    """The results of all seeds together."""
    found: Results = {}
    for (name, kind, method, _), result in runs.results(folder, todo).items():
        found.setdefault((name, kind, method), []).append(result)
    return found


def curves_of(found: Results) -> Curves:
    """Means and errors for every bound that all seeds have a model for."""
    answer: Curves = {}
    for key, results in found.items():
        points = np.array([chosen(rows, BOUNDS) for rows, _ in results])
        known = ~np.isnan(points).any(axis=(0, 2))
        if known.any():
            answer[key] = mean_and_error(points[:, known])
    return answer


def volumes_of(found: Results) -> dict[tuple[str, str, str], np.ndarray]:
    """The hypervolumes of all seeds."""
    answer = {}
    for name, kind, method in found:
        free = [rows[0][2] for rows, _ in found[name, kind, "plain AUC"]]
        largest = float(np.ceil(100 * max(free)) / 100)
        answer[name, kind, method] = np.array(
            [hypervolume(np.array(rows)[:, 2:], largest) for rows, _ in found[name, kind, method]]
        )
    return answer


def tabulate(page: Page, found: Results, volumes: dict[tuple[str, str, str], np.ndarray]) -> None:
    """Print one table for each data set."""
    curves = {key: [chosen(rows, SHOWN) for rows, _ in results] for key, results in found.items()}
    for name in dict.fromkeys(key[0] for key in found):
        page.say(f"\n## {name}")
        at = [f"AUC / gap at {bound:g}" for bound in SHOWN]
        page.table("kind", "method" + 20 * " ", "hypervolume", *at, "seconds")
        for (own, kind, method), results in found.items():
            if own != name:
                continue
            mean, error = mean_and_error(volumes[name, kind, method])
            points = np.array(curves[name, kind, method])
            cells = [
                "none in some"
                if np.isnan(points[:, i]).any()
                else f"{points[:, i, 1].mean():.4f} / {points[:, i, 0].mean():.4f}"
                for i in range(len(SHOWN))
            ]
            seconds = np.mean([spent for _, spent in results])
            page.row(kind, method, f"{mean:.4f} ± {error:.4f}", *cells, figure(seconds))


def goals(page: Page, volumes: dict[tuple[str, str, str], np.ndarray]) -> None:
    """Compare with the best baseline of every data set and kind."""
    page.say(
        "\n## Beside the best baseline\n\n*difference*: the baseline's hypervolume minus ours, over the same divisions; "
        f"below 0 ours is larger. With {OURS} are compared the baselines that see the features alone, with "
        f"{OURS_WITH_GROUP} those that see the group of the rows they score."
    )
    page.table("data", "kind", "ours" + 24 * " ", "best baseline" + 8 * " ", "difference", "within 2 errors")
    for name, kind in dict.fromkeys(key[:2] for key in volumes):
        others = {m: v for (d, k, m), v in volumes.items() if (d, k) == (name, kind)}
        rivals = [m for m in others if m not in (OURS, OURS_WITH_GROUP)]
        for ours, compared in (
            (OURS, [m for m in rivals if m not in KNOWS_GROUP]),
            (OURS_WITH_GROUP, [m for m in rivals if m in KNOWS_GROUP]),
        ):
            if ours not in others or not compared:
                continue
            best = max(compared, key=lambda m: others[m].mean())
            mean, error = mean_and_error(others[best] - others[ours])
            page.row(
                name, kind, ours, best, f"{mean:+.4f} ± {error:.4f}", "yes" if abs(mean) <= 2 * error else "no"
            )
            page.goal(f"{name}, {kind}: hypervolume of {best} above that of {ours}", float(mean), 0.0)


def main(arguments: Sequence[str] | None = None, output: Path = OUTPUT, results: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one division of few rows")
    parser.add_argument("--write", action="store_true", help=f"write {output.name}")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    given = parser.parse_args(arguments)
    folder = results / ("quick" if given.quick else "full")
    if given.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    todo = list(runs.cells(list(data.SOURCES), list(KINDS), 1 if given.quick else SEEDS))
    runs.run_all(folder, todo, given.quick, given.jobs)
    found = collect(folder, todo)
    spent = sum(seconds for cell in found.values() for _, seconds in cell)
    about = f"All runs together took {spent / 60:.1f} minutes of one core."
    page = Page("AUC against gaps between groups, on rows held out", "make pareto", about)
    packages = facts("equipoise", "numpy", "scipy", "scikit-learn", "torch", "libauc")
    page.say(packages + (". **A quick run.**" if given.quick else "."))
    page.say(ABOUT)
    if "LibAUC" not in METHODS:
        page.say("LibAUC is not installed here, and left out.\n")
    page.say(
        f"![frontiers]({output.stem}.svg)\n\n*hypervolume*: the share of the rectangle from no gap and AUC 1 to "
        "AUC 1/2 and the largest gap of plain AUC that the models chosen for some bound dominate, on test rows. Where "
        "test rows have another gap than the rows for choosing, all models are shifted alike, and chance decides which "
        "method has one near 0: see the errors. *AUC / gap at*: of the model chosen for this bound. *seconds*: of "
        "training and measuring all models of one division."
    )
    volumes = volumes_of(found)
    tabulate(page, found, volumes)
    goals(page, volumes)
    page.summary()
    if given.write:
        page.write(output)
        draw(output.with_suffix(".svg"), curves_of(found))


if __name__ == "__main__":
    main()
