"""Sums over the processes of `torch.distributed`, where it runs."""

from __future__ import annotations

from typing import Any


def processes() -> int:
    """Return how many processes train one network."""
    import torch.distributed as distributed

    ready = distributed.is_available() and distributed.is_initialized()
    return int(distributed.get_world_size()) if ready else 1


def summed(values: Any) -> Any:
    """Return the sum over all processes, in place."""
    import torch.distributed as distributed

    if processes() > 1:
        distributed.all_reduce(values)
    return values


def averaged(values: Any) -> Any:
    """Return the mean over all processes, in place."""
    return summed(values).div_(processes())
