"""Steps that shorten with the gradients seen (Duchi, Hazan & Singer 2011)."""

from __future__ import annotations

from equipoise._array import Array

# What the sum of squares begins with, and what is added to its root. Both are from the published code.
FIRST_SQUARE, LEAST_ROOT = 0.1, 1e-7


def adagrad(x: Array, g: Array, squares: Array, size: float) -> tuple[Array, Array]:
    """Return ``x - size g / sqrt(0.1 + sum of g^2)``, number by number, and the sum so far."""
    squares = squares + g * g
    return x - size * g / ((FIRST_SQUARE + squares) ** 0.5 + LEAST_ROOT), squares
