"""The network that is trained where the user gives none, and its arrays for storing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Hidden layers by the number of rows: more rows, wider layers. Chosen: with the last width as the number
# of features that the last layer is fitted on, there are always tens of rows for each.
LAYER_WIDTHS = ((1_000, (16,)), (5_000, (32, 32)), (float("inf"), (64, 64)))


def usual_widths(n_rows: int) -> tuple[int, ...]:
    """Return the widths of the hidden layers for so many rows."""
    return next(widths for most, widths in LAYER_WIDTHS if n_rows < most)


def default_network(n_columns: int, widths: Sequence[int], dropout: float = 0.0) -> Any:
    """Return a multilayer perceptron with SiLU units, which have no kinks, and one score a row."""
    from torch import nn

    layers: list[Any] = []
    sizes = [n_columns, *widths]
    for inside, outside in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inside, outside), nn.SiLU()]
        layers += [nn.Dropout(dropout)] if dropout > 0.0 else []
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 1))


def arrays_of(network: Any) -> list[np.ndarray]:
    """Return weights and biases of the layers, one after the other."""
    return [p.detach().double().cpu().numpy() for p in network.parameters()]


def network_of(arrays: Sequence[np.ndarray], n_columns: int) -> Any:
    """Return the network with these weights and biases, in double precision; raise where they do not fit."""
    import torch

    weights, biases = arrays[::2], arrays[1::2]
    widths = [len(bias) for bias in biases]
    shapes = list(zip(widths, [n_columns, *widths]))
    right = len(weights) == len(biases) >= 1 and widths[-1] == 1
    right = right and [w.shape for w in weights] == shapes
    if not right or any(b.ndim != 1 for b in biases):
        raise ValueError("its network_ is not that of a model")
    network = default_network(n_columns, widths[:-1]).double()
    with torch.no_grad():
        for parameter, values in zip(network.parameters(), arrays):
            parameter.copy_(torch.tensor(values))
    return network.eval()
