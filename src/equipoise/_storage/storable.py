"""Which types a checkpoint may hold: data of the library, and of the module of a user's own solver."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from equipoise.solvers import Solver

LIBRARY = "equipoise."
NUMBERS = (bool, int, float, complex, np.generic)
Types = dict[str, type]


def name_of(kind: type) -> str:
    """Return the name under which a type is stored."""
    return f"{kind.__module__}.{kind.__qualname__}"


def storable_types(solver: Solver | None = None) -> Types:
    """Return the types that a file may name, by their names: dataclasses and enumerations, all loaded.

    Those of the library and, for a solver from elsewhere, those in its module, the ``State`` of its
    ``Solver[State]``, and what the annotations of their fields name. A name that is not among them
    is refused; nothing is ever imported because a file names it.
    """
    found: Types = {}
    for module in [name for name in sys.modules if name.startswith(LIBRARY)]:
        for kind in _defined_in(module):
            if kind.__module__ == module:
                found[name_of(kind)] = kind
    if solver is not None:
        for kind in _types_around(solver):
            _add(kind, found)
    return found


def fits(kind: type, values: dict[str, Any]) -> bool:
    """Whether the values are of the sorts that the annotations of a type of the library name."""
    hints = _hints(kind) if kind.__module__.startswith(LIBRARY) else {}
    return all(_suits(value, hints.get(name, Any)) for name, value in values.items())


def _suits(value: Any, hint: Any) -> bool:
    """Whether a value is of the sort of an annotation: any number for a number, any array for an array."""
    origin = get_origin(hint) or hint
    if origin in (Union, types.UnionType):
        return any(_suits(value, option) for option in get_args(hint))
    if origin is type(None):
        return value is None
    if origin in (bool, int, float):
        return isinstance(value, NUMBERS) or getattr(value, "ndim", None) == 0
    if origin is np.ndarray:
        return hasattr(value, "shape") and not isinstance(value, np.generic)
    if origin in (str, list, tuple, dict):
        parts = get_args(hint)
        alike = (origin is list and parts) or (origin is tuple and parts[1:] == (...,))
        return isinstance(value, origin) and (not alike or all(_suits(v, parts[0]) for v in value))
    if isinstance(origin, type) and (is_dataclass(origin) or issubclass(origin, Enum)):
        return isinstance(value, origin)
    return True


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except (NameError, TypeError):  # names that exist for type checkers only
        return {}


def _types_around(solver: Any) -> Iterator[type]:
    """Return the types of a solver's own module, and of the solvers inside it."""
    for kind in type(solver).__mro__:
        if not kind.__module__.startswith(LIBRARY):
            yield from _defined_in(kind.__module__)
        for base in getattr(kind, "__orig_bases__", ()):
            yield from (part for part in get_args(base) if isinstance(part, type))
    for part in fields(solver) if is_dataclass(solver) else ():
        if isinstance(inner := getattr(solver, part.name), Solver):
            yield from _types_around(inner)


def _defined_in(module: str) -> list[type]:
    names = vars(sys.modules[module]) if module in sys.modules else {}
    return [kind for kind in list(names.values()) if _is_storable(kind)]


def _is_storable(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum))


def _add(kind: Any, found: Types) -> None:
    """Add a type, and those that the annotations of its fields name."""
    if not _is_storable(kind) or name_of(kind) in found:
        for part in get_args(kind):
            _add(part, found)
        return
    found[name_of(kind)] = kind
    for hint in _hints(kind).values():
        _add(hint, found)
