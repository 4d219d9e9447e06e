"""What an object holds, as plain data: the same in every process, other for other settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from equipoise._array import is_tensor, on_host
from equipoise._storage.storable import LIBRARY
from equipoise.run._identity import Measured

PLAIN = (type(None), bool, int, float, str)


def content(value: Any, outer: tuple[int, ...] = ()) -> Any:
    """Return what an object holds; of functions, and classes from elsewhere, their code and its data.

    Memory addresses never enter. `outer` are the objects around this one, at which recursion ends.
    """
    if type(value) in PLAIN:
        return value
    if id(value) in outer:
        return "itself"
    inside = (*outer, id(value))
    if type(value) in (list, tuple):
        return [content(item, inside) for item in value]
    if type(value) in (set, frozenset):
        return sorted((content(item, inside) for item in value), key=repr)
    if type(value) is dict:
        return {repr(content(key)): content(item, inside) for key, item in value.items()}
    if isinstance(value, np.generic):
        return content(value.item(), inside)
    if isinstance(value, np.ndarray) or is_tensor(value):
        return _array(value)
    if isinstance(value, FunctionType):
        return _function(value, inside)
    if isinstance(value, MethodType):
        return [content(value.__func__, inside), content(value.__self__, inside)]
    kind = value if isinstance(value, type) else type(value)
    made: dict[str, Any] = {"type": kind.__qualname__}
    if value is not kind:
        known = [part.name for part in fields(kind)] if is_dataclass(kind) else _attributes(value)
        made |= {name: content(getattr(value, name), inside) for name in known}
    if not kind.__module__.startswith(LIBRARY):
        made["methods"] = [content(method, inside) for method in _methods(kind)]
    return made


def _array(value: Any) -> dict[str, Any]:
    floating = value.is_floating_point() if is_tensor(value) else value.dtype.kind == "f"
    if floating:
        return {"shape": list(value.shape), "numbers": Measured.of(value)}
    array = np.asarray(on_host(value))
    return {"shape": list(array.shape), "digest": _digest(array.astype(str).tolist())}


def _function(function: FunctionType, inside: tuple[int, ...]) -> dict[str, Any]:
    """Return the code of a function, and the data and functions of its module that it refers to."""
    code, around = function.__code__, function.__globals__
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    named = [around[name] for name in _names(code) if name in around]
    uses = [v for v in (*cells, *defaults, *named) if _is_data(v, function.__module__)]
    uses = [content(value, inside) for value in uses]
    return {"type": function.__qualname__, "code": _digest(_instructions(code)), "uses": uses}


def _is_data(value: Any, module: str) -> bool:
    """Whether a value that code refers to is a setting: data, or a function beside it."""
    if isinstance(value, FunctionType):
        return value.__module__ == module
    instance = is_dataclass(value) and not isinstance(value, type)
    return instance or type(value) in (*PLAIN, list, tuple, dict, np.ndarray, np.float64)


def _methods(kind: type) -> list[FunctionType]:
    """Return what a class from outside the library does: its methods, without those Python makes."""
    own = [part for part in kind.__mro__ if not part.__module__.startswith((LIBRARY, "builtins"))]
    items = [(name, vars(part)[name]) for part in own for name in sorted(vars(part))]
    kept = [item for name, item in items if not name.startswith("__") or name == "__call__"]
    return [item for item in kept if isinstance(item, FunctionType)]


def _attributes(value: Any) -> list[str]:
    return sorted(getattr(value, "__dict__", ()))


def _instructions(code: CodeType) -> list[Any]:
    constants = [
        _instructions(c) if isinstance(c, CodeType) else _constant(c) for c in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), constants]


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> Iterable[str]:
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return dict.fromkeys([*code.co_names, *inner])


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that is not set yet
        return False


def _digest(value: Any) -> str:
    return blake2b(repr(value).encode(), digest_size=8).hexdigest()
