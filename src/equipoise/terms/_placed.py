"""Fixed host arrays, placed beside the scores when they are tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise._array import Array, namespace


class Placed:
    """A constant that `at` returns as a tensor on the device of the scores, copied there once."""

    def __init__(self, make: Callable[[], np.ndarray]) -> None:
        self._make = make
        self._copies: dict[Any, Array] = {}

    def at(self, scores: Array) -> Array:
        """Return the constant as a tensor of the dtype and on the device of `scores`."""
        key = (str(scores.device), str(scores.dtype))
        if key not in self._copies:
            self._copies[key] = namespace(scores).asarray(
                self._make(), dtype=scores.dtype, device=scores.device
            )
        return self._copies[key]
