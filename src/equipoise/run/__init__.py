"""Running: the only loop, and what it keeps."""

from equipoise.run.checkpoint import Checkpoint, CheckpointError, CheckpointWarning
from equipoise.run.iteration import Iteration
from equipoise.run.result import Result
from equipoise.run.solve import solve
from equipoise.run.trace import Trace

__all__ = [
    "solve",
    "Result",
    "Trace",
    "Iteration",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
]
