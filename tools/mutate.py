"""Change the source in small ways and see whether the tests notice: ``python -m tools.mutate``.

A seeded sample of changes (`tools/mutations.py`) of every area, or of some ``--files``, is tried against
the tests that call the changed function, until one fails (`tools/touched.py` knows which they are, and
`tools/mutant_trials.py` runs them). What no test notices is a survivor: a test is missing, or the change
makes no difference. The latter are listed in ``tools/equivalent_mutants.json`` with the reason, and are not
tried. Results are kept in ``benchmarks/results/mutants.jsonl``; a second call goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from tools.mutant_trials import ROOT, Collected, prepare, tried, with_collected
from tools.mutations import Mutation, mutations
from tools.touched import Touched, record

RESULTS = ROOT / "benchmarks" / "results" / "mutants.jsonl"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.json"
AREAS = "certificate", "sets", "solvers", "terms"


def sample(area: str, count: int, seed: int, files: Sequence[str] = ("",)) -> list[Mutation]:
    """Draw changes of an area, of those files whose path has one of these texts in it."""
    known = {line["key"] for line in json.loads(EQUIVALENT.read_text())}
    found = []
    for file in sorted((ROOT / "src/equipoise" / area).rglob("*.py")):
        path = str(file.relative_to(ROOT))
        if not any(part in path for part in files):
            continue
        found += [m for m in mutations(path, file.read_text()) if m.key not in known]
    return sorted(found, key=lambda m: _lot(m, seed))[:count]


def _lot(mutation: Mutation, seed: int) -> str:
    """Return a random text that decides who is drawn, whatever becomes of the other changes."""
    return sha256(f"{seed} {mutation.column} {mutation.key}".encode()).hexdigest()


def main() -> None:
    """Try the changes that were not tried before, and report on all."""
    options = _options()
    prepare()
    RESULTS.parent.mkdir(exist_ok=True)
    ends = time.monotonic() + 60 * options.minutes
    touched = Touched(record())
    drawn = [
        (area, mutation)
        for area in options.areas
        for mutation in sample(area, options.count, options.seed, options.files)
    ]

    known = _known()

    def open_question(mutation: Mutation) -> bool:
        outcome = known.get(_name(mutation), {}).get("outcome")
        return outcome is None or (options.again and outcome == "survived")

    trials = [(*pair, touched.tests(pair[1])) for pair in drawn if open_question(pair[1])]
    files = {test.partition("::")[0] for *_, tests in trials for test in tests}

    def work(collected: Collected) -> None:
        for area, mutation, tests in trials:
            if time.monotonic() > ends:
                break
            _try(area, mutation, tests, collected, touched.at_import(mutation))

    with_collected(sorted(files), work)
    known = _known()
    report([known[_name(mutation)] for _, mutation in drawn if _name(mutation) in known])


def _try(
    area: str,
    mutation: Mutation,
    tests: dict[str, float],
    collected: Collected,
    anew: set[str],
) -> None:
    """Try one change, and write down what came of it."""
    began = time.monotonic()
    outcome = tried(mutation.path, mutation.source, tests, collected, anew)
    line = {"name": _name(mutation), "area": area, "place": f"{mutation.path}:{mutation.line}"}
    line |= {"outcome": outcome, "tests": len(tests), "key": mutation.key}
    with RESULTS.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(
        f"{outcome:9} {time.monotonic() - began:5.1f} s  {line['place']}  "
        f"{mutation.before} -> {mutation.after}",
        flush=True,
    )


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


def _name(mutation: Mutation) -> str:
    text = mutation.key + str(mutation.column) + mutation.source
    return sha256(text.encode()).hexdigest()[:16]


def _known() -> dict[str, dict]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {line["name"]: line for line in map(json.loads, lines)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--areas", nargs="*", choices=AREAS, default=AREAS)
    parser.add_argument("--files", nargs="*", default=[""], help="only paths with this in them")
    parser.add_argument("--count", type=int, default=50, help="changes of every area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
