"""Change the source in small ways and see whether the tests notice: ``python -m tools.mutate``.

A seeded sample of changes (`tools/mutations.py`) of every area is tried, each in a copy of the tree, against
the tests that concern the file, until one fails. What no test notices is a survivor: a test is missing,
or the change makes no difference. The latter are listed in ``tools/equivalent_mutants.json`` with the reason,
and are not tried. Results are kept in ``benchmarks/results/mutants.jsonl``; a second call goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from queue import Queue

from tools.mutations import Mutation, mutations

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "mutants.jsonl"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.json"
COPIED = "src", "tests", "benchmarks", "tools", "pyproject.toml", "docs", "Makefile"

# Folders below src/equipoise by area, each with its tests, quick ones first. `{stem}` is the name of the
# file that is changed, without underscores in front.
TESTS = {
    "certificate": {
        "certificate": "core/test_{stem}*.py core/test_c[eu]*.py core/test_near*.py core/test_kinks.py "
        "core/test_ro*.py core/test_infeas*.py core/test_pro*.py core/test_lan*.py",
    },
    "sets": {"sets": "sets"},
    "solvers": {
        "solvers/_methods": "solvers/test_single_steps.py solvers/test_{stem}.py solvers/test_warm_start.py",
        "solvers/_newton": "solvers/test_jump.py solvers/test_augmented_newton.py solvers/test_smoothing.py",
        "solvers/_minmax": "solvers/test_level_set.py solvers/test_iqrc.py",
        "solvers/_plada": "solvers/test_plada.py",
        "solvers/_proxy": "solvers/test_candidates.py solvers/test_proxy_lagrangian.py",
        "solvers/_penalty": "solvers/test_exact_penalty.py",
        "solvers/_iqrc": "solvers/test_iqrc*.py",
        "solvers/_wrappers": "solvers/test_wrappers.py",
        "solvers/_theory": "solvers/test_{stem}*.py",
        "solvers/_parts": "solvers/test_switching.py solvers/test_warm_start.py solvers/test_apg.py "
        "solvers/test_imela.py solvers/test_sp_lm.py solvers/test_yu_neely_wei.py solvers/test_conex.py",
    },
    "terms": {"terms": "terms problems models/test_network.py"},
}
# The longest time for one mutant, in multiples of what the tests take on the source as it is.
PATIENCE = 4.0


@dataclass
class Tree:
    """A copy of the tree in which files are changed and tests are run."""

    path: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="mutants-")))

    def __post_init__(self) -> None:
        for name in COPIED:
            here, there = ROOT / name, self.path / name
            shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)

    def passes(self, tests: tuple[str, ...], seconds: float | None = None) -> bool | None:
        """Whether the tests pass; None where they take longer."""
        paths = [str(self.path / "src"), str(self.path)]
        variables = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        variables |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            answer = subprocess.run(
                command, cwd=self.path, env=variables, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return None
        if answer.returncode < 0:
            raise SystemExit("The tests were ended from outside, which says nothing of the change.")
        return answer.returncode == 0

    def tried(self, mutation: Mutation, tests: tuple[str, ...], seconds: float) -> str:
        """Return "killed", "survived" or "timeout"."""
        file = self.path / mutation.path
        original = file.read_text()
        file.write_text(mutation.source)
        try:
            passed = self.passes(tests, seconds)
        finally:
            file.write_text(original)
        return {True: "survived", False: "killed", None: "timeout"}[passed]


def sample(area: str, count: int, seed: int) -> list[tuple[Mutation, tuple[str, ...]]]:
    """Draw changes of an area, each with the tests that concern it."""
    known = {line["key"] for line in json.loads(EQUIVALENT.read_text())}
    found = []
    for folder, tests in TESTS[area].items():
        for file in sorted((ROOT / "src/equipoise" / folder).glob("*.py")):
            path = str(file.relative_to(ROOT))
            concerned = tuple(_files(tests.format(stem=file.stem.lstrip("_"))))
            drawn = [m for m in mutations(path, file.read_text()) if m.key not in known]
            found += [(mutation, concerned) for mutation in drawn]
    random.Random(f"{seed} {area}").shuffle(found)
    return found[:count]


def _files(patterns: str) -> Iterator[str]:
    """The files and folders of tests that the patterns name, each once, in their order."""
    every = [p for pattern in patterns.split() for p in sorted((ROOT / "tests").glob(pattern))]
    yield from dict.fromkeys(str(p.relative_to(ROOT)) for p in every)


def main() -> None:
    """Try the changes that were not tried before, and report on all."""
    options = _options()
    RESULTS.parent.mkdir(exist_ok=True)
    known = _known()
    areas = options.areas or list(TESTS)
    tasks = [(area, *pair) for area in areas for pair in sample(area, options.count, options.seed)]
    trees: Queue[Tree] = Queue()
    for _ in range(options.jobs):
        trees.put(Tree())
    usual: dict[tuple[str, ...], float] = {}

    def work(task: tuple[str, Mutation, tuple[str, ...]]) -> dict:
        area, mutation, tests = task
        name = sha256((mutation.key + str(mutation.column) + mutation.source).encode()).hexdigest()[
            :16
        ]
        if name in known:
            return known[name]
        tree = trees.get()
        try:
            if tests not in usual:
                began = time.perf_counter()
                if not tree.passes(tests):
                    raise SystemExit(f"These tests fail without any change: {' '.join(tests)}")
                usual[tests] = time.perf_counter() - began
            outcome = tree.tried(mutation, tests, 20 + PATIENCE * usual[tests])
        finally:
            trees.put(tree)
        place = f"{mutation.path}:{mutation.line}"
        line = {"name": name, "area": area, "place": place, "outcome": outcome, "key": mutation.key}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{outcome:9} {place}  {mutation.before} -> {mutation.after}", flush=True)
        return line

    with ThreadPoolExecutor(options.jobs) as pool:
        lines = list(pool.map(work, tasks))
    while not trees.empty():
        shutil.rmtree(trees.get().path)
    report(lines)


def report(lines: list[dict]) -> None:
    """Print how many were noticed, and the survivors."""
    for area in dict.fromkeys(line["area"] for line in lines):
        counts = Counter(line["outcome"] for line in lines if line["area"] == area)
        noticed, total = counts["killed"] + counts["timeout"], counts.total()
        print(
            f"{area}: {noticed} of {total} noticed ({100 * noticed / total:.0f} %), {dict(counts)}"
        )
    for line in lines:
        if line["outcome"] == "survived":
            print(f"survived  {line['place']}  {line['key'].partition(' | ')[2]}")


def _known() -> dict[str, dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {line["name"]: line for line in map(json.loads, lines)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--areas", nargs="*", choices=list(TESTS))
    parser.add_argument("--count", type=int, default=50, help="changes of every area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
