"""Which test calls which function, and how long it takes: what decides which tests a change is tried with.

Every test file runs once, in a fork, and what was found is kept in ``benchmarks/results/touched.json`` until
the test file changes. Delete it after larger changes of the source.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

import pytest

from tools.mutant_trials import ROOT, Changed, forked, run_tests
from tools.mutations import Mutation, functions

STORED = ROOT / "benchmarks" / "results" / "touched.json"
# The tests that changes of the lower layers are tried with. Those of the estimators fit models, and are slow.
FOLDERS = "core", "sets", "solvers", "terms", "problems"
# Seconds of tests that one change is tried with, quickest first: all that concern it, for most functions. Chosen.
ENOUGH = 10.0
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
            codes[path] = compile(ast.fix_missing_locations(tree), str(file), "exec")
    return Changed(codes)


def _tell(function: ast.FunctionDef | ast.Lambda, name: str) -> None:
    told = ast.parse(f"{TOLD}({name!r})").body[0]
    assert isinstance(told, ast.Expr)
    if isinstance(function, ast.Lambda):
        function.body = ast.BoolOp(ast.Or(), [told.value, function.body])
    else:
        function.body.insert(ast.get_docstring(function) is not None, told)


@dataclass
class Recorder:
    """Notes for pytest: the functions that were called in every test, and the time it took."""

    called: set[str] = field(default_factory=set)
    at_import: list[str] = field(default_factory=list)
    tests: dict[str, dict] = field(default_factory=lambda: defaultdict(lambda: {"seconds": 0.0}))

    def __post_init__(self) -> None:
        setattr(builtins, TOLD, self.called.add)

    def pytest_collection_finish(self) -> None:
        """Set apart what importing the tests has called."""
        self.at_import = self._taken()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test has called when all of it is over."""
        self.tests[report.nodeid]["seconds"] += report.duration
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
                known[name] = _recorded(name, digest)
                STORED.write_text(json.dumps(known))
    return {name: found for name, found in known.items() if (ROOT / name).exists()}


def _recorded(name: str, digest: str) -> dict:
    answer = STORED.with_name("touched-now.json")

    def work() -> int:
        recorder = Recorder()
        code = run_tests([name], [recorder], telling())
        found = {"digest": digest, "at_import": recorder.at_import, "tests": recorder.tests}
        answer.write_text(json.dumps(found))
        return code

    telling()
    if code := forked(work):
        raise SystemExit(f"Without any change, {name} ends with {code}.")
    found = json.loads(answer.read_text())
    answer.unlink()
    print(f"{sum(t['seconds'] for t in found['tests'].values()):7.1f} s  {name}", flush=True)
    return found


@dataclass(frozen=True)
class Touched:
    """What is known of all tests."""

    files: dict[str, dict]

    def tests(self, mutation: Mutation) -> dict[str, float]:
        """Return the tests that call the changed function, quickest first, each with its seconds.

        Where importing a test file calls it, as for examples that are made there, all of its
        tests that call anything in the changed file count.
        """
        function = f"{mutation.path}::{mutation.function}"
        seconds = {}
        for file in self.files.values():
            imported = function in file["at_import"]
            for test, found in file["tests"].items():
                calls = found["calls"]
                if function in calls or (
                    imported and any(call.startswith(f"{mutation.path}::") for call in calls)
                ):
                    seconds[test] = found["seconds"]
        chosen, total = {}, 0.0
        for test in sorted(seconds, key=seconds.__getitem__):
            total += seconds[test]
            if total > ENOUGH:
                break
            chosen[test] = seconds[test]
        return chosen
