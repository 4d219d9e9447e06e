"""The stored state of `ConstrainedOptimizer`, checked before any of it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise import _check


def check_state(where: str, given: Any, own: Mapping[str, Any]) -> None:
    """Raise where a state is not one like the `own` one: the same names, kinds, and shapes of tensors."""
    _check.kind(where, "state_dict", given, Mapping)
    if given.get("names") != own["names"]:
        _check.fail(
            where, "state_dict", f"must be of the constraints {own['names']}", given.get("names")
        )
    expected = dict(own)
    stored = given.get("own")
    _check.kind(where, "state_dict['own']", stored, Mapping)
    expected["own"] = dict.fromkeys(stored, _OWN)
    _compare(where, "state_dict", given, expected)


def load_optimizer(where: str, optimizer: Any, given: Any) -> None:
    """Let an optimiser of PyTorch go on from a stored state."""
    try:
        optimizer.load_state_dict(given)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        rule = f"must be of an optimiser like `optimizer` ({error})"
        _check.fail(where, "state_dict['optimizer']", rule, type(given))


def _compare(where: str, name: str, given: Any, own: Any) -> None:
    """Raise where two nested values differ in anything but numbers."""
    import torch

    if isinstance(own, Mapping):
        _check.kind(where, name, given, Mapping)
        missing = [key for key in own if key not in given]
        if missing:
            _check.fail(where, name, f"must have the key {missing[0]!r}", list(given))
        for key, value in own.items():
            if key not in ("optimizer", "names"):
                _compare(where, f"{name}[{key!r}]", given[key], value)
    elif isinstance(own, torch.Tensor | tuple):
        shape = own if isinstance(own, tuple) else tuple(own.shape)
        _check.kind(where, name, given, torch.Tensor)
        if tuple(given.shape) != shape or given.dtype != torch.float64:
            rule = f"must be a tensor of float64 numbers of shape {shape}: of the same classes and groups"
            _check.fail(where, name, rule, (tuple(given.shape), given.dtype))
        if not bool(torch.isfinite(given).all()):
            _check.fail(where, name, "must hold finite numbers", given)
    elif isinstance(own, list):
        if len(_check.sequence(where, name, given)) != len(own):
            _check.fail(where, name, f"must hold {len(own)} counts", given)
        for count in given:
            _check.count(where, name, count)
    else:
        _check.count(where, name, given)


_OWN = {"integral": (1,), "now": (1,), "total": (1,), "batches": 0}
"""The state of a constraint of the user's own, with shapes for tensors."""
