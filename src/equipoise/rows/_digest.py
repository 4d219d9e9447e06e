"""A digest of data and rules: whether a checkpoint belongs to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse


def digest(*values: Any) -> str:
    """Return a short text that differs where arrays, rules or settings do; the same in every process."""
    made = blake2b(digest_size=16)
    for part in _parts(values):
        made.update(part)
    return made.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    if sparse.issparse(value):
        value = [value.shape, value.data, value.indices, value.indptr]
    if isinstance(value, dict):
        value = [item for pair in value.items() for item in pair]
    if isinstance(value, list | tuple):
        yield b"["
        for item in value:
            yield from _parts(item)
        yield b"]"
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__.encode()
        yield from _parts([getattr(value, field.name) for field in fields(value)])
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        array = array.astype(str) if array.dtype.kind == "O" else array
        yield f"{array.dtype.str}{array.shape}".encode()
        yield np.ascontiguousarray(array).tobytes()
    else:  # without addresses, which differ from process to process
        yield re.sub(r" at 0x[0-9a-f]+", "", repr(value)).encode()
