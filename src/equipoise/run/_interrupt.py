"""Ctrl-C is never lost: it is noted when it comes, whatever becomes of the exception."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interrupts:
    """While entered, call `note` at Ctrl-C, and then raise `KeyboardInterrupt` as Python does.

    The exception alone can get lost: in a function of the user with a bare ``except``, in a callback
    from C, in a finaliser. Handlers that others have installed, and other threads, are left alone.
    """

    def __init__(self, note: Callable[[], None]) -> None:
        self._note = note
        self._previous: Any = None

    def __enter__(self) -> None:
        current = signal.getsignal(signal.SIGINT)
        ours = isinstance(getattr(current, "__self__", None), Interrupts)
        main = threading.current_thread() is threading.main_thread()
        if main and (ours or current is signal.default_int_handler):
            self._previous = current
            signal.signal(signal.SIGINT, self._handle)

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._note()
        self._previous(number, frame)
