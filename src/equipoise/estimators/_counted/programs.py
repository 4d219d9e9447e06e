"""Linear and integer programs that Ctrl-C need not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

LOOK_UP = 0.1  # seconds after which the waiting thread sees to signals. Chosen: nobody notices.


def interruptible(program: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return ``program(*arguments, **options)``, computed in another thread.

    Python hands on Ctrl-C only between two of its own instructions, and a program of HiGHS is one of
    them that may take long. While another thread works, this one waits, and waiting can be interrupted; the
    other then ends by itself, at the limits that the program has.
    """
    answers: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(program(*arguments, **options))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():  # a signal that the system hands to the other thread is seen here too
        thread.join(LOOK_UP)
    if errors:
        raise errors[0]
    return answers[0]
