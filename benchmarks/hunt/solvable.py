"""Problems with a solution: smooth, with kinks, with equalities, badly scaled, degenerate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import Function
from benchmarks.hunt.parts import (
    bent,
    dimension,
    kind,
    kinked,
    linear,
    opposite,
    ordinary,
    through,
    told,
)
from benchmarks.hunt.regions import Box, Whole, random_region


@kind
def convex_smooth(rng):
    """With a known optimum: the objective's slope is what the active constraints can carry."""
    case = ordinary(rng, bent, True, Whole(dimension(rng)))
    x, constraints = case.planted, case.functions[1:]
    active = np.array([abs(float(f.value(x))) < 1e-12 for f in constraints], dtype=bool)
    lam = np.where(active, rng.choice([0.0, 0.5, 5.0], size=len(constraints)), 0.0)
    carried = sum((w * f.gradient(x) for w, f in zip(lam, constraints)), np.zeros(x.size))
    f = case.functions[0]
    case.functions[0] = replace(f, q=f.q - f.gradient(x) - carried)
    case.optimal = lam
    return case


@kind
def convex_kinks(rng):
    return ordinary(rng, kinked, True)


@kind
def nonconvex_smooth(rng):
    return ordinary(rng, bent, False)


@kind
def weakly_convex_kinks(rng):
    return ordinary(rng, kinked, False)


@kind
def every_set(rng):
    region = random_region(rng, int(rng.integers(1, 7)))
    return ordinary(rng, bent, bool(rng.random() < 0.5), region)


@kind
def linear_equalities(rng):
    """Each as two inequalities; the objective smooth or with kinks."""
    d = int(rng.integers(2, 7))
    region = random_region(rng, d, str(rng.choice(["whole", "box", "ball"])))
    x = region.inside(rng)
    pairs = []
    for _ in range(int(rng.integers(1, d))):
        a = rng.normal(size=d).round(2)
        pairs += [linear(a, -(a @ x)), linear(-a, a @ x)]
    objective = (kinked if rng.random() < 0.5 else bent)(rng, d)
    return Case([objective, *pairs], region, feasible=True, planted=x, told=told(rng))


@kind
def curved_equalities(rng):
    d = int(rng.integers(2, 7))
    region = random_region(rng, d, str(rng.choice(["whole", "box"])))
    x = region.inside(rng)
    pairs = []
    for _ in range(int(rng.integers(1, d))):
        f = through(bent(rng, d, False), x, 0.0)
        pairs += [f, opposite(f)]
    start = region.inside(rng)
    return Case([bent(rng, d, False), *pairs], region, start, None, x, told=told(rng))


@kind
def scaled_variables(rng):
    d = dimension(rng)
    stretch = 10.0 ** rng.uniform(-8, 8, size=d)
    shift = rng.normal(size=d) * rng.choice([0.0, 1e3])
    convex = bool(rng.random() < 0.5)
    x = shift / stretch
    f = [bent(rng, d, convex) for _ in range(int(rng.integers(1, 4)))]
    f = [replace(g, stretch=stretch, shift=shift) for g in f]
    f[1:] = [through(g, x, -float(rng.choice([0.0, 1.0]))) for g in f[1:]]
    return Case(f, Whole(d), x + rng.normal(size=d) / stretch, True, x, told=told(rng))


@kind
def scaled_functions(rng):
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    scales = 10.0 ** rng.uniform(-8, 8, size=len(case.functions))
    case.functions = [replace(f, scale=s) for f, s in zip(case.functions, scales)]
    return case


@kind
def offset(rng):
    """Functions of ``x - shift`` with long shifts and large constants."""
    d = dimension(rng)
    shift = rng.normal(size=d) * 1e3
    make = bent if rng.random() < 0.6 else kinked
    f = [make(rng, d, bool(rng.random() < 0.6)) for _ in range(int(rng.integers(1, 4)))]
    f = [replace(g, shift=shift) for g in f]
    f[0] = replace(f[0], c=float(rng.normal() * 1e3))
    f[1:] = [through(g, shift, -float(rng.choice([0.0, 0.5]))) for g in f[1:]]
    region = Box(shift - 3, shift + 3) if rng.random() < 0.5 else Whole(d)
    return Case(f, region, feasible=True, planted=shift, told=told(rng))


@kind
def degenerate(rng):
    """Repeated and dependent constraints, and feasible sets without a constraint qualification."""
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    d, x = case.dim, case.planted
    choice = rng.integers(0, 4)
    if choice == 0:  # one constraint many times
        f = through(bent(rng, d), x, 0.0)
        case.functions += [f, f, replace(f, scale=3.0)]
    elif choice == 1:  # a square that is to be at most 0
        a = rng.normal(size=d)
        case.functions.append(Function(0 * a, 2 * np.outer(a, a), 0.0, shift=x))
    elif choice == 2 and d > 1:  # a cusp at x
        e, v = np.eye(d)[0], np.eye(d)[1]
        case.functions.append(Function(v, None, 0.0, ((1.0, "cubic", e, 0.0),), shift=x))
        case.functions.append(Function(-v, None, 0.0, ((1.0, "cubic", e, 0.0),), shift=x))
    else:  # rows that add up to 0
        a, b = rng.normal(size=(2, d))
        case.functions += [linear(row, -(row @ x)) for row in (a, b, -a - b)]
    return case


@kind
def saddles(rng):
    """The start is stationary and no minimum."""
    d = dimension(rng)
    P = np.diag(rng.choice([-2.0, -1.0, 0.5, 1.0], size=d))
    P[0, 0] = -1.0
    f = Function(np.zeros(d), P, 0.0, ((0.25, "quartic", np.eye(d)[0], 0.0),))
    rows = []
    if rng.random() < 0.6:
        rows = [Function(np.zeros(d), 2 * np.eye(d), -float(rng.uniform(1, 5)))]
    region = Box(np.full(d, -2.0), np.full(d, 2.0))
    return Case(
        [f, *rows], region, None, True, np.zeros(d), told=told(rng), products=rng.random() < 0.5
    )


@kind
def flat(rng):
    """Functions that are constant, everywhere or nearly."""
    region = random_region(rng, dimension(rng))
    d = region.dim
    f = [linear(np.zeros(d), float(rng.choice([0.0, -1.0, 1e-9, 1.0, 1e9])))]
    for _ in range(int(rng.integers(0, 3))):
        a = np.zeros(d) if rng.random() < 0.6 else rng.normal(size=d) * 1e-12
        f.append(linear(a, float(rng.choice([-1.0, 0.0, 1e-5, 1.0]))))
    if rng.random() < 0.5:
        f[0] = Function(np.zeros(d), None, 0.0, ((1.0, "quartic", rng.normal(size=d), -1.0),))
    return Case(f, region, told=told(rng))


@kind
def larger(rng):
    d = int(rng.integers(20, 61))
    region = random_region(rng, d, str(rng.choice(["whole", "box", "ball", "corner"])))
    return ordinary(rng, bent if rng.random() < 0.8 else kinked, bool(rng.random() < 0.5), region)
