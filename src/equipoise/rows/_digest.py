"""Digests of data and rules: whether a checkpoint belongs to them; on which rows a model was fitted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

# Bytes of a matrix that does not lie row by row in memory, copied at once to be read so. Chosen.
BYTES_AT_ONCE = 1 << 20


def digest(*values: Any) -> str:
    """Return a short text that differs where arrays, rules or settings do; the same in every process."""
    made = blake2b(digest_size=16)
    for part in _parts(values):
        made.update(part)
    return made.hexdigest()


def checksum(array: Any) -> tuple[str, tuple[int, ...], int]:
    """Return the type, the shape and a checksum of the numbers of an array, dense or CSR.

    Ten times as quick as a digest. It tells apart data that differ by accident, not by intent.
    """
    if sparse.issparse(array):
        inside = [checksum(part) for part in (array.data, array.indices, array.indptr)]
        return array.dtype.str, array.shape, crc32(repr(inside).encode())
    array, found = np.asarray(array), 0
    rows = len(array)
    if not array.flags.c_contiguous:
        rows = max(1, BYTES_AT_ONCE // max(1, array[:1].nbytes))
    for start in range(0, len(array), max(1, rows)):
        part: Any = np.ascontiguousarray(array[start : start + rows])
        found = crc32(part.reshape(-1).view(np.uint8), found)
    return array.dtype.str, array.shape, found


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
