"""What was computed last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


class Latest:
    """A function's value at the latest point, which is asked for more than once."""

    def __init__(self) -> None:
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def at(self, x: np.ndarray, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return ``function(x)``, computed unless `x` is the latest point."""
        if self._known is None or not np.array_equal(self._known[0], x):
            self._known = x.copy(), function(x)
        return self._known[1]
