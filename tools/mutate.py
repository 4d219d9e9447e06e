"""Change the source in small ways and see whether the tests notice: ``python -m tools.mutate``.

A seeded sample of changes (`tools/mutations.py`) of every area is tried against the tests that call the
changed function, until one fails (`tools/touched.py` knows which they are, and `tools/mutant_trials.py` runs
them). What no test notices is a survivor: a test is missing, or the change makes no difference. The latter
are listed in ``tools/equivalent_mutants.json`` with the reason, and are not tried. Results are kept in
``benchmarks/results/mutants.jsonl``; a second call goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from hashlib import sha256

from tools.mutant_trials import ROOT, Changed, prepare, tried
from tools.mutations import Mutation, mutations
from tools.touched import Touched, record

RESULTS = ROOT / "benchmarks" / "results" / "mutants.jsonl"
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.json"
AREAS = "certificate", "sets", "solvers", "terms"


def sample(area: str, count: int, seed: int) -> list[Mutation]:
    """Draw changes of an area."""
    known = {line["key"] for line in json.loads(EQUIVALENT.read_text())}
    found = []
    for file in sorted((ROOT / "src/equipoise" / area).rglob("*.py")):
        path = str(file.relative_to(ROOT))
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
    known = _known()
    drawn = [(a, m) for a in options.areas for m in sample(a, options.count, options.seed)]
    for area, mutation in drawn:
        if time.monotonic() > ends:
            break
        outcome = known.get(_name(mutation), {}).get("outcome")
        if outcome is None or (options.again and outcome == "survived"):
            _try(area, mutation, touched)
    known = _known()
    report([known[_name(mutation)] for _, mutation in drawn if _name(mutation) in known])


def _try(area: str, mutation: Mutation, touched: Touched) -> None:
    """Try one change, and write down what came of it."""
    tests = touched.tests(mutation)
    began = time.monotonic()
    code = compile(mutation.source, str(ROOT / mutation.path), "exec")
    outcome = tried(Changed({mutation.path: code}), tests)
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
    parser.add_argument("--count", type=int, default=50, help="changes of every area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
