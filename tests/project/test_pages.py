"""The pages hold what they say: examples run, links lead somewhere, commands exist."""

import builtins
import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from equipoise._cli import app

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
FENCE = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)
NOT_RUN = "python no-run"  # the first line of an example that needs what a test does not have


@dataclass
class Block:
    language: str
    code: str
    line: int  # of the page, where the code begins


def blocks(text):
    """All fenced blocks of a page, in order."""
    return [
        Block(match[2].strip(), match[3], text[: match.start(3)].count("\n") + 1)
        for match in FENCE.finditer(text)
    ]


def prose(text):
    """The page without its blocks."""
    return FENCE.sub("", text)


def examples(path):
    return [b for b in blocks(path.read_text(encoding="utf-8")) if b.language == "python"]


def run(page):
    """Run the examples of a page in order, in one namespace, as a reader would paste them."""
    namespace = {"__name__": "__main__"}
    for block in examples(page):
        lines = "\n" * (block.line - 1) + dedent(block.code)  # so that errors name the line
        exec(compile(lines, str(page), "exec"), namespace)
    return namespace


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=named)
def test_the_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run(page)


def test_the_readme_keeps_its_word(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run(ROOT / "README.md")
    assert all(line.holds for line in names["model"].report_.constraints)
    assert names["result"].success
    printed = capsys.readouterr().out
    assert "demographic parity" in printed
    assert "outside the disc" in printed


def test_blocks_are_found_with_their_lines():
    text = "# A\n\n```python\nx = 1\n```\n\n- in a list:\n\n  ```python\n  y\n  ```\n\n```sh\nls\n```\n"
    assert [(b.language, b.line) for b in blocks(text)] == [
        ("python", 4),
        ("python", 10),
        ("sh", 14),
    ]
    assert "x = 1" not in prose(text)


def test_every_block_says_what_it_is():
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            known = ("python", NOT_RUN, "sh", "text", "toml", "bibtex")
            assert block.language in known, f"{named(page)}, line {block.line - 1}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_that_are_there(page):
    text = prose(page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_that_are_named_are_there(page):
    """Whole paths, or the end of one; `my_...` is what a reader is to write."""
    there = [f"/{named(path)}" for path in ROOT.rglob("*") if path.suffix]
    spoken = re.findall(
        r"`([\w./-]+\.(?:py|md|toml|txt|yml|cff))`", page.read_text(encoding="utf-8")
    )
    for name in spoken:
        assert "my_" in name or any(path.endswith(f"/{name}") for path in there), name


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"])
def test_names_in_code_are_there(name):
    """Classes, and names of several words; `my_...` is what a reader is to write."""
    spoken = [p for folder in ("src", "tests", "tools") for p in (ROOT / folder).rglob("*.py")]
    spoken += [ROOT / "pyproject.toml", ROOT / ".github" / "pull_request_template.md"]
    words = {word for path in spoken for word in re.findall(r"\w+", path.read_text("utf-8"))}
    words |= {path.stem for path in spoken} | set(dir(builtins))
    text = prose((ROOT / name).read_text(encoding="utf-8"))
    code = " ".join(re.findall(r"`([^`]+)`", text)).replace("s_row", "")
    names = set(re.findall(r"\b(?:[A-Z]\w*[a-z]\w*|_?[a-z]\w*_\w*)\b", code))
    assert len(names) > 15
    assert {name for name in names - words if "my_" not in name} == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_exist(page):
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"test", "demo"} <= targets
    assert set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.MULTILINE)) <= targets
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"python -m equipoise ([a-z]+)", text)) <= commands
    for script in re.findall(r"python (?:-m pytest )?((?:src|tests|tools|examples)/\S+)", text):
        assert (ROOT / script.rstrip("`.,;")).exists(), script


def test_docstrings_are_tested_with_the_rest(pytestconfig):
    assert pytestconfig.getoption("doctestmodules")
    assert "src" in pytestconfig.getini("testpaths")
