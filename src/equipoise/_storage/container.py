"""The bytes of a checkpoint or a model file: a line, a checksum, a text, and arrays; docs/checkpoints.md.

The checksum tells damage, not intent: whoever can write the file can seal it. Reading is safe all the
same, because a file can only ask for data.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._array import Array
from equipoise._storage.encoding import NUMERIC_DTYPE, Decoder, Encoder, UnreadableError
from equipoise._storage.storable import Types


@dataclass(frozen=True)
class Form:
    """A sort of file: what it is called, the version of its form, and what it holds, for messages."""

    name: str
    version: int
    holds: str

    @property
    def title(self) -> bytes:
        """What every file of this sort begins with."""
        return f"equipoise {self.name} ".encode()

    @property
    def line(self) -> bytes:
        """What a file of this version begins with."""
        return self.title + f"{self.version}\n".encode()


CHECKPOINT = Form("checkpoint", 3, "run")  # the third version of its form
MAGIC = CHECKPOINT.line
LENGTH = 8  # bytes of the length of the text, the lowest first


def pack(contents: Any, types: Types, form: Form = CHECKPOINT) -> Iterator[bytes | memoryview]:
    """Return the pieces of the file, in order; arrays are not copied."""
    encoder = Encoder(types)
    tree = encoder.encode(contents)
    headers = [[array.dtype.str, list(array.shape), _order(array)] for array in encoder.arrays]
    parts = {"arrays": headers, "contents": tree}
    text = json.dumps(parts, allow_nan=False, separators=(",", ":")).encode()
    pieces = [len(text).to_bytes(LENGTH, "little"), text, *map(_bytes_of, encoder.arrays)]
    checksum = hashlib.sha256()
    for piece in pieces:
        checksum.update(piece)
    yield form.line
    yield checksum.digest()
    yield from pieces


def unpack(data: bytes, types: Types, like: Array | None = None, form: Form = CHECKPOINT) -> Any:
    """Return the contents of a file; raise `UnreadableError` with the reason where it has none."""
    if not data.startswith(form.title):
        raise UnreadableError(f"it is not an Equipoise {form.name}")
    if not data.startswith(form.line):
        raise UnreadableError("it has the form of another version of the library, or is damaged")
    start = len(form.line) + hashlib.sha256().digest_size
    view = memoryview(data)
    if hashlib.sha256(view[start:]).digest() != data[len(form.line) : start]:
        raise UnreadableError("it is damaged: its checksum does not match")
    try:
        return _opened(view[start:], types, like)
    except UnreadableError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError) as error:
        raise UnreadableError(f"it holds no {form.holds} ({type(error).__name__})") from None
    except (TypeError, ValueError) as error:
        raise UnreadableError(f"it holds no {form.holds} ({error})") from None


def _opened(body: memoryview, types: Types, like: Array | None) -> Any:
    length = int.from_bytes(body[:LENGTH], "little")
    parsed = json.loads(
        bytes(body[LENGTH : LENGTH + length]),
        parse_constant=_refuse,
        parse_float=_finite,
        object_pairs_hook=_each_once,
    )
    if parsed.keys() != {"arrays", "contents"}:
        raise UnreadableError("it holds something beside its arrays and contents")
    arrays, rest = [], body[LENGTH + length :]
    for header in parsed["arrays"]:
        sort, shape, order = header
        array, rest = _array_from(sort, shape, order, rest)
        arrays.append(array)
    if len(rest):
        raise UnreadableError("it is longer than its arrays")
    return Decoder(types, arrays, like).decode(parsed["contents"])


def _order(array: np.ndarray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _bytes_of(array: np.ndarray) -> memoryview | bytes:
    if not array.size:
        return b""
    transposed = array.T if _order(array) == "F" else array
    flat: Any = np.ascontiguousarray(transposed).reshape(-1).view(np.uint8)
    return memoryview(flat)


def _array_from(
    sort: Any, shape: Any, order: Any, data: memoryview
) -> tuple[np.ndarray, memoryview]:
    """Return an array of its own memory, laid out as it was, and what follows it."""
    if not NUMERIC_DTYPE.fullmatch(sort) or order not in ("C", "F"):
        raise UnreadableError("it holds an array that is not of numbers")
    dtype = np.dtype(sort)
    if not all(type(n) is int and n >= 0 for n in shape):
        raise UnreadableError("it holds an array without a shape")
    size = math.prod(shape) * dtype.itemsize
    if size > len(data):
        raise UnreadableError("it is shorter than its arrays")
    array = np.frombuffer(data[:size], dtype).reshape(shape, order=order)
    return array.copy(order=order), data[size:]


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what an object of the text holds; readers differ in which of two equal names they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableError("it holds the same name twice")
    return found


def _refuse(constant: str) -> Any:
    raise UnreadableError(f"it holds {constant}")
