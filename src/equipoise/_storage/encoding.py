"""Values as text and arrays, and back: nothing that is read is ever called or imported.

docs/checkpoints.md describes the form. A value of a kind that is not listed there is not stored.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from equipoise._array import Array, is_tensor, namespace, on_host
from equipoise._storage.storable import Types, fits, name_of

PLAIN = (type(None), bool, int, str)
NUMERIC_DTYPE = re.compile(r"[<>|][biufc]\d{1,2}")  # the dtypes stored: numbers, never objects
TEXT_DTYPE = re.compile(r"[<>]U(\d+)")  # the dtypes of texts
LABELS = (str, int, float, bool, np.generic)  # what an array of objects may hold
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

# Letters of a label, at the most; and of all labels of a long array, for each one that the file holds. A file
# that asks for more wants memory, not labels. Chosen.
MAX_LETTERS, MAX_SPARE, LONG = 10_000, 100, 1_000_000


Place = tuple[tuple[str, Any], ...]
"""The way from the contents of a file to a value inside: steps to a "field" or to an "item", with its key."""


class NotStorableError(TypeError):
    """A value that a file cannot hold.

    Attributes
    ----------
    place : Place
        Where it is in the contents.
    reason : str
        What is wrong with it, as a sentence without its place.
    """

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(f"contents{shown_place(place)} {reason}")
        self.place, self.reason = place, reason


class UnreadableError(ValueError):
    """A tree that is no value."""


def shown_place(place: Place) -> str:
    """Return a place as Python would write it."""
    return "".join(f".{key}" if step == "field" else f"[{key!r}]" for step, key in place)


@dataclass
class Encoder:
    """Makes a tree of JSON values; arrays are collected beside it, each once."""

    types: Types
    arrays: list[np.ndarray] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)  # of arrays by identity
    _kept: list[Any] = field(default_factory=list)  # so that no identity is used twice

    def encode(self, value: Any, place: Place = ()) -> Any:
        """Return the tree of a value; `place` tells messages where it is."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is np.str_:
            return str(value)
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind in (list, tuple):
            return {
                kind.__name__: [self.encode(v, (*place, ("item", i))) for i, v in enumerate(value)]
            }
        if kind is dict:
            pairs = [
                [self.encode(k, place), self.encode(v, (*place, ("item", k)))]
                for k, v in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, np.generic):
            return {"scalar": self._stored(value, np.asarray(value), place)}
        if kind is np.ndarray and value.dtype.kind in "UO" and value.ndim == 1:
            return self._labels(value, place)
        if kind is np.ndarray:
            return {"array": self._stored(value, value, place)}
        if hasattr(value, "__array_namespace__") or is_tensor(value):
            return {"tensor": self._stored(value, np.asarray(on_host(value)), place)}
        if self.types.get(name_of(kind)) is not kind:
            rule = "a file holds numbers, texts, arrays, lists, dicts and dataclasses"
            own = "those of the library, or of the module of the solver"
            raise NotStorableError(place, f"is a {kind.__name__}; {rule}: {own}")
        if isinstance(value, Enum):
            return {"enum": name_of(kind), "name": value.name}
        return {"object": name_of(kind), "fields": self._fields(value, place)}

    def _fields(self, value: Any, place: Place) -> dict[str, Any]:
        names = [part.name for part in fields(value)]
        for name in getattr(value, "__dict__", {}):
            if name not in names and not isinstance(
                getattr(type(value), name, None), cached_property
            ):
                raise NotStorableError((*place, ("field", name)), "is not a field of its dataclass")
        return {
            name: self.encode(getattr(value, name), (*place, ("field", name))) for name in names
        }

    def _labels(self, value: np.ndarray, place: Place) -> dict[str, Any]:
        listed = value.tolist()
        if not all(isinstance(label, LABELS) for label in listed):
            raise NotStorableError(place, "holds objects that are no labels")
        dtype = value.dtype.str if value.dtype.kind == "U" else "O"
        return {"labels": [self.encode(label, place) for label in listed], "dtype": dtype}

    def _stored(self, value: Any, array: np.ndarray, place: Place) -> int:
        """Return the place of an array; one that is met again keeps its place, and is one object again."""
        if not NUMERIC_DTYPE.fullmatch(array.dtype.str):
            reason = f"has the dtype {array.dtype}; only numbers and labels are stored"
            raise NotStorableError(place, reason)
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays)
            self.arrays.append(array)
            self._kept.append(value)
        return self._places[id(value)]


