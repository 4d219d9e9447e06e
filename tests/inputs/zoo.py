"""Values that are wrong for almost every parameter, and which of them a kind of parameter may take."""

import datetime
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


class Anything:
    """Made of anything, of no use for anything."""

    def __init__(self, *_: Any) -> None:
        pass


ZOO: dict[str, Any] = {
    "None": None,
    "True": True,
    "text": "a",
    "number as text": "0.1",
    "bytes": b"x",
    "object": object(),
    "class": Anything,
    "function": lambda *_: 0.0,
    "NaN": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "negative": -1,
    "half": 0.5,
    "huge": 1e308,
    "huge integer": 10**400,
    "complex": 1 + 1j,
    "date": datetime.date(2020, 1, 2),
    "NumPy date": np.datetime64("2020-01-02"),
    "empty list": [],
    "empty array": np.empty(0),
    "nested": [[[1.0]]],
    "ragged": [[1.0, 2.0], [3.0]],
    "list of None": [None, None],
    "list of text": ["a", "0.1"],
    "array with NaN": np.array([np.nan, 1.0]),
    "array of complex": np.array([1j, 2.0]),
    "array of objects": np.array([object(), object()]),
    "long array": np.zeros(97),
    "dict": {"a": object()},
}
"""Every wrong value, by what tests call it."""


@dataclass(frozen=True)
class Arg:
    """A valid value of a parameter, and the members of the zoo that are valid as well."""

    value: Any
    valid: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()  # what else messages may call the parameter


def told_as(arg: Arg, *words: str) -> Arg:
    """The same, which messages may call by another word; the place where it is used says why."""
    return replace(arg, words=words)


def kind(*valid: str):
    """Return a function that makes arguments of a kind, for which these members are valid too."""
    return lambda value: Arg(value, frozenset(valid))


def optional(arg: Arg) -> Arg:
    """The same, or None."""
    return replace(arg, valid=arg.valid | {"None"})


def also(arg: Arg, *valid: str) -> Arg:
    """The same, and some more members of the zoo; the place where it is used says why."""
    return replace(arg, valid=arg.valid | set(valid))


strict = kind()  # nothing else will do: an object of the library, a choice, a vector of a length
count = kind()
flag = kind("True")
share = kind("half")  # between 0 and 1
positive = kind("half", "huge")
non_negative = positive
real = kind("half", "huge", "negative")
extended = kind("half", "huge", "negative", "inf", "-inf")  # any number at all
function = kind("function", "class")  # a class can be called
text = kind("text", "number as text")
label = kind(  # a class or a group may be any plain value that can be compared
    *("True", "text", "number as text", "bytes", "object", "class", "function", "inf", "-inf"),
    *("negative", "half", "huge", "huge integer", "complex", "date", "NumPy date"),
)
