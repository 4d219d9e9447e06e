"""Telling problems apart by what they do: values and gradients at a few points that are always the same."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from equipoise._array import Array, like, to_numpy
from equipoise._problem import Point, Problem
from equipoise.run._content import content
from equipoise.run._identity import WITHIN, Measured
from equipoise.solvers import Solver

SEED = 0  # of the points and weights, which are the same in every run
# The distances from the start of the points that are evaluated, in every variable, relative to its size
# there or to 1: near, beside and far away (as far as the domain goes, if it is bounded). Chosen.
DISTANCES = (0.01, 1.0, 10.0)
# Rounding errors of the values add up: what two processes may differ by. Chosen.
ROUNDING_ERRORS = 1e3


def identify(
    problem: Problem, solver: Solver, x0: Array, seed: int, density: int
) -> dict[str, Any]:
    """Return what must agree for a checkpoint to be of this run."""
    return {
        "solver": content(solver),
        "seed": seed,
        "density": density,
        "starting point": Measured.of(x0),
        "problem": {"type": type(problem).__name__, **behaviour(problem, x0)},
    }


def behaviour(problem: Problem, x0: Array) -> dict[str, Any]:
    """Return what tells a problem: its shape and facts, and its functions around a point.

    At every point the domain's projection, all values, and the gradient of one weighted sum of all
    functions are measured: one forward and one backward pass; of a stochastic problem, those of a
    mini-batch too. None of this is counted.
    """
    rng = np.random.default_rng(SEED)
    weights = rng.uniform(0.5, 1.5, problem.n_constraints + 1)
    points = [x0, *_points_around(problem, x0, rng)]
    within = tolerance(problem, x0)
    seen = [_evaluated(problem, x, weights) for x in points]
    if problem.stochastic:
        seen.append(_evaluated(problem.sample(np.random.default_rng(SEED)), x0, weights))
    return {
        "dimension": problem.dim,
        "constraints": list(problem.names),
        "facts": {part.name: getattr(problem.facts, part.name) for part in fields(problem.facts)},
        "domain": type(problem.domain).__name__,
        "list of points of the domain": Measured.of(*points, within=within),
        "list of values at the start and around it": Measured(
            np.array([values for values, _ in seen]), within
        ),
        "list of gradients there": Measured.of(*(gradient for _, gradient in seen), within=within),
    }


def _points_around(problem: Problem, x0: Array, rng: np.random.Generator) -> list[Array]:
    start = to_numpy(x0)
    unit = max(1.0, float(np.abs(start).max(initial=0.0)))
    widest = problem.domain.diameter
    far = [*DISTANCES[:-1], widest if np.isfinite(widest) else DISTANCES[-1]]
    steps = [distance * unit * rng.normal(size=start.size) for distance in far]
    return [problem.domain.project(like(start + step, x0)) for step in steps]


def _evaluated(problem: Problem, x: Array, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values and a weighted gradient; NaN where the functions have none and say so in any way."""
    nothing = np.full(2 * problem.n_constraints + 1, np.nan), np.full(problem.dim, np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            point: Point = problem.at(x)
            values = np.concatenate((point.values, problem.true_values(point)))
            return values, to_numpy(point.vjp(weights))
        except Exception:  # the user's functions may raise anything where they are not defined
            return nothing


def tolerance(problem: Problem, x0: Array) -> float:
    """Return by how much the values of a problem may differ between two processes, relative to their size."""
    single = np.finfo(np.float32).eps if x0.dtype.itemsize < 8 else 0.0
    return float(max(WITHIN, ROUNDING_ERRORS * max(problem.facts.rounding, single)))
