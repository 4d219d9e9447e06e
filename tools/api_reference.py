"""Write `docs/api.md`: every public name with the first sentence of its docstring.

`make pages` writes it, as does `python tools/api_reference.py`; `--check` only says whether it is fresh.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import equipoise

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
REFRESH = "make pages"
FIRST = (
    "estimators",
    "metrics",
    "baselines",
    "constraints",
    "datasets",
    "run",
    "certificate",
    "problems",
    "solvers",
)
INTRODUCTION = f"""# API reference

What may be imported from Equipoise is listed here and in `__all__` of each package; nothing else is
promised. The page is computed from the docstrings: `{REFRESH}`.
"""


def public_packages() -> list[ModuleType]:
    """Return `equipoise` and its packages that have `__all__`, those users need first in front."""
    names = [info.name for info in pkgutil.iter_modules(equipoise.__path__) if info.ispkg]
    names = [name for name in names if not name.startswith("_")]
    names.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    packages = [importlib.import_module(f"equipoise.{name}") for name in names]
    return [equipoise, *(package for package in packages if hasattr(package, "__all__"))]


def documentation(package: ModuleType, name: str) -> str | None:
    """Return the docstring of a public name; None where nobody wrote one."""
    value = getattr(package, name)
    if inspect.isclass(value):
        return inspect.cleandoc(value.__doc__) if _written(value) else None
    if inspect.isroutine(value) or inspect.ismodule(value):
        return inspect.getdoc(value)
    return _below_assignment(package, name)


def summary(text: str) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(text.strip().split("\n\n")[0].split())


def _written(kind: type) -> bool:
    """Whether a class has a docstring of its own, not one that `dataclass` made of its fields."""
    text = kind.__dict__.get("__doc__")
    return bool(text) and not text.startswith(f"{kind.__name__}(")


def _below_assignment(module: ModuleType, name: str) -> str | None:
    """Return the string below the assignment of a constant, in the module that assigns it."""
    source = inspect.getsource(module)
    body = ast.parse(source).body
    for statement, following in zip(body, [*body[1:], None]):
        if name in _assigned(statement):
            return _text(following)
        if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            source_module = importlib.import_module(statement.module)
            for alias in statement.names:
                wanted = name if alias.name == "*" else alias.name
                listed = alias.name == "*" and hasattr(source_module, name)
                if listed or (alias.asname or alias.name) == name:
                    return _below_assignment(source_module, wanted)
    return None


def _assigned(statement: ast.stmt) -> list[str]:
    targets: list[Any] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _text(statement: ast.stmt | None) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return inspect.cleandoc(value) if isinstance(value, str) else None
    return None


def _section(package: ModuleType) -> Iterator[str]:
    yield f"## {package.__name__}"
    yield ""
    yield summary(package.__doc__ or "")
    yield ""
    yield "| name | what it is |"
    yield "| --- | --- |"
    for name in package.__all__:
        text = summary(documentation(package, name) or "").replace("|", "\\|")
        yield f"| `{name}` | {text} |"
    yield ""


def page() -> str:
    """Return the page as it should be."""
    lines = [line for package in public_packages() for line in _section(package)]
    return "\n".join([INTRODUCTION, *lines])


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it is stale")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.name} is stale; refresh it by: {REFRESH}")


if __name__ == "__main__":
    main()
