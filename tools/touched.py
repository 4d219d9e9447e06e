"""Which test calls which function, and the time it takes: what decides which tests a change is tried with.

Every test file runs once, in a fork, and what was found is kept in ``benchmarks/results/touched.json`` until
the test file changes. Delete it after larger changes of the source.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

import pytest

from tools.mutant_trials import ROOT, Changed, forked, run_tests
from tools.mutations import Mutation, functions

STORED = ROOT / "benchmarks" / "results" / "touched.json"
# The tests that changes of the lower layers are tried with. Those of the estimators fit models, and are slow.
FOLDERS = "core", "inputs", "sets", "solvers", "terms", "problems"
# Seconds of tests that one change is tried with: all that concern it, for most functions. Of the processor,
# as are all here: what else the machine does decides nothing. Chosen.
ENOUGH = 15.0
# What functions tell their names to; among the built-in names, so that every module knows it.
TOLD = "_equipoise_called"


@cache
def telling() -> Changed:
    """Return the source with functions that tell when they are called."""
    codes = {}
    for file in (ROOT / "src").rglob("*.py"):
        if file.name != "__init__.py":
            tree = ast.parse(file.read_text())
            path = str(file.relative_to(ROOT))
            for name, function in functions(tree):
                _tell(function, f"{path}::{name}")
            codes[path] = compile(
                ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True
            )
    return Changed(codes)


def _tell(function: ast.FunctionDef | ast.Lambda, name: str) -> None:
    """Have a function, and those that it makes, tell a name when they are called.

    What a decorator has made at import is all that tests call of it.
    """
    made = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    for each in made:
        told = ast.parse(f"{TOLD}({name!r})").body[0]
        assert isinstance(told, ast.Expr)
        if isinstance(each, ast.Lambda):
            each.body = ast.BoolOp(ast.Or(), [told.value, each.body])
        else:
            each.body.insert(ast.get_docstring(each) is not None, told)


@dataclass
class Recorder:
    """Notes for pytest: the functions that were called in every test, and the time it took."""

    called: set[str] = field(default_factory=set)
    at_import: list[str] = field(default_factory=list)
    tests: dict[str, dict] = field(default_factory=lambda: defaultdict(lambda: {"seconds": 0.0}))

    def __post_init__(self) -> None:
        setattr(builtins, TOLD, self.called.add)
        self.last = time.process_time()

    def pytest_collection_finish(self) -> None:
        """Set apart what importing the tests has called."""
        self.at_import, self.last = self._taken(), time.process_time()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test has called when all of it is over."""
        last, self.last = self.last, time.process_time()
        self.tests[report.nodeid]["seconds"] += self.last - last
        if report.when == "teardown":
            self.tests[report.nodeid]["calls"] = self._taken()

    def _taken(self) -> list[str]:
        called = sorted(self.called)
        self.called.clear()
        return called


def record() -> dict[str, dict]:
    """Run the test files that were not run as they are now, and return what is known of each."""
    STORED.parent.mkdir(exist_ok=True)
    known = json.loads(STORED.read_text()) if STORED.exists() else {}
    for folder in FOLDERS:
        for file in sorted((ROOT / "tests" / folder).glob("test_*.py")):
            name, digest = str(file.relative_to(ROOT)), sha256(file.read_bytes()).hexdigest()
            if known.get(name, {}).get("digest") != digest:
                known[name] = {"digest": digest} | _recorded(name)
                STORED.write_text(json.dumps(known))
    return {name: found for name, found in known.items() if (ROOT / name).exists()}


def _recorded(name: str) -> dict:
    """Run one test file; where a test fails without any change, none of them is used."""
    answer = STORED.with_name(f"touched-{os.getpid()}.json")

    def work() -> int:
        recorder = Recorder()
        code = run_tests([name], [recorder], telling())
        answer.write_text(json.dumps({"at_import": recorder.at_import, "tests": recorder.tests}))
        return code

    telling()
    code = forked(work)
    found = json.loads(answer.read_text())
    answer.unlink()
    seconds = sum(test["seconds"] for test in found["tests"].values())
    print(f"{seconds:7.1f} s  {name}" + ("  fails, and is left out" if code else ""), flush=True)
    return {"at_import": [], "tests": {}} if code else found


@dataclass(frozen=True)
class Touched:
    """What is known of all tests."""

    files: dict[str, dict]

    def at_import(self, mutation: Mutation) -> set[str]:
        """Return the test files whose import calls the changed function, and may keep what it returned."""
        function = f"{mutation.path}::{mutation.function}"
        return {name for name, file in self.files.items() if function in file["at_import"]}

    def tests(self, mutation: Mutation) -> dict[str, float]:
        """Return the tests that call the changed function, each with its seconds.

        Those come first that are quick and call little else, as they are more likely about it. Where
        importing a test file calls it, as for examples that are made there, all of its tests that call
        anything in the changed file count.
        """
        function = f"{mutation.path}::{mutation.function}"
        found = {}
        for file in self.files.values():
            imported = function in file["at_import"]
            for test, noted in file["tests"].items():
                beside = imported and any(
                    call.startswith(f"{mutation.path}::") for call in noted["calls"]
                )
                if beside or function in noted["calls"]:
                    found[test] = noted
        chosen, total = {}, 0.0
        for test, noted in sorted(found.items(), key=lambda pair: _breadth(pair[1])):
            total += noted["seconds"]
            if total > ENOUGH:
                break
            chosen[test] = noted["seconds"]
        return chosen


def _breadth(noted: dict) -> float:
    """Return what decides which tests come first; 0.01 s is what a test takes beside its calls."""
    return (0.01 + noted["seconds"]) * len(noted["calls"])
