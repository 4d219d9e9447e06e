"""Threads where they help: BLAS gets one, unless products with the data are faster with more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from equipoise._array import quiet

# More than one thread is tried for dense matrices with at least this many entries. Chosen:
# smaller products lose more by sharing than they win.
LARGE_ENTRIES = 1 << 23

# More threads are used where they take at most this share of the time of one. Chosen.
FASTER = 0.9


@contextmanager
def suitable_threads(rows: Any) -> Iterator[None]:
    """Let BLAS use as many threads as suit products with these rows; as before afterwards.

    `rows` is a matrix, or a table in memory.

    Sparse products run in one thread anyway, and small ones lose more by sharing than they win. On
    machines that lend a process less than their cores, as containers do, threads wait for each other
    and are several times slower: so for large dense data both are tried.
    """
    X = getattr(rows, "X", rows)
    if isinstance(X, np.ndarray) and X.size >= LARGE_ENTRIES and _more_are_faster(X):
        yield
        return
    with _ONE:
        yield


class _OneThread:
    """One thread for BLAS while anyone is inside; the number belongs to the whole process."""

    def __init__(self) -> None:
        self._lock, self._inside, self._limit = Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit.enter_context(_controller().limit(limits=1, user_api="blas"))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.close()


_ONE = _OneThread()


def _more_are_faster(X: np.ndarray) -> bool:
    if all(library["num_threads"] == 1 for library in _controller().select(user_api="blas").info()):
        return False
    rows = X[: max(1, LARGE_ENTRIES // X.shape[1])]
    many = _seconds(rows)
    with _controller().limit(limits=1, user_api="blas"):
        return many <= FASTER * _seconds(rows)


@quiet
def _seconds(X: np.ndarray) -> float:
    """Return the time of a product and a transposed one, the better of two."""
    v, times = np.ones(X.shape[1], dtype=X.dtype), []
    for _ in range(2):
        started = time.perf_counter()
        X.T @ (X @ v)
        times.append(time.perf_counter() - started)
    return min(times)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
