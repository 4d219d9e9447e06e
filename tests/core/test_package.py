"""The package as a stranger meets it: what an import loads, and shows."""

import subprocess
import sys

import pytest

import equipoise


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
