"""The tool that changes the source in small ways: which changes it makes, and what it leaves alone."""

import ast
import importlib
import json
import sys
from pathlib import Path

import pytest

from tools.mutate import AREAS, EQUIVALENT, sample
from tools.mutations import functions, mutations
from tools.swapped import functions_by_file, swap
from tools.touched import TOLD, _tell

ROOT = Path(__file__).parents[2]


def changes(body):
    """What becomes of the body of a function, one line each."""
    source = f"LIMIT = 3\n\n\ndef f(x: int = 7) -> int:\n    {body}\n"
    return {m.source.splitlines()[4].strip() for m in mutations("f.py", source)}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x < y", {"return (x <= y)", "return (x > y)"}),
        ("return x < LIMIT", {"return (x > LIMIT)"}),
        ("return x + y", {"return (x - y)"}),
        ("return -x", {"return (x)"}),
        ("return x and y", {"return (x or y)"}),
        ("return x[0]", {"return x[(1)]"}),
        ("return x is True", {"return (x is not True)", "return x is (False)"}),
        ("return min(x, y)", {"return (max(x, y))"}),
        ("return np.minimum(x, y)", {"return (np.maximum(x, y))"}),
        ("x.append(y)", {"pass"}),
        ("x *= y", {"pass"}),
        ("if x: return y", {"pass"}),
        ("return 0.5", {"return (1.0)"}),
        ("return 1e-12", {"return (1e-06)"}),
        ('raise ValueError(f"{x + 1}")', set()),
        ('"""Add 1 + 1."""', set()),
    ],
)
def test_changes(body, expected):
    assert changes(body) == expected


def test_letters_beyond_ascii_do_not_shift_a_change():
    (changed,) = mutations("f.py", "def f(x):\n    return ä + x  # größer\n")
    assert changed.source == "def f(x):\n    return (ä - x)  # größer\n"


def test_a_change_knows_its_function():
    source = "class A:\n    k = field(lambda: 1)\n    def f(self):\n        def g():\n            return 2\n"
    assert [m.function for m in mutations("f.py", source)] == ["A.<lambda>", "A.f"]


def test_what_a_decorator_has_made_tells_the_name_of_the_decorator():
    source = "def f(g):\n    def h(x):\n        'Twice.'\n        return 2 * g(x)\n"
    source += "    return h, lambda x: 3 * g(x)\n"
    tree, called = ast.parse(source), []
    for name, function in functions(tree):
        _tell(function, name)
    module = {TOLD: called.append}
    exec(compile(ast.fix_missing_locations(tree), "f.py", "exec"), module)
    twice, thrice = module["f"](abs)
    assert (called, twice.__doc__) == (["f"], "Twice.")
    assert (twice(-1), thrice(-1), called) == (2, 3, ["f"] * 3)


@pytest.mark.parametrize("area", AREAS)
def test_every_change_can_be_read(area):
    drawn = sample(area, 40, seed=1)
    assert len(drawn) == 40
    for mutation in drawn:
        ast.parse(mutation.source)
    assert drawn == sample(area, 40, seed=1)


def test_changes_that_make_no_difference_have_a_reason_and_are_still_there():
    lines = json.loads(EQUIVALENT.read_text())
    for line in lines:
        assert set(line) == {"key", "reason"}
        path = ROOT / line["key"].partition(" | ")[0]
        known = {m.key for m in mutations(str(path.relative_to(ROOT)), path.read_text())}
        assert line["key"] in known, line["key"]


def test_some_files_alone():
    drawn = sample("solvers", 40, seed=1, files=["conex", "_auto.py"])
    assert len(drawn) == 40
    assert all("conex" in mutation.path or "_auto.py" in mutation.path for mutation in drawn)


SOURCE = """
def f(x):
    return x + 1

class A:
    def f(self, x):
        return (x *
                2)
    def g(self):
        return [self.f(1), f(1)]

again = [f, f]
h = lambda x: x - 1
twins = [lambda: 1 for _ in range(2)]
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "swapped_module.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    functions_by_file.cache_clear()
    yield importlib.import_module("swapped_module")
    del sys.modules["swapped_module"]
    functions_by_file.cache_clear()


@pytest.mark.parametrize(
    ("before", "after", "results"),
    [
        ("x + 1", "x - 1", ([2, 0], 2, 0)),
        ("(x *\n                2)", "(x / 2)", ([0.5, 2], 2, 0)),
        ("x - 1", "x + 1", ([2, 2], 2, 2)),
    ],
)
def test_functions_are_swapped_where_they_are(module, before, after, results):
    """Wherever a function was put, it has the new code; later ones have moved to other lines."""
    path = module.__file__
    changed = compile(SOURCE.replace(before, after), path, "exec", dont_inherit=True)
    assert swap(path, changed)
    assert (module.A().g(), module.again[1](1 if results[0][1] == 2 else 3), module.h(1)) == results


def test_what_is_not_one_function_is_not_swapped(module):
    path = module.__file__
    assert not swap(
        path, compile(SOURCE.replace("lambda: 1", "lambda: 3"), path, "exec", dont_inherit=True)
    )
    assert module.twins[0]() == 1
