"""Running: the only loop, and what it keeps."""

from equipoise.run._budget import Budget
from equipoise.run._checkpoint import Checkpoint, CheckpointError, CheckpointWarning
from equipoise.run._iteration import Iteration
from equipoise.run._online import Online
from equipoise.run._result import Result
from equipoise.run._solve import solve
from equipoise.run._trace import Examination, Trace
from equipoise.run._verdict import Verdict

__all__ = [
    "solve",
    "Result",
    "Trace",
    "Examination",
    "Verdict",
    "Budget",
    "Iteration",
    "Online",
    "Checkpoint",
    "CheckpointError",
    "CheckpointWarning",
]
