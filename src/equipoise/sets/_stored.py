"""Arrays that a set keeps: private copies that nobody can write to."""

from __future__ import annotations

import numpy as np

from equipoise._array import Array, like


def stored(values: np.ndarray) -> np.ndarray:
    """Return a read-only copy."""
    copy = np.array(values)
    copy.flags.writeable = False
    return copy


def recalled(values: np.ndarray, x: Array) -> Array:
    """Return a stored array in the kind, precision and place of `x`."""
    # Tensors would share the memory, and PyTorch warns of read-only memory.
    return like(values if isinstance(x, np.ndarray) else values.copy(), x)
