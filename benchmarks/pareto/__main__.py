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

from benchmarks.page import Page, facts
from benchmarks.pareto import data, runs
from benchmarks.pareto.about import ABOUT, MEASURES
from benchmarks.pareto.methods import KINDS, METHODS
from benchmarks.pareto.plot import draw
from benchmarks.pareto.tables import collect, curves_of, goals, tabulate, volumes_of

SEEDS = 5
OUTPUT = Path(__file__).parents[2] / "docs" / "pareto.md"
RESULTS = Path(__file__).parents[1] / "results" / "pareto"


def main(
    arguments: Sequence[str] | None = None, output: Path = OUTPUT, results: Path = RESULTS
) -> None:
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
    about = (
        f"All runs together took {spent / 60:.0f} minutes, one at a time; other work on the machine "
        "lengthens them."
    )
    page = Page("AUC against gaps between groups, on rows held out", "make pareto", about)
    packages = facts("equipoise", "numpy", "scipy", "scikit-learn", "torch", "libauc")
    page.say(packages + (". **A quick run.**" if given.quick else "."))
    page.say(ABOUT)
    if "LibAUC" not in METHODS:
        page.say("LibAUC is not installed here, and left out.\n")
    page.say(f"![frontiers]({output.stem}.svg)\n" + MEASURES)
    volumes = volumes_of(found)
    tabulate(page, found, volumes)
    goals(page, volumes)
    page.summary()
    if given.write:
        page.write(output)
        draw(output.with_suffix(".svg"), curves_of(found))


if __name__ == "__main__":
    main()
