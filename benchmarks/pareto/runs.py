"""All runs, kept on disk one by one: what was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.pareto.data import split
from benchmarks.pareto.methods import METHODS, Case
from benchmarks.pareto.selection import Table

Cell = tuple[str, str, str, int]
"""Data set, kind of gap, method and seed."""


def cells(data: list[str], kinds: list[str], seeds: int) -> Iterator[Cell]:
    """The seeds slowest, so that what is there early covers everything."""
    for seed in range(seeds):
        for name in data:
            for kind in kinds:
                for method, (_, meant_for) in METHODS.items():
                    if kind in meant_for:
                        yield name, kind, method, seed


def file_of(folder: Path, cell: Cell) -> Path:
    return folder / ("-".join(map(str, cell)).replace(" ", "_") + ".json")


def run(folder: Path, cell: Cell, quick: bool) -> None:
    """Run one cell, unless it is there."""
    path = file_of(folder, cell)
    if path.exists():
        return
    name, kind, method, seed = cell
    with threadpool_limits(1):
        parts = _split(name, seed, quick)
        start = time.perf_counter()
        rows = METHODS[method][0](Case(parts, kind, seed, quick))
        seconds = time.perf_counter() - start
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps({"seconds": seconds, "rows": rows}))
    whole.rename(path)
    print(f"{name}, {kind}, {method}, seed {seed}: {len(rows)} models, {seconds:.1f} s", flush=True)


_split = lru_cache(maxsize=2)(split)


def run_all(folder: Path, todo: list[Cell], quick: bool, jobs: int) -> None:
    """Run what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in todo if not file_of(folder, cell).exists()]
    print(f"{len(todo) - len(missing)} of {len(todo)} runs are there already", flush=True)
    Parallel(n_jobs=jobs)(delayed(run)(folder, cell, quick) for cell in missing)


def results(folder: Path, todo: list[Cell]) -> dict[Cell, tuple[Table, float]]:
    """The tables and seconds of all cells."""
    found = {}
    for cell in todo:
        stored = json.loads(file_of(folder, cell).read_text())
        found[cell] = [tuple(row) for row in stored["rows"]], stored["seconds"]
    return found
