"""Problems without a solution, or with functions that break their promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.hunt.cases import Case
from benchmarks.hunt.functions import Function
from benchmarks.hunt.parts import bent, dimension, kind, linear, ordinary, told
from benchmarks.hunt.regions import Box, Whole, random_region


@kind
def infeasible_convex(rng):
    """Two constraints that exclude each other, or one that no point meets."""
    case = ordinary(rng, bent, True)
    a, gap = rng.normal(size=case.dim), float(rng.choice([1e-3, 0.1, 10.0]))
    if rng.random() < 0.5:
        case.functions += [linear(a, 0.0), linear(-a, gap)]
    else:
        case.functions.append(Function(a, np.eye(case.dim), a @ a / 2 + gap))  # |x + a|^2/2 + gap
    case.feasible, case.planted = False, None
    return case


@kind
def stuck(rng):
    """Feasible points exist, but the start is a maximum or a saddle of the violation."""
    d = dimension(rng)
    P = -2 * np.eye(d) if rng.random() < 0.5 else np.diag(rng.choice([-2.0, -1.0, 1.0], size=d))
    P[0, 0] = -2.0
    region = random_region(rng, d, str(rng.choice(["whole", "box"])))
    region = Box(np.full(d, -2.0), np.full(d, 2.0)) if not isinstance(region, Whole) else region
    rows = [Function(np.zeros(d), P, 1.0)]
    if rng.random() < 0.3:
        rows.append(Function(np.zeros(d), None, 0.5, ((1.0, "sin", 2 * np.eye(d)[0], 0.0),)))
        rows[0] = Function(np.zeros(d), P, 0.1)
    planted = 1.5 * np.eye(d)[0] * -1.0
    start = None if rng.random() < 0.7 else 1e-9 * rng.normal(size=d)
    known = all(float(f.value(planted)) <= 0 for f in rows) or None
    return Case([bent(rng, d), *rows], region, start, known, planted, told=told(rng))


@kind
def unbounded(rng):
    """No lower bound of the objective: linear, concave, cubic, or along a feasible ray."""
    d = dimension(rng)
    f = bent(rng, d, False)
    choice = rng.integers(0, 3)
    if choice == 0:
        f = linear(rng.normal(size=d), 0.0)
    elif choice == 1:
        f = replace(f, P=-np.eye(d))
    else:
        f = replace(f, ridges=(*f.ridges, (1.0, "cubic", rng.normal(size=d), 0.0)))
    a = -np.asarray(f.q)
    rows = [linear(-a, -1.0)] if rng.random() < 0.5 else []
    return Case([f, *rows], Whole(d), told=told(rng), products=bool(rng.random() < 0.3))


@kind
def huge(rng):
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    exponents = rng.choice(
        [0.0, 100.0, 150.0, 161.0, 200.0, 290.0, 300.0], size=len(case.functions)
    )
    case.functions = [replace(f, scale=10.0**e) for f, e in zip(case.functions, exponents)]
    return case


@kind
def holes(rng):
    """NaN beyond a plane, in the objective or a constraint."""
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    i, w = int(rng.integers(len(case.functions))), rng.normal(size=case.dim)
    room = float(rng.choice([0.0, 0.1, 1.0]))
    case.functions[i] = replace(case.functions[i], hole=(w, float(w @ case.planted) + room))
    case.honest = False
    return case


@kind
def discontinuous(rng):
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    i, w = int(rng.integers(len(case.functions))), rng.normal(size=case.dim)
    place = float(w @ case.planted) + float(rng.choice([0.01, 0.1]))
    height = float(rng.choice([-1.0, 1.0, 100.0]))
    case.functions[i] = replace(case.functions[i], jump=(w, place, height))
    case.honest = False
    return case


@kind
def wrong_gradients(rng):
    """What is judged: the values are true, and the stationarity that the given gradients say."""
    case = ordinary(rng, bent, bool(rng.random() < 0.5))
    i, d = int(rng.integers(len(case.functions))), case.dim
    twist = -np.eye(d) if rng.random() < 0.3 else np.eye(d) + 0.5 * rng.normal(size=(d, d))
    case.functions[i] = replace(case.functions[i], twist=twist)
    case.honest, case.products = False, False
    return case
