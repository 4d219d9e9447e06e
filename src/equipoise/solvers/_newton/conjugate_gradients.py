"""Truncated conjugate gradients: the inner step of Newton methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from equipoise._array import Array, dot, norm
from equipoise.solvers._newton.hessian import Map

# Products at the most. Chosen: a direction that takes more is not worth being exact.
MAX_PRODUCTS = 250

# Curvature along p counts as negative from this many times |p|^2 downwards: rounding errors.
NO_CURVATURE = 1e-14


@dataclass(frozen=True)
class Direction:
    """What conjugate gradients found."""

    d: Array  # (d,)
    products: int  # that it took
    convex: bool  # whether no negative curvature was met


def conjugate_gradients(
    product: Map,
    target: Array,
    accuracy: float,
    small_enough: float = 0.0,
    max_products: int = MAX_PRODUCTS,
    precondition: Map | None = None,
    note: Callable[[Array, Array, float], None] | None = None,
) -> Direction:
    """Solve ``H d = target`` roughly; stop at negative curvature.

    The direction has a positive inner product with `target` whatever the curvature.

    Parameters
    ----------
    product : callable
        ``v -> H v`` with H symmetric.
    target : array of shape (d,)
    accuracy : float
        The residual to reach, relative to the target's norm; with 1, the preconditioner's answer
        is taken as it is.
    small_enough : float
        A residual at which to stop whatever the target.
    max_products : int
    precondition : callable, optional
        ``v -> M v`` with M positive definite, close to the inverse of H.
    note : callable, optional
        Called with every direction p, its product H p and its curvature <p, H p>.
    """
    if accuracy >= 1.0 and precondition is not None:
        return Direction(precondition(target), 0, True)
    d, r = 0.0 * target, 1.0 * target  # new arrays, changed in place: vectors can be long
    z = r if precondition is None else precondition(r)
    p = 1.0 * z
    square, goal, length = dot(r, z), max(accuracy * norm(target), small_enough), norm(p)
    for k in range(max_products):
        if norm(r) <= goal or square <= 0.0:
            return Direction(d, k, True)
        Hp = product(p)
        curvature = dot(p, Hp)
        if curvature <= NO_CURVATURE * dot(p, p):  # downhill all along p: go as far as d or p reach
            return Direction(d + (max(norm(d), length) / norm(p)) * p, k + 1, False)
        if note is not None:
            note(p, Hp, curvature)
        a = square / curvature
        d += a * p
        r -= a * Hp
        del Hp
        z = r if precondition is None else precondition(r)
        last, square = square, dot(r, z)
        p *= square / last
        p += z
        del z
    return Direction(d, max_products, True)
