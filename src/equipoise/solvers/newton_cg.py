"""Truncated conjugate gradients: the inner step of Newton methods."""

from __future__ import annotations

from collections.abc import Callable

from equipoise._array import Array, dot, norm


def conjugate_gradients(
    product: Callable[[Array], Array],
    target: Array,
    accuracy: float,
    floor: float = 0.0,
    most: int = 250,
) -> Array:
    """Solve ``H d = target`` roughly; at negative curvature, follow it.

    Parameters
    ----------
    product : callable
        ``v -> H v`` with H symmetric.
    target : array of shape (d,)
    accuracy : float
        The residual to reach, relative to the target's norm.
    floor : float
        A residual that is small enough whatever the target.
    most : int
        Products at the most.
    """
    d, r = 0.0 * target, target
    p, square = r, dot(r, r)
    goal = max(accuracy * norm(target), floor) ** 2
    for _ in range(most):
        if square <= goal or square == 0.0:
            break
        Hp = product(p)
        curvature = dot(p, Hp)
        if curvature <= 1e-14 * dot(p, p):  # a direction of descent that only gets better
            return d + (max(norm(d), norm(target)) / norm(p)) * p
        a = square / curvature
        d, r = d + a * p, r - a * Hp
        last, square = square, dot(r, r)
        p = r + (square / last) * p
    return d