@dataclass
class Decoder:
    """Makes values of a tree and its arrays; tensors become such as `like`."""

    types: Types
    arrays: list[np.ndarray]
    like: Array | None = None
    _tensors: dict[int, Array] = field(default_factory=dict)

    def decode(self, tree: Any) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, PLAIN) or (isinstance(tree, float) and math.isfinite(tree)):
            return tree
        match tree:
            case {"object": str(name), "fields": dict(parts)} if len(tree) == 2:
                return self._object(name, {key: self.decode(part) for key, part in parts.items()})
            case {"enum": str(name), "name": str(member)} if len(tree) == 2:
                return self._type(name, Enum)[member]
            case {"labels": list(values), "dtype": str(dtype)} if len(tree) == 2:
                return _labels_from([self.decode(value) for value in values], dtype)
        if not isinstance(tree, dict) or len(tree) != 1:
            raise UnreadableError("it holds something that is no value")
        ((sort, content),) = tree.items()
        match sort:
            case "float":
                return NOT_FINITE[content]
            case "list" | "tuple" if isinstance(content, list):
                items = [self.decode(item) for item in content]
                return items if sort == "list" else tuple(items)
            case "dict" if isinstance(content, list):
                return {self.decode(key): self.decode(value) for key, value in content}
            case "array":
                return self._array(content)
            case "scalar" if self._array(content).ndim == 0:
                return self._array(content)[()]
            case "tensor":
                return self._tensor(content)
        raise UnreadableError(f"it holds a {sort!r}, which is no sort of value")

    def _object(self, name: str, parts: dict[str, Any]) -> Any:
        """Return a dataclass with these fields; its own code is not run."""
        kind = self._type(name, object)
        known = {part.name for part in fields(kind)} if is_dataclass(kind) else set()
        if not known or parts.keys() != known or not fits(kind, parts):
            raise UnreadableError(f"it holds a {name} with other fields than that has")
        made = object.__new__(kind)
        for key, value in parts.items():
            object.__setattr__(made, key, value)
        return made

    def _type(self, name: str, base: type) -> Any:
        kind = self.types.get(name)
        if kind is None or not issubclass(kind, base):
            raise UnreadableError(f"it holds a {name[:80]}, which is not known here")
        return kind

    def _array(self, place: Any) -> np.ndarray:
        if type(place) is not int or not 0 <= place < len(self.arrays):
            raise UnreadableError("it names an array that it does not hold")
        return self.arrays[place]

    def _tensor(self, place: Any) -> Array:
        if self.like is None or isinstance(self.like, np.ndarray):
            raise UnreadableError("it holds tensors, and the starting point is none")
        if place not in self._tensors:
            xp, array = namespace(self.like), self._array(place)
            self._tensors[place] = xp.asarray(array, device=self.like.device)
        return self._tensors[place]


def _labels_from(values: list[Any], dtype: str) -> np.ndarray:
    """Return an array of labels; raise where they are none, or of a type that labels do not have."""
    if not all(isinstance(label, LABELS) for label in values):
        raise UnreadableError("it holds labels that are no labels")
    if dtype == "O":
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made
    letters = TEXT_DTYPE.fullmatch(dtype)
    texts = all(isinstance(label, str) for label in values)
    if letters is None or not texts or not _are_held(values, int(letters[1])):
        raise UnreadableError("it holds labels of a type that labels do not have")
    return np.array(values, dtype=dtype)


def _are_held(values: list[str], letters: int) -> bool:
    """Whether labels of so many letters take about the memory that the file takes."""
    held = len(values) + sum(map(len, values))
    return letters <= MAX_LETTERS and letters * len(values) <= max(LONG, MAX_SPARE * held)
