"""Constants of a theorem that leave the range of floating point are an error of what they are made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from equipoise import _check

P = ParamSpec("P")
T = TypeVar("T")


def in_range(theory: Callable[P, T]) -> Callable[P, T]:
    """Return the function, with a message that names its parameters where numbers overflow or vanish."""
    owner = theory.__name__
    listed = ", ".join(f"`{name}`" for name in inspect.signature(theory).parameters)

    @wraps(theory)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return theory(*args, **kwargs)
        except (OverflowError, ZeroDivisionError, _check.InputError) as error:
            if isinstance(error, _check.InputError) and error.owner == owner:
                raise
        reason = (
            f"{listed} must be of a size that keeps the constants in the range of floating point."
        )
        raise _check.InputError(owner, reason)

    return checked
