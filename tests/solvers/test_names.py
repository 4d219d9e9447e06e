"""Names: every class has its own, and every work cited is listed."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import equipoise

PACKAGE = Path(equipoise.__file__).parent
ROOT = Path(__file__).parents[2]
MINE = ("solvers", "certificate")
SHARED = {"State", "Outer"}  # each solver has its own
CITED = re.compile(r"[A-Z][\w'-]+(?:, [A-Z][\w'-]+)*(?: & [A-Z][\w' -]*?[a-z])? (?:19|20)\d\d\b")


def test_a_class_name_means_one_class():
    where = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                where[node.name].add(path.relative_to(PACKAGE).as_posix())
    for name, paths in where.items():
        if any(path.startswith(MINE) for path in paths):
            assert len(paths) == 1, f"{name}: {sorted(paths)}"


def test_every_work_cited_is_listed():
    listed = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    paths = [path for folder in MINE for path in (PACKAGE / folder).rglob("*.py")]
    cited = set()
    for path in paths:
        text = " ".join(path.read_text(encoding="utf-8").split())
        cited |= {key.removeprefix("In ") for key in CITED.findall(text)}
    assert len(cited) > 25
    for key in cited:
        assert f"| {key} |" in listed, key
    assert not re.search(r"\bP00\d\b", "".join(path.read_text() for path in paths))
