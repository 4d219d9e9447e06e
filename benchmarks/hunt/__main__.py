"""Hunt: ``python -m benchmarks.hunt [--count N] [--seed S] [--kind NAME] [--store FILE] [--write]``."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing import Pool
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.hunt.kinds import KINDS
from benchmarks.hunt.runs import Outcome, hunt_one
from benchmarks.page import Page, facts

PAGE = Path(__file__).parents[2] / "docs" / "hunt.md"
COUNT = 10_800


def main() -> int:
    options = _options()
    kinds = [options.kind] if options.kind else list(KINDS)
    tasks = [
        (kinds[i % len(kinds)], options.seed + i // len(kinds), options.method, options.tol)
        for i in range(options.count)
    ]
    outcomes = list(_stored(options.store))
    known = {(outcome.kind, outcome.seed) for outcome in outcomes}
    tasks = [task for task in tasks if task[:2] not in known]
    with Pool(options.jobs) as pool:
        for outcome in pool.imap(_hunt, tasks, chunksize=max(1, min(20, len(tasks)))):
            outcomes.append(outcome)
            _store(options.store, outcome)
            for sentence in outcome.wrong:
                print(f"{sentence}\n    {outcome.reproducer}", flush=True)
            if outcome.no_minimum:
                print(f"no minimum\n    {outcome.reproducer}", flush=True)
            if options.verbose:
                print(outcome, flush=True)
    report(outcomes, options.write)
    return int(any(outcome.wrong for outcome in outcomes))


def _stored(file: Path | None) -> Iterator[Outcome]:
    """Yield the outcomes of an earlier part of the hunt, of the same source."""
    if file is not None and file.exists():
        for fields in map(json.loads, file.read_text().splitlines()):
            yield Outcome(**fields | {"wrong": tuple(fields["wrong"])})


def _store(file: Path | None, outcome: Outcome) -> None:
    if file is not None:
        with file.open("a") as lines:
            lines.write(json.dumps(asdict(outcome)) + "\n")


def _hunt(task: tuple[str, int, str, float]) -> Outcome:
    with threadpool_limits(1):
        return hunt_one(*task)


def report(outcomes: list[Outcome], write: bool) -> None:
    """Print the figures; write them as a page if asked to."""
    about = "No times are compared."
    page = Page("A hunt for wrong claims", "make hunt", about)
    page.say(INTRODUCTION)
    seconds = sum(outcome.seconds for outcome in outcomes)
    page.say(f"{len(outcomes)} problems, {seconds:.0f} s in runs; {facts('numpy', 'scipy')}.")
    kinds = list(dict.fromkeys(o.kind for o in outcomes))
    words = ("false success", "wrong proof", "wrong figure", "traceback", "warning")
    page.table("kind".ljust(20), "problems", "success", "refused", *words, "no minimum")
    for kind in [*kinds, "all"]:
        rows = [o for o in outcomes if kind in (o.kind, "all")]
        wrong = [sum(any(s.startswith(w) for s in o.wrong) for o in rows) for w in words]
        page.row(kind, len(rows), sum(o.success for o in rows),
                 sum(o.status == "refused" for o in rows), *wrong,
                 sum(o.no_minimum for o in rows))  # fmt: skip
    page.say("\nHow the runs ended:")
    page.table("status".ljust(20), "runs")
    for status, count in Counter(o.status for o in outcomes).most_common():
        page.row(status, count)
    page.say("\nBy method:")
    page.table("method".ljust(22), "problems", "refused", "success", "wrong")
    for method in sorted({o.method for o in outcomes}):
        rows = [o for o in outcomes if o.method == method]
        page.row(method, len(rows), sum(o.status == "refused" for o in rows),
                 sum(o.success for o in rows), sum(bool(o.wrong) for o in rows))  # fmt: skip
    if write:
        page.write(PAGE)


INTRODUCTION = """\
Random problems of many kinds are given to `solve`, with `auto` in three runs of five and any registered
method in the others, and every claim is judged by code that shares nothing with the library
(`benchmarks/hunt/judge.py`): NumPy, SciPy, and extended precision.

- *False success*: `success`, but a constraint is violated by more than `tol`, the point is outside the
  domain, no multipliers make it stationary within `tol`, or a better point of a convex problem is known.
- *Wrong proof*: INFEASIBLE, but there is a feasible point.
- *Wrong figure*: the objective or the violation stated is not that of the point.
- *Traceback*, *warning*: an exception other than the refusal of an input, which names what is wrong with
  it; any warning.
- *No minimum*: a success where the objective is much lower at a feasible point nearby, at a saddle or a
  maximum. The optimality conditions of first order hold there: it is counted, and not called false.

Where gradients are wrong (`wrong_gradients`) a certificate can only rest on them: values are judged as they
are, stationarity by the gradients given. Each problem has a number; a finding is printed with the command
that repeats it.
"""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hunt")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(KINDS), default="")
    parser.add_argument("--method", default="")
    parser.add_argument("--tol", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, help="a file that keeps outcomes, to go on later")
    parser.add_argument("--write", action="store_true", help="write docs/hunt.md")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
