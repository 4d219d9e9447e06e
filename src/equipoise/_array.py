"""The array namespace: NumPy arrays and array-API tensors share one code path."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A NumPy array or an array-API tensor (PyTorch); vectors have shape ``(d,)``."""


# Stands for 0 where something is divided by it. Chosen, near the least float: far below what problems have.
TINY = 1e-300

# Bytes of a tensor that are made double precision at a time. Chosen: many small pieces would be slower on an
# accelerator.
CONVERTED_BYTES = 1 << 27

NUMPY = (np.ndarray, np.generic, float, int)

quiet = np.errstate(invalid="ignore")
"""For products of single-precision matrices: on AVX-512, OpenBLAS may report an invalid operation on
memory that is not part of them. What is not finite is found by the checks of values and gradients.
"""


_NAMESPACES: dict[type, Any] = {}  # those found, by the type of the array


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of a tensor library, which may be on another device than the host."""
    return hasattr(x, "detach")


def copied(x: Array) -> Array:
    """Return a copy, which others may write to."""
    return x.clone() if is_tensor(x) else x.copy()


def namespace(x: Array) -> Any:
    """Return the array-API namespace of `x` (NumPy itself for NumPy arrays)."""
    if isinstance(x, NUMPY):
        return np
    kind = type(x)
    if kind not in _NAMESPACES:
        from array_api_compat import array_namespace

        _NAMESPACES[kind] = array_namespace(x)
    return _NAMESPACES[kind]


def dot(x: Array, y: Array) -> float:
    """Return the inner product of two vectors as a float."""
    return float(namespace(x).sum(x * y)) if not isinstance(x, np.ndarray) else float(x @ y)


def norm(x: Array) -> float:
    """Return the Euclidean norm of a vector as a float; squares neither overflow nor vanish."""
    total = square(x)
    least = 1e-24 if x.dtype.itemsize <= 4 else 1e-280  # far above the squares that vanish
    return math.sqrt(total) if least < total < math.inf else _scaled_norm(x)


def square(x: Array) -> float:
    """The sum of squares: infinite or NaN where it overflows or an entry is, without a warning."""
    return float(np.vdot(x, x)) if isinstance(x, np.ndarray) else dot(x, x)


def _scaled_norm(x: Array) -> float:
    if x.shape[0] == 0:
        return 0.0
    xp = namespace(x)
    largest = float(xp.max(xp.abs(x)))
    if not math.isfinite(largest) or largest == 0.0:
        return largest
    return largest * math.sqrt(square(x / largest))


def all_finite(x: Array) -> bool:
    """Whether every entry of `x` is finite."""
    if x.ndim == 1 and math.isfinite(square(x)):  # quick: a finite sum of squares proves it
        return True
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
    if is_tensor(x):
        x = x.detach().cpu()
    return np.asarray(x, dtype=np.float64)


def on_host(values: Any) -> Any:
    """Return a tensor as a NumPy array; anything else as it is."""
    return values.detach().cpu().numpy() if is_tensor(values) else values


def placed(index: np.ndarray, x: Array) -> Any:
    """Return row numbers as an index of `x`: on its device, if it is a tensor."""
    return namespace(x).asarray(index, device=x.device) if is_tensor(x) else index


def counted(codes: Array, weight: Array | None, count: int) -> np.ndarray:
    """Return the sum of the weights (1 without them) of the rows of each code, shape (count,)."""
    return on_host(counted_there(codes, weight, count))


def counted_there(codes: Array, weight: Array | None, count: int) -> Array:
    """Return what `counted` does, where the codes are."""
    if not is_tensor(codes):
        return np.bincount(codes, weight, minlength=count)
    xp = namespace(codes)
    heavy = None if weight is None else xp.astype(weight, xp.float64)
    return xp.bincount(codes, heavy, minlength=count)


def places_among(edges: np.ndarray, scores: Array) -> Array:
    """Return the number of ascending `edges` below each score."""
    if not is_tensor(scores):
        return np.searchsorted(edges, scores)
    xp = namespace(scores)
    return xp.searchsorted(
        xp.asarray(edges, dtype=xp.float64, device=scores.device), xp.astype(scores, xp.float64)
    )


def true_count(mask: Array) -> int:
    """Return how many entries are true."""
    return int(mask.sum()) if is_tensor(mask) else int(np.count_nonzero(mask))


def in_double(x: Array) -> Array:
    """Return `x` in double precision, where it is."""
    return namespace(x).astype(x, namespace(x).float64) if is_tensor(x) else to_numpy(x)
