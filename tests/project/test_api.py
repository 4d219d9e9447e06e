"""What is public: all of it exists, is documented and listed, and nothing else looks public."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise
from tools import api_reference
from tools.api_reference import documentation, page, public_packages, summary

ROOT = Path(__file__).parents[2]
PACKAGES = {package.__name__: package for package in public_packages()}
NAMES = [(owner, name) for owner, package in PACKAGES.items() for name in package.__all__]


def test_the_packages_are_found():
    assert next(iter(PACKAGES)) == "equipoise"
    parts = "sets solvers problems constraints terms models estimators certificate run datasets"
    assert set(PACKAGES) >= {f"equipoise.{part}" for part in parts.split()}


@pytest.mark.parametrize("owner", PACKAGES)
def test_names_are_listed_once_and_exist(owner):
    names = PACKAGES[owner].__all__
    assert len(set(names)) == len(names)
    missing = [name for name in names if getattr(PACKAGES[owner], name, None) is None]
    assert not missing


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=[".".join(pair) for pair in NAMES])
def test_every_public_name_is_documented_in_a_line(owner, name):
    text = documentation(PACKAGES[owner], name)
    assert text, "a docstring is missing (of a constant: the string below its assignment)"
    first = text.strip().splitlines()[0]
    assert first.endswith("."), f"a summary is one line that ends with a period, not {first!r}"


@pytest.mark.parametrize("owner", PACKAGES)
def test_nothing_else_looks_public(owner):
    package = PACKAGES[owner]
    leaks = [
        name
        for name, value in vars(package).items()
        if not name.startswith("_") and name not in package.__all__ and not inspect.ismodule(value)
        if getattr(value, "__module__", owner).startswith("equipoise")
    ]
    assert not leaks, "list them in `__all__`, or give them an underscore"


def test_the_page_is_fresh():
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == page(), f"docs/api.md is stale; refresh it by: {api_reference.REFRESH}"


def test_the_page_lists_every_name():
    lines = page().splitlines()
    assert sum(line.startswith("| `") for line in lines) == len(NAMES)
    assert (
        "| `solve` | Let a solver take steps on a problem, and certify where it stopped. |" in lines
    )


def test_a_stale_page_is_noticed_and_refreshed(tmp_path, monkeypatch, capsys):
    target = tmp_path / "api.md"
    target.write_text(page().replace("certify", "", 1), encoding="utf-8")
    monkeypatch.setattr(api_reference, "PAGE", target)
    monkeypatch.setattr(sys, "argv", ["api_reference.py", "--check"])
    with pytest.raises(SystemExit, match=r"api\.md is stale; refresh it by: make pages"):
        api_reference.main()
    monkeypatch.setattr(sys, "argv", ["api_reference.py"])
    api_reference.main()
    assert target.read_text(encoding="utf-8") == page()


def test_the_script_runs_by_itself():
    script = ROOT / "tools" / "api_reference.py"
    subprocess.run([sys.executable, script, "--check"], check=True, cwd=ROOT)


def test_docstrings_that_nobody_wrote_do_not_count(tmp_path, monkeypatch):
    source = '''
from dataclasses import dataclass

LIMIT = 3
"""The most of them."""
OTHER: int = 4
HALF = 0.5


@dataclass
class Made:
    x: int


class Plain(ValueError):
    pass


class Written:
    """Text

    of two paragraphs."""
'''
    (tmp_path / "sample_of_names.py").write_text(source)
    (tmp_path / "importing_it.py").write_text("from sample_of_names import LIMIT as MOST\n")
    monkeypatch.syspath_prepend(tmp_path)
    import importing_it
    import sample_of_names

    assert documentation(sample_of_names, "LIMIT") == "The most of them."
    assert documentation(importing_it, "MOST") == "The most of them."
    for name in ("OTHER", "HALF", "Made", "Plain"):
        assert documentation(sample_of_names, name) is None, name
    assert summary(documentation(sample_of_names, "Written")) == "Text"


def test_lazy_names_are_the_ones_of_their_package():
    for name in ("ConstrainedClassifier", "NeymanPearsonClassifier", "frontier"):
        assert getattr(equipoise, name) is getattr(equipoise.estimators, name)
