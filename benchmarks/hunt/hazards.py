"""What goes wrong in programs rather than in theory: points for domains, tiny units, careless functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hunt.cases import HABITS, Case
from benchmarks.hunt.functions import Function
from benchmarks.hunt.parts import bent, dimension, kind, linear, ordinary, told
from benchmarks.hunt.regions import Box, Rows, Whole


@kind
def points(rng):
    """Domains without extent, in some directions or all."""
    d = dimension(rng)
    x = rng.normal(size=d)
    fixed = rng.random(d) < rng.choice([0.3, 1.0])
    fixed[0] = True
    if rng.random() < 0.5:
        region = Box(x, np.where(fixed, x, x + rng.uniform(0.1, 2.0, d)))
    else:
        A = np.vstack((np.eye(d)[fixed], -np.eye(d)[fixed]))
        region = Rows(A, A @ x, x)
    convex = bool(rng.random() < 0.5)
    rows = [linear(a, -(a @ x) - room) for a, room in _rows(rng, d)]
    return Case([bent(rng, d, convex), *rows], region, None, True, x, told=told(rng))


@kind
def vanishing(rng):
    """Functions so small that squares of their slopes are 0, or they are no numbers of full precision."""
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    powers = rng.choice([0.0, -100.0, -160.0, -200.0, -300.0, -312.0], size=len(case.functions))
    case.functions = [replace(f, scale=10.0**e) for f, e in zip(case.functions, powers)]
    return case


@kind
def ridges(rng):
    """Saddles of many variables, from a start on the ridge: no gradient leads off it."""
    d = int(rng.choice([21, 30, 50, 100]))
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    bends, down = rng.uniform(0.5, 2.0, d), int(rng.choice([1, 2, 5]))
    bends[:down] = -rng.uniform(0.3, 1.0, down)
    start = rng.normal(size=d)
    start[:down] = 0.0
    walls = tuple((0.25, "quartic", axes[:, i], 0.0) for i in range(down))
    f = Function(np.zeros(d), (axes * bends) @ axes.T, 0.0, walls)
    rows = []
    if rng.random() < 0.3:  # of no weight at the saddle
        rows = [linear(axes @ np.where(start == 0.0, 0.0, rng.normal(size=d)), -1.0)]
    region = Whole(d) if rng.random() < 0.5 else Box(np.full(d, -20.0), np.full(d, 20.0))
    products = bool(rng.random() < 0.3)
    return Case(
        [f, *rows], region, axes @ start, True, np.zeros(d), told=told(rng), products=products
    )


@kind
def careless(rng):
    """Functions that write to what they are given, or return one array again and again."""
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    case.products, case.habit = False, str(rng.choice(HABITS))
    return case


def _rows(rng, d):
    """Some slopes, each with the room it leaves."""
    return [
        (rng.normal(size=d), float(rng.choice([0.0, 0.5]))) for _ in range(int(rng.integers(0, 3)))
    ]
