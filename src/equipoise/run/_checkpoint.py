"""Checkpoints: a run on disk, from which it continues bit for bit.

The file is replaced in one atomic step after its bytes have reached the disk, and carries a checksum:
a run killed in the middle of a write leaves the previous checkpoint whole.
"""

from __future__ import annotations

import glob
import hashlib
import os
import pickle
import re
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise import _check
from equipoise._array import Array, to_numpy
from equipoise._problem import Problem
from equipoise.solvers import Solver

MAGIC = b"equipoise checkpoint 1\n"


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on."""


class CheckpointError(ValueError):
    """A checkpoint file cannot be used for this run."""


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
    The file is a pickle: load only checkpoints that you wrote.
    """

    path: str | Path
    every: float = 30.0

    def __post_init__(self) -> None:
        _check.non_negative("Checkpoint", "every", self.every)
        _check.path("Checkpoint", "path", self.path)
        folder = Path(self.path).resolve().parent
        if not folder.is_dir():
            raise ValueError(f"Checkpoint: the folder of `path` does not exist: {folder}")
        if Path(self.path).exists() and not Path(self.path).is_file():
            kind = "a folder" if Path(self.path).is_dir() else "a device"
            raise ValueError(f"Checkpoint: `path` must be a file, {self.path} is {kind}.")

    def load(self, identity: dict[str, Any]) -> dict[str, Any] | None:
        """Return what was stored, None without a file; raise if it belongs to another run."""
        path = Path(self.path)
        for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            part.unlink(missing_ok=True)  # of a run killed while it wrote
        if not path.exists():
            return None
        stored = unpack(path)
        for key, value in identity.items():
            if stored["identity"].get(key) != value:
                raise CheckpointError(
                    f"The checkpoint {path} belongs to another run: its {key} is "
                    f"{_short(stored['identity'].get(key))}, this run's is {_short(value)}. "
                    f"Remove the file or choose another path."
                )
        return stored

    def save(self, contents: dict[str, Any]) -> bool:
        """Write atomically; on failure warn, keep the previous file, and return False."""
        path = Path(self.path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            payload = pickle.dumps(contents, protocol=pickle.HIGHEST_PROTOCOL)
            with open(temporary, "wb") as file:
                file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            _sync_folder(path.parent)
        except (OSError, pickle.PicklingError, AttributeError, TypeError) as error:
            temporary.unlink(missing_ok=True)
            warnings.warn(
                f"The checkpoint {path} could not be written ({error}); the run goes on, and the "
                f"previous checkpoint, if any, is kept.",
                CheckpointWarning,
                stacklevel=3,
            )
            return False
        return True


def unpack(path: Path) -> dict[str, Any]:
    """Read and verify a checkpoint file."""
    data = path.read_bytes()
    digest, payload = data[len(MAGIC) : len(MAGIC) + 32], data[len(MAGIC) + 32 :]
    if not data.startswith(MAGIC):
        raise CheckpointError(f"{path} is not an Equipoise checkpoint.")
    if hashlib.sha256(payload).digest() != digest:
        raise CheckpointError(f"The checkpoint {path} is damaged: its checksum does not match.")
    return pickle.loads(payload)


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


def identify(
    problem: Problem, solver: Solver, x0: Array, seed: int, density: int
) -> dict[str, Any]:
    """Return what must agree for a checkpoint to be of this run."""
    return {
        "solver": re.sub(r" at 0x[0-9a-f]+", "", repr(solver)),  # no memory addresses
        "problem": (type(problem).__name__, problem.dim, problem.names),
        "seed": seed,
        "starting point": hashlib.sha256(to_numpy(x0).tobytes()).hexdigest()[:16],
        "list of values at the start": tuple(f"{v:.6g}" for v in problem.at(x0).values),
        "density": density,
    }


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
