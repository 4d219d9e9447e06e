"""Parts of random problems: functions, constraints that hold at a point, ordinary problems of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import Function
from benchmarks.hunt.regions import Region, random_region

KINDS: dict[str, Callable[[Generator], Case]] = {}
"""Every kind of problem by its name: what makes a random case of it."""


def kind(make: Callable[[Generator], Case]) -> Callable[[Generator], Case]:
    """Mark a function that makes a random case."""
    KINDS[make.__name__] = make
    return make


def dimension(rng: Generator) -> int:
    return int(rng.choice([1, 2, 3, 4, 5, 8, 12]))


def told(rng: Generator) -> str:
    return str(rng.choice(["all", "all", "smooth", "nothing"]))


def bent(rng: Generator, d: int, convex: bool = True) -> Function:
    """A smooth function without kinks, about 1 in size."""
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    P = A @ A.T + 0.1 * np.eye(d) if convex else A + A.T
    shapes = ["root", "softplus"] if convex else ["sin", "tanh", "root", "softplus"]
    ridges = tuple(
        (float(rng.uniform(0.3, 1.5)), str(rng.choice(shapes)), rng.normal(size=d), rng.normal())
        for _ in range(int(rng.integers(0, 3)))
    )
    return Function(rng.normal(size=d), P if rng.random() < 0.7 else None, 0.0, ridges)


def kinked(rng: Generator, d: int, convex: bool = True) -> Function:
    """A function with kinks: maxima of linear functions, absolute values."""
    base = bent(rng, d, convex)
    maxima = []
    for _ in range(int(rng.integers(1, 4))):
        A = rng.normal(size=(int(rng.integers(1, 4)), d))
        A = np.vstack((A, -A)) if rng.random() < 0.5 else A
        maxima.append((A, rng.normal(size=A.shape[0]) * 0.3))
    return replace(base, maxima=tuple(maxima))


def through(f: Function, x: np.ndarray, value: float) -> Function:
    """The function moved so that it has this value at `x`."""
    return replace(f, c=f.c + (value - float(f.value(x))) / f.scale)


def linear(a: np.ndarray, c: float) -> Function:
    return Function(np.asarray(a, dtype=float), None, float(c))


def opposite(f: Function) -> Function:
    return replace(f, scale=-f.scale)


def limits(
    rng: Generator, d: int, x: np.ndarray, make: Callable = bent, convex: bool = True
) -> list:
    """Some constraints that hold at `x`, a few of them with no room."""
    rooms = rng.choice([0.0, 0.1, 1.0], size=int(rng.integers(0, 4)))
    return [through(make(rng, d, convex), x, -room) for room in rooms]


def ordinary(rng: Generator, make: Callable, convex: bool, region: Region | None = None) -> Case:
    region = region or random_region(rng, dimension(rng))
    d, x = region.dim, region.inside(rng)
    functions = [make(rng, d, convex), *limits(rng, d, x, make, convex)]
    start = region.inside(rng) if rng.random() < 0.6 else None
    products = make is bent and rng.random() < 0.4
    return Case(functions, region, start, True, x, told=told(rng), products=products)
