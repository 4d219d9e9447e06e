"""A small network from the features of a constraint to its multiplier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# The bias of the output before the first step, which makes the first multipliers about as large. From the
# published code.
FIRST_MULTIPLIER = 1.0


@dataclass(frozen=True)
class MultiplierNetwork:
    """Layers of ReLU units, and one number at the end; its weights and biases are one vector `phi`.

    Without inputs there is no layer but the last, of which the bias alone is left: one number for all.
    """

    sizes: tuple[int, ...]  # inputs, hidden units, and 1 output

    @property
    def dim(self) -> int:
        """How many weights and biases there are."""
        return sum((inside + 1) * outside for inside, outside in self._layers())

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Return the first `phi`: weights as Glorot & Bengio 2010 draw them, biases 0 but for the last."""
        parts = []
        for inside, outside in self._layers():
            most = np.sqrt(6.0 / (inside + outside))
            parts += [rng.uniform(-most, most, inside * outside), np.zeros(outside)]
        parts[-1] += FIRST_MULTIPLIER
        return np.concatenate(parts)

    def at(self, phi: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return the outputs (m,) for features (m, k)."""
        return self._activations(phi, features)[-1][:, 0]

    def gradient(self, phi: np.ndarray, features: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the output for the features (k,) of one constraint, and its gradient by `phi`."""
        seen = self._activations(phi, features[None])
        back, parts = np.ones(1), []
        layers = list(self._parameters(phi))
        for place in reversed(range(len(layers))):
            if place < len(layers) - 1:
                back = back * (seen[place + 1][0] > 0)
            parts += [back, np.outer(seen[place][0], back).ravel()]
            back = layers[place][0] @ back
        return float(seen[-1][0, 0]), np.concatenate(parts[::-1])

    def _activations(self, phi: np.ndarray, features: np.ndarray) -> list[np.ndarray]:
        """Return what goes into every layer, and what comes out of the last."""
        seen, layers = [features], list(self._parameters(phi))
        for place, (weights, bias) in enumerate(layers):
            out = seen[-1] @ weights + bias
            seen.append(np.maximum(out, 0.0) if place < len(layers) - 1 else out)
        return seen

    def _parameters(self, phi: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Return weights (inputs, outputs) and biases of every layer."""
        at = 0
        for inside, outside in self._layers():
            middle, end = at + inside * outside, at + (inside + 1) * outside
            yield phi[at:middle].reshape(inside, outside), phi[middle:end]
            at = end

    def _layers(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes, self.sizes[1:]))
