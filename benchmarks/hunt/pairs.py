"""Kinks under equations, each written as two inequalities: no point is strictly feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import Function
from benchmarks.hunt.parts import kind, kinked, linear, through
from benchmarks.hunt.regions import random_region


@kind
def kinked_equalities(rng):
    """With a known optimum on kinks, found by choosing the subgradients and multipliers first."""
    d = int(rng.choice([2, 3, 5, 8, 20, 50, 100], p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05]))
    region = random_region(
        rng, d, "" if d < 20 else str(rng.choice(["whole", "box", "ball", "corner"]))
    )
    d, x = region.dim, region.inside(rng)
    rows, lam = equations(rng, d, x)
    for _ in range(int(rng.integers(0, 3))):
        row, slope = kinked_at(rng, d, x)
        rows.append(through(row, x, 0.0))
        lam.append((float(rng.choice([0.0, 0.5, 3.0])), slope))
    objective, slope = kinked_at(rng, d, x)
    carried = sum((w * g for w, g in lam), np.zeros(d))
    objective = replace(objective, q=objective.q - slope - carried)
    optimal = np.array([w for w, _ in lam])
    return Case([objective, *rows], region, _start(rng, region), True, x, optimal)


@kind
def exclusive_pairs(rng):
    """Kinks under equations that exclude each other."""
    region = random_region(rng, int(rng.choice([2, 3, 5, 8])))
    d, x = region.dim, region.inside(rng)
    rows, _ = equations(rng, d, x)
    a, gap = np.array(rows[0].q), float(rng.choice([1e-3, 0.1, 10.0]))
    rows.append(linear(-a, -rows[0].c + gap * np.linalg.norm(a)))
    objective, _ = kinked_at(rng, d, x)
    return Case([objective, *rows], region, _start(rng, region), False)


def equations(rng, d, x):
    """Some pairs that hold at `x`, in units of their own, a few twice; and multipliers with gradients."""
    rows, lam = [], []
    for _ in range(int(rng.integers(1, max(2, d // 2 + 1)))):
        unit = 1.0 if rng.random() < 0.7 else 10.0 ** rng.uniform(-6, 6)
        a = unit * rng.normal(size=d).round(2)
        nu = float(rng.normal()) / unit
        for w in (nu,) if rng.random() < 0.8 else (nu, 0.0):
            rows += [linear(a, -(a @ x)), linear(-a, a @ x)]
            lam += [(max(w, 0.0), a), (max(-w, 0.0), -a)]
    return rows, lam


def kinked_at(rng, d, x) -> tuple[Function, np.ndarray]:
    """A convex function with several kinks at `x`, and one of its subgradients there."""
    f = kinked(rng, d)
    slope, maxima = f.smooth_gradient(x), []
    for A, b in f.maxima:
        met = rng.random(b.size) < 0.7
        met[0] = True
        height = np.where(met, 0.0, -rng.uniform(0.1, 1.0, size=b.size))
        maxima.append((A, height - A @ x))
        share = np.where(met, rng.random(b.size), 0.0)
        slope = slope + share @ A / share.sum()
    return replace(f, maxima=tuple(maxima)), slope


def _start(rng, region):
    return region.inside(rng) if rng.random() < 0.6 else None
