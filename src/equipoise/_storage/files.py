"""Writing a file whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from equipoise import _check


def require_file(owner: str, path: Path) -> None:
    """Raise where `path` can be no file: its folder is missing, or it is a folder itself."""
    if not path.resolve().parent.is_dir():
        reason = f"the folder of `path` does not exist: {path.resolve().parent}"
        raise _check.InputError(owner, reason, "path")
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device"
        raise _check.InputError(owner, f"`path` must be a file, {path} is {kind}.", "path")


def write_whole(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file beside `path` and put it in its place in one step, after its bytes have reached the disk.

    Where that fails, what was there before stays, and nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def remove(file: Path) -> None:
    """Remove a file, where the system lets us."""
    with contextlib.suppress(OSError):  # then the next run that can removes it
        file.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
