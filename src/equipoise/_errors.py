"""What is raised where input cannot be used, and how its value is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_CHARACTERS = 200  # characters of a value in a message; chosen: two lines


class InputError(ValueError):
    """Input that cannot be used.

    Attributes
    ----------
    owner : str
        The class or function it was given to.
    reason : str
        What is wrong with it, as a sentence without the owner.
    parameter : str or None
        The parameter, where it is one.
    """

    def __init__(self, owner: str, reason: str, parameter: str | None = None) -> None:
        super().__init__(owner, reason, parameter)
        self.owner, self.reason, self.parameter = owner, reason, parameter

    def __str__(self) -> str:
        return f"{self.owner}: {self.reason}"


class WrongKindError(InputError, TypeError):
    """An object of the wrong kind, such as a number in the place of a problem."""


class MissingRowsError(InputError):
    """Input without the rows that are spoken of, or with too few; with more rows it can be used."""


class NonFiniteError(ArithmeticError):
    """A function returned NaN or infinity; the message names it.

    Attributes
    ----------
    unbounded : bool
        Whether the objective is minus infinity.
    """

    unbounded = False

    def __init__(self, message: str, unbounded: bool = False) -> None:
        super().__init__(message)
        self.unbounded = unbounded


class NonFiniteInputError(InputError, NonFiniteError):
    """An array that holds NaN or infinity; from a user an input error, inside a run its end."""

    def __init__(self, owner: str, reason: str, parameter: str | None = None) -> None:
        InputError.__init__(self, owner, reason, parameter)


def fail(owner: str, parameter: str, rule: str, value: Any) -> NoReturn:
    """Raise the library's one form of error for a parameter's value."""
    raise InputError(owner, f"`{parameter}` {rule}, got {shown(value)}.", parameter)


def missing(owner: str, parameter: str, rule: str, value: Any) -> NoReturn:
    """Raise for want of rows, in the form of `fail`."""
    raise MissingRowsError(owner, f"`{parameter}` {rule}, got {shown(value)}.", parameter)


def owned(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function whose messages name it, and not what it is made of."""

    @wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except InputError as error:
            raise type(error)(function.__name__, error.reason, error.parameter) from None

    return named


def shown(value: Any) -> str:
    """Return a value as messages show it: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # an integer of thousands of digits, or somebody's class
        return f"a {type(value).__name__}"
    if "\n" in text:
        text = " ".join(text.split())
    if len(text) <= MAX_CHARACTERS:
        return text
    shape = getattr(value, "shape", None)
    of = f" of shape {shape}" if isinstance(shape, tuple) else ""
    return f"{text[:MAX_CHARACTERS]}... (a {type(value).__name__}{of})"
