"""The array namespace: NumPy arrays and array-API tensors share one code path."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy array or an array-API tensor (PyTorch); vectors have shape ``(d,)``."""


def namespace(x: Array) -> Any:
    """Return the array-API namespace of `x` (NumPy itself for NumPy arrays)."""
    if isinstance(x, np.ndarray | np.generic | float | int):
        return np
    from array_api_compat import array_namespace

    return array_namespace(x)


def dot(x: Array, y: Array) -> float:
    """Return the inner product of two vectors as a float."""
    return float(namespace(x).sum(x * y)) if not isinstance(x, np.ndarray) else float(x @ y)


def norm(x: Array) -> float:
    """Return the Euclidean norm of a vector as a float; squares neither overflow nor vanish."""
    if isinstance(x, np.ndarray):
        return float(np.linalg.norm(x)) if _moderate(x) else _scaled_norm(x)
    return math.sqrt(dot(x, x)) if _moderate(x) else _scaled_norm(x)


def _moderate(x: Array) -> bool:
    """Whether the squares of all entries are safe in the array's own precision."""
    xp = namespace(x)
    if x.shape[0] == 0:
        return True
    largest = float(xp.max(xp.abs(x)))
    bound = 1e18 if x.dtype.itemsize <= 4 else 1e150
    return 1 / bound < largest < bound


def _scaled_norm(x: Array) -> float:
    xp = namespace(x)
    largest = float(xp.max(xp.abs(x)))
    if not math.isfinite(largest) or largest == 0.0:
        return largest
    return largest * math.sqrt(dot(x / largest, x / largest))


def all_finite(x: Array) -> bool:
    """Whether every entry of `x` is finite."""
    xp = namespace(x)
    return bool(xp.all(xp.isfinite(x)))


def like(values: Any, x: Array) -> Array:
    """Return `values` as an array of the same kind, dtype and device as `x`."""
    if isinstance(x, np.ndarray):
        return np.asarray(values, dtype=x.dtype)
    return namespace(x).asarray(values, dtype=x.dtype, device=x.device)


def to_numpy(x: Array) -> np.ndarray:
    """Return `x` as a float64 NumPy array on the host."""
    if isinstance(x, np.ndarray):
        return x.astype(np.float64, copy=False)
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    return np.asarray(x, dtype=np.float64)
