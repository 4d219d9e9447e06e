"""Gradients at one point that were computed: weighted sums of them need not be."""

from __future__ import annotations

import numpy as np

# At most this many gradients are kept: enough for all functions of a problem with few constraints, and one
# of a Lagrangian. Chosen.
MOST = 16


class Pulled:
    """The latest gradients at one point, each of a weighted sum of the functions."""

    def __init__(self) -> None:
        self._gradients: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def note(self, weights: np.ndarray, gradient: np.ndarray) -> None:
        """Keep a copy of the gradient for these weights."""
        weights = np.array(weights, dtype=float)
        self._gradients[weights.tobytes()] = weights, gradient.copy()
        if len(self._gradients) > MOST:
            del self._gradients[next(iter(self._gradients))]

    @property
    def weights(self) -> list[np.ndarray]:
        """The weights of the gradients that are kept, oldest first."""
        return [weights for weights, _ in self._gradients.values()]

    def gradient(self, weights: np.ndarray) -> np.ndarray | None:
        """Return the gradient for these weights, if those kept tell it."""
        weights = np.asarray(weights, dtype=float)
        kept = self._gradients.get(weights.tobytes())
        if kept is not None:
            return kept[1].copy()
        used, total = np.flatnonzero(weights), None
        if used.size > len(self._gradients):
            return None
        for i in used:
            unit = np.zeros_like(weights)
            unit[i] = 1.0
            kept = self._gradients.get(unit.tobytes())
            if kept is None:
                return None
            term = weights[i] * kept[1]
            total = term if total is None else total + term
        return total
