"""Sums over rows at one point of the parameters, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise._array import Array, namespace
from equipoise.models import ModelPoint
from equipoise.terms import ScoreSumPoint


@dataclass(frozen=True)
class Sums:
    """R sums over rows at one `x`, with their derivatives.

    Attributes
    ----------
    values : ndarray of shape (R,)
        The sums; NumPy float64.
    pull : callable
        Weights `u` (R,) to the gradient (d,) of ``u . values``: one backward pass.
    jacobian : callable
        An index array of k sums to their gradients (k, d).
    push : callable or None
        A direction (d,) to the change of the sums along it, (R,).
    product : callable or None
        ``(u, v)`` to the Hessian of ``u . values`` times the direction `v`, (d,).
    curvature : callable or None
        Weights `u` to an estimate of the Hessian of ``u . values`` from some rows, positive
        semi-definite: the lower triangle of a matrix (d, d), or a diagonal (d,).
    matrix : callable or None
        Weights `u` to the Hessian of ``u . values``, (d, d), where that costs no more than a few products.
    """

    values: np.ndarray
    pull: Callable[[np.ndarray], Array]
    jacobian: Callable[[np.ndarray], Array]
    push: Callable[[Array], np.ndarray] | None = None
    product: Callable[[np.ndarray, Array], Array] | None = None
    curvature: Callable[[np.ndarray], np.ndarray] | None = None
    matrix: Callable[[np.ndarray], np.ndarray] | None = None


def sums_at(
    model: ModelPoint,
    sums: ScoreSumPoint,
    linear: bool,
    curvature: Callable[[np.ndarray], np.ndarray] | None = None,
    matrix: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Sums:
    """Return sums of scores as sums of the parameters: the chain rule, written once.

    Second derivatives are there where the sums have them and the model is linear or says how its
    scores bend.
    """
    push, bend = model.push, model.bend

    def pull(u: np.ndarray) -> Array:
        return model.pull(sums.slope(u))

    def jacobian(index: np.ndarray) -> Array:
        if sums.columns is not None and len(index) > 1:
            return model.pull_each(sums.columns(index))
        if sums.alone is not None and model.pull_rows is not None:
            rows = [model.pull_rows(*sums.alone(int(i))) for i in index]
        else:
            rows = [pull(_unit(int(i), sums.values.size)) for i in index]
        return namespace(rows[0]).stack(rows)

    def product(u: np.ndarray, v: Array) -> Array:
        assert push is not None
        assert sums.curve is not None
        if sums.separable and sums.bend is not None and model.sandwich is not None:
            found = model.sandwich(sums.bend(u), v)
        else:
            found = model.pull(sums.curve(u, push(v)))
        return found if bend is None else found + bend(sums.slope(u), v)

    twice = sums.curve is not None and push is not None and (linear or bend is not None)
    return Sums(
        sums.values,
        pull,
        jacobian,
        None if push is None else lambda v: sums.push(push(v)),
        product if twice else None,
        curvature if twice else None,
        matrix if twice else None,
    )


def added(parts: Sequence[Sums]) -> Sums:
    """Return the same sums over the rows of all parts."""
    return Sums(
        _sum(part.values for part in parts),
        lambda u: _sum(part.pull(u) for part in parts),
        lambda index: _sum(part.jacobian(index) for part in parts),
        _if_all([p.push for p in parts], lambda calls, v: _sum(call(v) for call in calls)),
        _if_all([p.product for p in parts], lambda calls, u, v: _sum(c(u, v) for c in calls)),
        _if_all([p.curvature for p in parts], lambda calls, u: _sum(call(u) for call in calls)),
        _if_all([p.matrix for p in parts], lambda calls, u: _sum(call(u) for call in calls)),
    )


def joined(first: Sums, second: Sums) -> Sums:
    """Return other sums over the same rows, one after the other."""
    k = first.values.size

    def jacobian(index: np.ndarray) -> Array:
        index = np.asarray(index)
        own = index < k
        rows: list[Any] = [None] * index.size
        for part, mask, start in ((first, own, 0), (second, ~own, k)):
            if mask.any():
                for place, row in zip(np.flatnonzero(mask), part.jacobian(index[mask] - start)):
                    rows[place] = row
        return namespace(rows[0]).stack(rows)

    def both(calls: Any, u: np.ndarray, *more: Any) -> Any:
        return calls[0](u[:k], *more) + calls[1](u[k:], *more)

    push = _if_all([first.push, second.push], lambda c, v: np.concatenate((c[0](v), c[1](v))))
    return Sums(
        np.concatenate((first.values, second.values)),
        lambda u: both([first.pull, second.pull], u),
        jacobian,
        push,
        _if_all([first.product, second.product], both),
        None if first.curvature is None else lambda u: first.curvature(u[:k]),  # type: ignore[misc]
    )


def _if_all(calls: list[Any], combined: Callable[..., Any]) -> Any:
    """Return a function of all calls, if none of them is missing."""
    if any(call is None for call in calls):
        return None
    return lambda *arguments: combined(calls, *arguments)


def _sum(terms: Any) -> Any:
    """Return the sum of arrays, without a 0 that would be of another kind."""
    first, *others = terms
    for term in others:
        first = first + term
    return first


def _unit(i: int, size: int) -> np.ndarray:
    unit = np.zeros(size)
    unit[i] = 1.0
    return unit
