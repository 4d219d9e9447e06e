"""Walk a call: put every wrong value in the place of every parameter, and judge what happens."""

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tests.inputs.zoo import ZOO, Arg

OURS = re.compile(r"equipoise[/\\](?!.*site-packages)|sklearn[/\\]utils[/\\]|sklearn[/\\]base")
"""Where a message may come from: the library, and scikit-learn's checks of what estimators are given."""


def faults(name: str, call: Callable[..., Any], arguments: dict[str, Arg]) -> Iterator[str]:
    """Yield a sentence for every wrong value that a call accepts, or refuses without naming it."""
    for parameter, arg in arguments.items():
        for member, wrong in ZOO.items():
            given = {key: other.value for key, other in arguments.items()} | {parameter: wrong}
            fault = judge(call, given, (parameter, *arg.words), member in arg.valid)
            if fault:
                yield f"{name}({parameter}={member}): {fault}"


def judge(
    call: Callable[..., Any], given: dict[str, Any], words: tuple[str, ...], valid: bool
) -> str:
    """Return what is wrong with the way a call takes its arguments; nothing if it is right."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            call(**given)
    except (ValueError, TypeError) as error:
        if valid:
            return f"refused: {error}"
        return unnamed(error, words)
    except ConnectionError:  # the arguments were taken, and the real data can not be had here
        pass
    except Exception as error:
        return f"foreign: {type(error).__name__}: {error}"
    return "" if valid else "silent"


def unnamed(error: Exception, words: tuple[str, ...]) -> str:
    """Return what a message lacks: it must come from a check, and name the parameter."""
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    if not OURS.search(where):
        return f"foreign: {type(error).__name__} of {where}: {error}"
    if not any(names(str(error), word) for word in words):
        return f"unnamed: {error}"
    return ""


def names(message: str, parameter: str) -> bool:
    """Whether a message names a parameter: in backticks, or as scikit-learn does."""
    word = re.escape(parameter)
    return bool(re.search(rf"`[^`]*\b{word}\b[^`]*`|'{word}' parameter", message))
