"""Checkpoints: a run on disk, from which it continues bit for bit.

The file is replaced in one atomic step after its bytes have reached the disk, and carries a checksum:
a run killed in the middle of a write leaves the previous checkpoint whole.
"""

from __future__ import annotations

import glob
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from equipoise import _check
from equipoise._array import Array
from equipoise._storage.container import pack, unpack
from equipoise._storage.encoding import UnreadableError
from equipoise._storage.files import remove, require_file, sync_folder, write_whole
from equipoise._storage.storable import Types
from equipoise.run._identity import difference


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on."""


class CheckpointError(ValueError):
    """A checkpoint file cannot be used for this run."""


class Contents(Protocol):
    """What a file holds: a dataclass that says which run it is of."""

    @property
    def identity(self) -> dict[str, Any]:
        """What must agree, by name; see `equipoise.run._identity`."""


Stored = TypeVar("Stored", bound=Contents)


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep a run, and how often.

    Parameters
    ----------
    path : path
        If the file exists, the run continues from it.
    every : float
        Seconds between two writes. The end of the run is always written.

    Notes
    -----
    The file holds a text and arrays (docs/checkpoints.md); reading one runs nothing, whoever wrote it.
    """

    path: str | Path
    every: float = 30.0

    def __post_init__(self) -> None:
        _check.non_negative("Checkpoint", "every", self.every)
        _check.path("Checkpoint", "path", self.path)
        require_file("Checkpoint", Path(self.path))

    def load(
        self, kind: type[Stored], identity: dict[str, Any], types: Types, like: Array | None = None
    ) -> Stored | None:
        """Return what was stored, None without a file; raise if it belongs to another run.

        `kind` is the type of the contents, `types` are those that may be inside, and `like` is a
        vector of the run, for tensors.
        """
        path = Path(self.path)
        for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            remove(part)  # of a run killed while it wrote
        try:
            stored = unpack(path.read_bytes(), types, like)
        except FileNotFoundError:
            return None
        except (OSError, MemoryError) as error:
            raise self.refused(f"it cannot be read ({error or type(error).__name__})") from None
        except UnreadableError as error:
            raise self.refused(str(error)) from None
        if type(stored) is not kind:
            raise self.refused("it holds something else than this run")
        if (found := difference(stored.identity, identity)) is not None:
            raise CheckpointError(
                f"The checkpoint {path} belongs to another run: {found}. "
                f"Remove the file or choose another path."
            )
        return stored

    def save(self, contents: Contents, types: Types) -> bool:
        """Write atomically; on failure warn, keep the previous file, and return False.

        Whatever goes wrong here, the run is worth more than its copy.
        """
        path = Path(self.path)
        try:
            write_whole(path, list(pack(contents, types)))
        except Exception as error:
            warnings.warn(
                f"The checkpoint {path} could not be written ({error}); the run goes on, and the "
                f"previous checkpoint, if any, is kept.",
                CheckpointWarning,
                stacklevel=3,
            )
            return False
        try:
            sync_folder(path.parent)
        except OSError as error:
            warnings.warn(
                f"The checkpoint {path} was written, but may not outlast a loss of power ({error}).",
                CheckpointWarning,
                stacklevel=3,
            )
        return True

    def refused(self, reason: str) -> CheckpointError:
        """Return the error that names the file and the reason."""
        return CheckpointError(
            f"The checkpoint {self.path} cannot be used: {reason}. Remove the file or choose another "
            f"path."
        )


class Timer:
    """Tells when the next checkpoint is due."""

    def __init__(self, every: float) -> None:
        self.every, self.last = every, time.monotonic()

    def due(self) -> bool:
        """Whether `every` seconds have passed; restarts if so."""
        now = time.monotonic()
        if now - self.last < self.every:
            return False
        self.last = now
        return True
