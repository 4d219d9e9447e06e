"""Run trials until there are enough, keep them in a file, and write docs/coverage.md."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coverage.cases import CASES, GROUP_ROWS, ROWS, Case, audit_trial, fit_trial
from benchmarks.coverage.splits import SPLIT_CASES, split_trial
from benchmarks.page import Page, facts

CONFIDENCES = (0.9, 0.95)
AUDITED = ("adult", "bank", "compas")
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
STORE = Path(__file__).parents[2] / "coverage-trials.jsonl"


def wanted(fits: int, audits: int) -> Iterator[tuple[list[Any], Any]]:
    """Yield every trial: what tells it from others, and how to do it; all cases in turn."""
    for i, (case, level) in enumerate(SPLIT_CASES):
        for seed in range(5):
            yield ["split", i, seed], lambda c=case, s=seed, k=level: split_trial(c, k, s)
    for seed in range(fits):
        for i, case in enumerate(CASES):
            for level in CONFIDENCES:
                yield (
                    [case.name, level, seed],
                    lambda c=i, k=level, s=seed: fit_trial(CASES[c], k, s),
                )
    for data in AUDITED:
        for level in CONFIDENCES:
            for rows in (GROUP_ROWS, 10 * GROUP_ROWS):
                for seed in range(audits):
                    key = ["audit", data, level, rows, seed]
                    yield key, lambda d=data, k=level, r=rows, s=seed: audit_trial(d, k, s, r)


def run(store: Path, fits: int, audits: int, seconds: float) -> dict[str, Any]:
    """Do the trials that are not in the file yet, as long as there is time; return all."""
    done: dict[str, Any] = {}
    if store.exists():
        done = {
            entry["key"]: entry["found"]
            for entry in map(json.loads, store.read_text().splitlines())
        }
    end = time.monotonic() + seconds
    with store.open("a") as file:
        for key, trial in wanted(fits, audits):
            text = json.dumps(key)
            if text in done:
                continue
            if time.monotonic() > end:
                break
            done[text] = trial()
            file.write(json.dumps({"key": text, "found": done[text]}) + "\n")
    return done


def of(done: dict[str, Any], *start: Any) -> list[dict[str, Any]]:
    """Return the trials whose keys begin like this."""
    head = json.dumps(list(start))[:-1] + ","
    return [found for key, found in done.items() if key.startswith(head)]


def mean(trials: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([trial[name] for trial in trials])) if trials else float("nan")


def write(page: Page, done: dict[str, Any]) -> None:
    page.say(f"{facts('equipoise', 'numpy', 'scipy', 'scikit-learn')}.\n")
    page.say("## Promises on five splits\n")
    page.say(
        "70 % of the rows train, half of them held out for the test that makes the promise; the gap is "
        "counted on the other 30 %, whose own error is about as large as the margin. *unpromised*: the same "
        "fit without `confidence`, on all training rows."
    )
    page.table("case", "promised", "gap within", "gap within, unpromised", "accuracy", "unpromised")
    for i, (case, level) in enumerate(SPLIT_CASES):
        trials = of(done, "split", i)
        if trials:
            page.row(
                f"{case.name}, confidence {level:g}",
                f"{sum(t['promised'] for t in trials)} of {len(trials)}",
                f"{sum(t['gap'] <= case.bound for t in trials)} of {len(trials)}",
                f"{sum(t['plain_gap'] <= case.bound for t in trials)} of {len(trials)}",
                f"{mean(trials, 'accuracy'):.4f}",
                f"{mean(trials, 'plain_accuracy'):.4f}",
            )
    first, level = SPLIT_CASES[0]
    trials = of(done, "split", 0)
    kept = sum(t["promised"] and t["gap"] <= first.bound for t in trials)
    page.goal(f"{first.name}, confidence {level:g}: splits not promised and kept", 5 - kept, 0)
    lost = 100 * (mean(trials, "plain_accuracy") - mean(trials, "accuracy"))
    page.goal(f"{first.name}: points of accuracy given up", lost, 0.7)
    _write_fits(page, done)
    _write_audits(page, done)
    page.summary()


def _write_fits(page: Page, done: dict[str, Any]) -> None:
    page.say("\n## Promises of fits\n")
    page.say(
        f"A data set is taken as the population; {ROWS} rows are drawn with replacement, a model is fitted "
        "with `confidence`, and its rates are counted on the whole population. *broken*: fits that promised "
        "a bound which the population breaks; it may be at most one minus the confidence. *given up*: "
        "accuracy on the population, compared with the fit without a promise to the same rows, which "
        "breaks the bound there as often as the last column says."
    )
    page.table("case", "confidence", "fits", "promised", "broken", "given up", "unpromised breaks")
    total = 0
    for case in CASES:
        for level in CONFIDENCES:
            trials = of(done, case.name, level)
            if trials:
                total += len(trials)
                _row(page, case, level, trials)
    for level in CONFIDENCES:
        trials = [(c, t) for c in CASES for t in of(done, c.name, level)]
        if trials:
            broken = np.mean([t["promised"] and t["value"] > c.bound for c, t in trials])
            text = f"share of fits that promise a bound which breaks, at {level:g}"
            page.goal(text, float(broken), 1.0 - level)
    page.say(f"\n{total} fits in all.")


def _row(page: Page, case: Case, level: float, trials: list[dict[str, Any]]) -> None:
    broken = np.mean([t["promised"] and t["value"] > case.bound for t in trials])
    plain = np.mean([t["plain_value"] > case.bound for t in trials])
    given_up = mean(trials, "plain_accuracy") - mean(trials, "accuracy")
    shares = f"{mean(trials, 'promised'):.2f}", f"{broken:.3f}", f"{given_up:.4f}", f"{plain:.2f}"
    page.row(case.name, f"{level:g}", len(trials), *shares)


def _write_audits(page: Page, done: dict[str, Any]) -> None:
    page.say("\n## Intervals of audits\n")
    page.say(
        "Rows of each group are drawn with replacement, and the predictions of a model without constraints "
        "are audited for parity and equalised odds. *covered*: audits of which all intervals hold the "
        "population's values at once. *wrong*: audits with a wrong verdict."
    )
    page.table("data", "rows a group", "confidence", "audits", "covered", "wrong")
    worst = dict.fromkeys(CONFIDENCES, 1.0)
    for data in AUDITED:
        for rows in (GROUP_ROWS, 10 * GROUP_ROWS):
            for level in CONFIDENCES:
                trials = of(done, "audit", data, level, rows)
                if trials:
                    covered, wrong = mean(trials, "covered"), mean(trials, "wrong_verdict")
                    worst[level] = min(worst[level], covered)
                    shares = f"{covered:.4f}", f"{wrong:.4f}"
                    page.row(data, rows, f"{level:g}", len(trials), *shares)
    for level, covered in worst.items():
        page.goal(f"share of audits that miss a value, at {level:g}", 1.0 - covered, 1.0 - level)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/coverage.md")
    parser.add_argument("--fits", type=int, default=56, help="for each case and confidence")
    parser.add_argument(
        "--audits", type=int, default=500, help="for each data set, size and confidence"
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="then stop; the rest later"
    )
    parser.add_argument("--store", type=Path, default=STORE, help="where trials are kept")
    given = parser.parse_args()
    done = run(given.store, given.fits, given.audits, given.seconds)
    page = Page(
        "How often promises hold",
        "make coverage",
        "All figures are counts of trials on populations that are known.",
    )
    write(page, done)
    if given.write:
        page.write(PAGE)


if __name__ == "__main__":
    main()
