"""Run tests in a fork of this process, with some files of the source changed.

The fork has pytest and the heavy packages imported already, but nothing of Equipoise: a trial costs the
import of the library and of the tests that are named, and what these take.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
# What the library and its tests import, which every trial then has.
HEAVY = "scipy.optimize scipy.sparse scipy.stats sklearn.linear_model cvxpy typer rich pooch"
# `hypothesis` is imported before pytest could rewrite its assertions, of which pytest warns.
OPTIONS = (
    "-x -q --tb=no -p no:cacheprovider -p no:xdist -p no:randomly "
    "-W ignore::pytest.PytestAssertRewriteWarning"
)
# Seconds a trial may take beside its tests: imports, on a machine that does other things too.
IMPORTS = 15.0
# The longest time for the tests of one change, in multiples of what they take on the source as it is.
PATIENCE = 3.0


def prepare() -> None:
    """Import what all trials share, and make the examples of `hypothesis` the same in all of them."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    for name in HEAVY.split():
        importlib.import_module(name)
    settings.register_profile("mutants", derandomize=True, database=None)
    settings.load_profile("mutants")


@dataclass(frozen=True)
class Changed:
    """Finds and loads modules from other code than that of their files."""

    codes: Mapping[str, CodeType]  # by path, such as "src/equipoise/_problem.py"

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Find a module that has other code."""
        path = f"src/{name.replace('.', '/')}.py"
        if path not in self.codes:
            return None
        return spec_from_file_location(name, ROOT / path, loader=self)

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the other code."""
        assert module.__file__
        exec(self.codes[str(Path(module.__file__).relative_to(ROOT))], module.__dict__)


@dataclass(frozen=True)
class Chosen:
    """Keeps the tests that are named, in this order."""

    tests: Sequence[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests that were collected, and leave out the others."""
        place = {test: number for number, test in enumerate(self.tests)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )


def run_tests(files: Iterable[str], plugins: list[Any], changed: Changed) -> int:
    """Run pytest on the changed source in this process, in silence."""
    os.chdir(ROOT)
    with open(os.devnull, "w") as nowhere:
        for stream in 1, 2:
            os.dup2(nowhere.fileno(), stream)
    sys.meta_path.insert(0, changed)
    return int(pytest.main([*OPTIONS.split(), *files], plugins=plugins))


def forked(work: Callable[[], int], seconds: float | None = None) -> int | None:
    """Do work in a fork, and return its exit code; None where it takes longer than so many seconds."""
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(work()))
    child.start()
    child.join(seconds)
    if child.exitcode is None:
        child.kill()
        child.join()
        return None
    return child.exitcode


def tried(changed: Changed, tests: dict[str, float]) -> str:
    """Say whether tests, given with their seconds, notice a change: "killed", "survived" or "timeout"."""
    if not tests:
        return "survived"
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    code = forked(
        lambda: run_tests(files, [Chosen(list(tests))], changed),
        IMPORTS + PATIENCE * sum(tests.values()),
    )
    if code is not None and (code < 0 or code > pytest.ExitCode.INTERNAL_ERROR):
        raise SystemExit(f"The tests ended with {code}, which says nothing of the change.")
    return {0: "survived", None: "timeout"}.get(code, "killed")
