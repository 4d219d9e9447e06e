"""Names: each means one thing, every constant says what it is, and every work cited is listed."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import equipoise

PACKAGE = Path(equipoise.__file__).parent
ROOT = Path(__file__).parents[2]
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
SHARED = {"State", "Outer", "T", "P"}  # each solver has its own, and type variables mean nothing
CITED = re.compile(r"[A-Z][\w'-]+(?:, [A-Z][\w'-]+)*(?: & [A-Z][\w' -]*?[a-z])? (?:19|20)\d\d\b")


def names_of(text):
    """The functions, classes and types that a module makes for others; not its own, nor constants."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names = [node.name]
        else:
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            given = [target.id for target in targets if isinstance(target, ast.Name)]
            names = [name for name in given if not name.isupper()]
        yield from (name for name in names if not name.startswith("_") and name not in SHARED)


def test_a_name_means_one_thing():
    where = defaultdict(list)
    for path, text in SOURCES.items():
        for name in names_of(text):
            where[name].append(path.relative_to(PACKAGE).as_posix())
    assert len(where) > 800
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_functions_classes_and_types_are_names():
    text = "A = 1\nPair = tuple[int, int]\n_own = 2\nclass B: pass\ndef c(): d = 3\nK: int = 4\n"
    assert list(names_of(text)) == ["Pair", "B", "c"]


def constants(text):
    """The names in capitals that a module gives to numbers, and whether a comment explains them."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign):
            continue
        targets = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets
        parts = list(ast.walk(node.value))
        values = [part.value for part in parts if isinstance(part, ast.Constant)]
        numbers = any(type(value) in (int, float) for value in values)
        if any(isinstance(part, ast.Lambda) for part in parts):
            continue
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if not numbers or not any(name.isupper() for name in names):
            continue
        first = node.lineno - 1
        while first > 0 and lines[first - 1].strip():  # a comment is for all lines below it
            first -= 1
        around = lines[first : node.end_lineno + 1]
        yield names, any("#" in line or line.startswith('"""') for line in around)


def test_every_number_with_a_name_is_explained():
    found = 0
    for path, text in SOURCES.items():
        for names, explained in constants(text):
            found += 1
            assert explained, f"{path.relative_to(PACKAGE)}: say what {', '.join(names)} means"
    assert found > 100


def test_unexplained_numbers_are_found():
    text = 'A = 1\n\nB = 2  # seen\n\n# seen\nC, D = 3.0, 4\nE = 5\n\nF = 6\n"""Seen."""\n\nG = (7, "x")\n'
    found = {names[0]: explained for names, explained in constants(text)}
    assert found == {"A": False, "B": True, "C": True, "E": True, "F": True, "G": False}


def test_every_work_cited_is_listed():
    listed = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    cited = set()
    for text in SOURCES.values():
        cited |= {key.removeprefix("In ") for key in CITED.findall(" ".join(text.split()))}
    assert len(cited) > 25
    for key in cited:
        assert f"| {key} |" in listed, f"list {key} in docs/references.md"
    assert not any(re.search(r"\bP00\d\b", text) for text in SOURCES.values())


CONTRACTS = {"Functional", "Model", "RowSums", "ScoreSum", "Table"}


def kinds_asked_for(texts):
    """The classes under the contracts, and the lines that ask of which of these classes something is."""
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    kinds, before = set(), None
    while kinds != before:
        before = set(kinds)
        kinds = {name for name, own in bases.items() if own & (CONTRACTS | before)}
    asked = [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("isinstance", "issubclass")
        and kinds & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    ]
    return kinds, asked


def test_a_new_kind_is_one_new_class():
    kinds, asked = kinds_asked_for(SOURCES.values())
    assert {"JoinedSums", "Rates", "Ratio", "MemoryTable", "Blocks", "LinearModel"} <= kinds
    assert asked == []


def test_questions_of_kind_are_found():
    text = "class A(ScoreSum): pass\nclass B(A): pass\nisinstance(x, int | B)\nisinstance(x, int)\n"
    assert kinds_asked_for([text]) == ({"A", "B"}, ["isinstance(x, int | B)"])


def private_detours(owner, text):
    """The public names that a package takes from a private module of another package."""
    for node in ast.walk(ast.parse(text)):
        package, _, module = (
            (getattr(node, "module", None) or "").removeprefix("equipoise.").partition(".")
        )
        if isinstance(node, ast.ImportFrom) and package != owner and module.startswith("_"):
            public = getattr(import_module(f"equipoise.{package}"), "__all__", ())
            yield from (name.name for name in node.names if name.name in public)


def test_public_names_are_taken_from_their_packages():
    for path, text in SOURCES.items():
        place = path.relative_to(PACKAGE)
        assert list(private_detours(place.parts[0], text)) == [], place


def test_detours_are_found():
    text = "from equipoise.sets._box import Box, _own\nfrom equipoise.sets import L2Ball\n"
    assert list(private_detours("terms", text)) == ["Box"]
    assert list(private_detours("sets", text)) == []
