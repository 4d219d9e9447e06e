"""The package as a stranger meets it: imports, names, command line, documentation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).parents[2]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_import_loads_no_heavy_package():
    heavy = ("torch", "jax", "pandas", "matplotlib", "sklearn", "pooch", "rich", "typer", "daqp")
    code = f"import sys, equipoise; print([m for m in {heavy} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_names_that_are_imported_on_first_use_are_listed_before():
    code = "import sys, equipoise; print(*dir(equipoise), 'sklearn' in sys.modules)"
    *names, loaded = run(code).split()
    assert set(equipoise.__all__) <= set(names)
    assert not {"importlib", "Any", "annotations"} & set(names)
    assert loaded == "False"


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = equipoise.nonsense


def test_readme_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        run(block)


def test_doctests():
    import doctest
    import importlib

    names = (
        "equipoise.certificate.examiner",
        "equipoise.run.solve",
        "equipoise.problems.function",
        "equipoise.sets.l2_ball",
        "equipoise.terms.rates",
        "equipoise.models.linear",
        "equipoise.estimators.classifier",
        "equipoise.estimators.neyman_pearson",
    )
    for name in names:
        module = importlib.import_module(name)
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.attempted > 0, name
        assert result.failed == 0, name


def test_the_project_speaks_only_of_itself():
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(root|work|home)/", text), path
