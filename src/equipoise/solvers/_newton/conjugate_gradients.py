"""Truncated conjugate gradients: the inner step of Newton methods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, dot, norm

Map = Callable[[Array], Array]
Seen = deque[tuple[np.ndarray, ...]]  # directions p with H p, scaled so that <p, H p> = 1


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
    floor: float = 0.0,
    most: int = 250,
    precondition: Map | None = None,
    seen: Seen | None = None,
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
    floor : float
        A residual that is small enough whatever the target.
    most : int
        Products at the most.
    precondition : callable, optional
        ``v -> M v`` with M positive definite, close to the inverse of H.
    seen : deque, optional
        Gets the directions with their products.
    """
    if accuracy >= 1.0 and precondition is not None:
        return Direction(precondition(target), 0, True)
    d, r = 0.0 * target, 1.0 * target  # changed in place below, p too: vectors can be long
    z = r if precondition is None else precondition(r)
    p = 1.0 * z
    square, goal, length = dot(r, z), max(accuracy * norm(target), floor), norm(p)
    for k in range(most):
        if norm(r) <= goal or square <= 0.0:
            return Direction(d, k, True)
        Hp = product(p)
        curvature = dot(p, Hp)
        if curvature <= 1e-14 * dot(p, p):  # a direction of descent that only gets better
            return Direction(d + (max(norm(d), length) / norm(p)) * p, k + 1, False)
        if seen is not None:
            root = curvature**0.5  # noted in single precision: many long vectors
            seen.append(tuple(np.asarray(v / root, dtype=np.float32) for v in (p, Hp)))
        a = square / curvature
        d += a * p
        r -= a * Hp
        del Hp
        z = r if precondition is None else precondition(r)
        last, square = square, dot(r, z)
        p *= square / last
        p += z
        del z
    return Direction(d, most, True)
