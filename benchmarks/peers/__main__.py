"""Equipoise and its peers on the same problems: times, quality of the answer, whether bounds hold.

    python -m benchmarks.peers [race] [sparse] [fair] [held-out] [groups] [frontier] [neyman-pearson] [memory]
        [--quick] [--write]

Data sets are read from the folder named by EQUIPOISE_DATA, or downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.page import Page, facts
from benchmarks.peers import fair, groups, held_out, memory, neyman_pearson, path, race, sparse

PARTS = {
    "race": race.run,
    "sparse": sparse.run,
    "fair": fair.run,
    "held-out": held_out.run,
    "groups": groups.run,
    "frontier": path.run,
    "neyman-pearson": neyman_pearson.run,
    "memory": memory.run,
}
PACKAGES = (
    "equipoise", "numpy", "scipy", "scikit-learn", "fairlearn", "cooper-optim",
    "humancompatible-train", "torch", "casadi",
)  # fmt: skip
OUTPUT = Path(__file__).parents[2] / "docs" / "peers.md"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS) + "; default all")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, sizes and bounds")
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    page = Page("Equipoise and its peers", "make peers")
    page.say(facts(*PACKAGES) + (". **A quick run.**" if arguments.quick else "."))
    for part in arguments.parts or PARTS:
        PARTS[part](page, arguments.quick)
    page.summary()
    if arguments.write:
        page.write(OUTPUT)


if __name__ == "__main__":
    main()
