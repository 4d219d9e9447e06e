"""Run tests in a fork of this process, with some files of the source changed.

The tests are collected once, before all trials, so that a fork has the library and its tests imported. A
changed function gets its new code in place (`tools/swapped.py`); only where an import may have called it, the
library and the tests are imported anew.
"""

from __future__ import annotations

import importlib
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from hypothesis import settings

from tools.swapped import functions_by_file, swap

ROOT = Path(__file__).parents[1]
# What the library and its tests import, which every trial then has.
HEAVY = "scipy.optimize scipy.sparse scipy.stats sklearn.linear_model cvxpy typer rich pooch"
# `hypothesis` is imported before pytest could rewrite its assertions, of which pytest warns.
OPTIONS = (
    "-x -q --tb=no -p no:cacheprovider -p no:xdist -p no:randomly "
    "-W ignore::pytest.PytestAssertRewriteWarning"
)
# Seconds of the processor that a trial may take beside its tests: imports.
IMPORTS = 15.0
# The longest time for the tests of one change, in multiples of what they take on the source as it is.
PATIENCE = 3.0
# The longest wait for a process, in multiples of the time it may compute: it may also sleep. Chosen.
WAITING = 20.0
# What a process ends with that could not put the changed function in its place, or failed itself; pytest ends
# with less.
UNSWAPPED, FAULT = 98, 99
# How a trial may end: all tests passed, one failed, or could not be imported with the changed library, or
# compiled code ended the process.
ENDINGS = (
    -signal.SIGABRT,
    -signal.SIGSEGV,
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.INTERNAL_ERROR,
    UNSWAPPED,
)


def prepare() -> None:
    """Import what all trials share, and make the examples of `hypothesis` the same in all of them."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    for name in HEAVY.split():
        importlib.import_module(name)
    settings.register_profile("mutants", derandomize=True, database=None)
    settings.load_profile("mutants")


@dataclass(eq=False)  # pytest needs plugins that can be hashed
class Collected:
    """Collects tests, and does other work with them than to run them all."""

    work: Callable[[Collected], None]
    items: dict[str, pytest.Item] = field(default_factory=dict)
    passing: dict[str, bool] = field(default_factory=dict)  # without any change; of those asked for

    def __post_init__(self) -> None:
        self._failed, self._fails = os.pipe()  # through it a fork names the test that failed
        os.set_blocking(self._failed, False)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work, in the place of what pytest would do."""
        self.items = {item.nodeid: item for item in session.items}
        functions_by_file()  # once for all forks
        self.work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End this process, a fork, at the first test that fails."""
        if report.failed:
            os.write(self._fails, report.nodeid.encode())
            os._exit(pytest.ExitCode.TESTS_FAILED)

    def run(self, tests: Sequence[str]) -> int:
        """Run tests in silence; the first that fails ends the process."""
        silence()
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return 0

    def unsound(self) -> str | None:
        """Return the test that failed in the last fork, where it fails without any change too."""
        try:
            test = os.read(self._failed, 10_000).decode()
        except BlockingIOError:
            return None
        if test not in self.passing:
            self.passing[test] = forked(lambda: self.run([test])) == 0
            if not self.passing[test]:
                os.read(self._failed, 10_000)
                print(f"fails without any change, and is left out: {test}", flush=True)
        return None if self.passing[test] else test


def with_collected(files: Sequence[str], work: Callable[[Collected], None]) -> None:
    """Collect the tests of some files, and do work with them."""
    os.chdir(ROOT)
    if files:
        pytest.main([*OPTIONS.split(), "-s", *files], plugins=[Collected(work)])


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
    """Import the changed source, and run pytest on it in this process, in silence."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("equipoise", "tests")]:
        del sys.modules[name]
    os.chdir(ROOT)
    silence()
    sys.meta_path.insert(0, changed)
    return int(pytest.main([*OPTIONS.split(), *files], plugins=plugins))


def silence() -> None:
    """Have this process print nothing from now on."""
    with open(os.devnull, "w") as nowhere:
        for stream in 1, 2:
            os.dup2(nowhere.fileno(), stream)


def forked(work: Callable[[], int], seconds: float | None = None) -> int | None:
    """Do work in a fork, and return its exit code; None where it takes more than so many seconds.

    Seconds of the processor: a busy machine makes no change look endless.
    """

    def work_and_end() -> None:
        code = FAULT
        if seconds is not None:
            most = math.ceil(time.process_time() + seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        try:
            code = work()
        finally:
            os._exit(code)

    child = multiprocessing.get_context("fork").Process(target=work_and_end)
    child.start()
    child.join(None if seconds is None else WAITING * seconds)
    if child.exitcode is None:
        child.kill()
        child.join()
    return None if child.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else child.exitcode


def tried(
    path: str,
    source: str,
    tests: Mapping[str, float],
    collected: Collected,
    anew: Container[str],
) -> str:
    """Say whether tests, given with their seconds, notice other source: "killed", "survived" or "timeout".

    Test files of which `anew` says so are imported again with the changed library; the others need not be.
    """
    code = compile(source, str(ROOT / path), "exec", dont_inherit=True)
    here = [test for test in tests if _file(test) not in anew and collected.passing.get(test, True)]
    answer = _ended(lambda: collected.run(here) if swap(path, code) else UNSWAPPED, tests, here)
    if answer == pytest.ExitCode.TESTS_FAILED and collected.unsound():
        return tried(path, source, tests, collected, anew)
    there = list(tests) if answer == UNSWAPPED else [test for test in tests if _file(test) in anew]
    if answer in (0, UNSWAPPED) and there:
        files, changed = list(dict.fromkeys(map(_file, there))), Changed({path: code})
        answer = _ended(lambda: run_tests(files, [Chosen(there)], changed), tests, there)
    return {0: "survived", None: "timeout"}.get(answer, "killed")


def _file(test: str) -> str:
    return test.partition("::")[0]


def _ended(
    work: Callable[[], int], seconds: Mapping[str, float], tests: Sequence[str]
) -> int | None:
    """Return how work with these tests has ended: its exit code, or None where it took too long."""
    if not tests:
        return 0
    answer = forked(work, IMPORTS + PATIENCE * sum(seconds[test] for test in tests))
    if answer is not None and answer not in ENDINGS:
        raise SystemExit(f"The tests ended with {answer}, which says nothing of the change.")
    return answer
