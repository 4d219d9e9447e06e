"""The files around the code agree with each other and with the code."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import equipoise

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
NOT_OLDEST = {"torch", "ruff", "mypy", "import-linter"}  # checked with the pinned versions only


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def requirements(*extras):
    """What is asked for, by name: the library's needs and those of some extras."""
    texts = list(PROJECT["dependencies"])
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(r.name): r.specifier for r in map(Requirement, texts)}


def pins(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    parts = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package): Version(version) for package, version in parts}


def test_the_pinned_versions_are_allowed_ones():
    known = pins("constraints.txt")
    for name, allowed in requirements(
        "test", "dev", "plot", "torch", "jax", "onnx", "bench"
    ).items():
        assert name in known, f"constraints.txt does not pin {name}"
        assert known[name] in allowed, name


def test_the_oldest_versions_are_the_lower_bounds():
    known = pins("constraints-oldest.txt")
    for name, allowed in requirements("test", "plot").items():
        if name in NOT_OLDEST:
            continue
        (bound,) = allowed
        assert bound.operator == ">="
        lowest, used = Version(bound.version), known[name]
        digits = len(lowest.release)
        assert used.release[:digits] == lowest.release, f"{name}: {used} is not the oldest allowed"


def test_python_versions_agree():
    spoken = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if ":: Python ::" in c]
    rows = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["include"]
    assert [row["python"] for row in rows if row["target"] == "test"] == spoken
    assert PROJECT["requires-python"] == f">={spoken[0]}"
    oldest = [row["python"] for row in rows if row["target"] == "test-oldest"]
    newest = [row["python"] for row in rows if row["target"] == "test-newest"]
    assert (oldest, newest) == ([spoken[0]], [spoken[-1]])
    assert {row["target"] for row in rows} <= TARGETS


def test_the_workflow_calls_targets_that_are_there():
    for job in read(".github/workflows/ci.yml")["jobs"].values():
        for step in job["steps"]:
            for target in re.findall(r"^make ([a-z-]+)", step.get("run", ""), re.MULTILINE):
                assert target in TARGETS


def test_hooks_and_lint_use_the_same_tools():
    hooks = read(".pre-commit-config.yaml")["repos"][0]["hooks"]
    entries = [hook["entry"] for hook in hooks]
    assert all(entry.startswith(".venv/bin/") for entry in entries)
    commands = re.search(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    tools = set(re.findall(r"\$\(VENV\)/bin/(\S+(?: (?:format|check))?)", commands))
    assert tools == {"ruff format", "ruff check", "mypy", "lint-imports"}
    assert all(any(e.startswith(f".venv/bin/{tool}") for e in entries) for tool in tools)


def test_templates_can_be_read():
    forms = [*ROOT.glob(".github/ISSUE_TEMPLATE/*_*.yml")]
    assert len(forms) == 2
    for form in forms:
        content = read(form)
        assert {"name", "description", "body"} <= set(content)
        identifiers = [part["id"] for part in content["body"]]
        assert len(set(identifiers)) == len(identifiers)


def test_the_version_is_the_same_everywhere():
    assert "version" in PROJECT["dynamic"]
    assert read("CITATION.cff")["version"] == equipoise.__version__
    assert read("CITATION.cff")["license"] == PROJECT["license"]
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert first == equipoise.__version__


def test_every_extra_has_code_behind_it():
    extras = set(PROJECT["optional-dependencies"])
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    imports = {"torch": "torch", "jax": "jax", "onnx": "onnx", "plot": "matplotlib"}
    assert extras == {*imports, "bench", "test", "dev"}
    for package in imports.values():
        assert re.search(rf"^ *(import|from) {package}\b", source, re.MULTILINE), package


@pytest.mark.parametrize(
    "pattern",
    ["*.md", "*.toml", "*.txt", "*.cff", "Makefile", "docs/**/*.md", ".github/**/*", ".ci/*"]
    + [f"{folder}/**/*.py" for folder in ("src", "tests", "tools", "examples", "benchmarks")],
)
def test_the_project_speaks_only_of_itself(pattern):
    for path in ROOT.glob(pattern):
        if path.is_file():
            assert not re.search(r"/(root|work|home)/", path.read_text(encoding="utf-8")), path
