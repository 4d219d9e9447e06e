"""The package as a stranger meets it: imports, names, command line, documentation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise.cli import app
from equipoise.compare import COLUMNS, compare_methods
from equipoise.problems import REFERENCES
from equipoise.solvers import SOLVERS

ROOT = Path(__file__).parents[2]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_import_loads_no_heavy_package():
    heavy = ("torch", "jax", "pandas", "matplotlib", "sklearn", "pooch", "rich", "typer", "daqp")
    code = f"import sys, equipoise; print([m for m in {heavy} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_public_names_exist():
    for name in equipoise.__all__:
        assert getattr(equipoise, name) is not None
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
        "equipoise.certificate._examiner",
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


def test_compare_on_the_command_line():
    runner = CliRunner()
    answer = runner.invoke(
        app, ["compare", "--method", "augmented_newton", "--problem", "convex", "--csv"]
    )
    assert answer.exit_code == 0
    header, row = answer.output.strip().splitlines()
    cells = dict(zip(header.split(","), row.split(",")))
    assert cells["status"] == "converged"
    assert float(cells["objective"]) == pytest.approx(1.0, abs=1e-4)
    table = runner.invoke(app, ["compare", "--method", "switching", "--problem", "convex"])
    assert "switching" in table.output
    wrong = runner.invoke(app, ["compare", "--method", "newton"])
    assert wrong.exit_code != 0
    assert "is not a method" in wrong.output
    assert "iqrc" in runner.invoke(app, ["methods"]).output


def test_compare_covers_every_method_and_says_what_does_not_apply():
    rows = list(compare_methods(problems=["simple"], max_steps=50))
    assert [row[1] for row in rows] == list(SOLVERS)
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert {row[1]: row[2] for row in rows}["imela"] == "not for it"
    assert set(REFERENCES) >= {"simple", "active", "bilinear", "convex", "auc"}


def test_the_project_speaks_only_of_itself():
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"/(root|work|home)/", text), path
