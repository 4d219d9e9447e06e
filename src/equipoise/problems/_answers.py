"""What a problem says and answers, checked: anyone may write one, and its mistakes are named."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor
from equipoise._problem import Facts, Point, Problem
from equipoise.sets import Set


def check_attributes(owner: str, problem: Any) -> Problem:
    """Return `problem` if it is one, and says of itself what every problem must."""
    _check.kind(owner, "problem", problem, Problem)
    name = type(problem).__name__
    _check.count(name, "dim", getattr(problem, "dim", None), least=1)
    m = _check.count(name, "n_constraints", getattr(problem, "n_constraints", None))
    domain = _check.kind(name, "domain", getattr(problem, "domain", None), Set)
    _check.names(name, "names", getattr(problem, "names", None), m)
    _check.kind(name, "facts", problem.facts, Facts)
    if domain.dim is not None and domain.dim != problem.dim:
        _check.fail(owner, "problem", f"has dimension {problem.dim}, its domain", domain.dim)
    return problem


def checked_at(problem: Problem, x: Array) -> Point:
    """Return what the problem is at `x`, with its values as float64, and its derivatives checked.

    The values are a copy: the problem may use its array for the next point.
    """
    owner, point = f"{type(problem).__name__}.at", problem.at(x)
    _check.kind(owner, "answer", point, Point)
    values, shape = point.values, (problem.n_constraints + 1,)
    if type(values) is np.ndarray and values.dtype == np.float64 and values.shape == shape:
        values = values.copy()
    else:
        values = _numbers(owner, "values", values, shape)
    pull, product, rows, along = point.vjp, point.hvp, point.jacobian, point.push

    def vjp(weights: np.ndarray) -> Array:
        return _derivative(problem, "gradient", weights, pull(weights))

    def hvp(weights: np.ndarray, v: Array) -> Array:
        assert product is not None
        return _derivative(problem, "Hessian product", weights, product(weights, v))

    def jacobian(indices: np.ndarray) -> Array:
        assert rows is not None
        answer, shape = rows(indices), (len(indices), problem.dim)
        if _are_floats(answer, shape):
            return answer
        return _numbers(type(problem).__name__, "jacobian", answer, shape)

    def push(v: Array) -> np.ndarray:
        assert along is not None
        answer = along(v)
        if type(answer) is np.ndarray and answer.dtype == np.float64 and answer.shape == shape:
            return answer
        return _numbers(type(problem).__name__, "push", answer, shape)

    forwarded = (
        None if product is None else hvp,
        point.curvature,
        None if rows is None else jacobian,
        None if along is None else push,
        point.matrix,
    )
    return Point(x, values, vjp, *forwarded)


def _derivative(problem: Problem, kind: str, weights: np.ndarray, answer: Any) -> Array:
    """Return a weighted sum of gradients, or of Hessian products, as an array of floats."""
    shape = (problem.dim,)
    if _are_floats(answer, shape):
        return answer
    name = f"{kind} of {_summands(problem, weights)}"
    return _numbers(type(problem).__name__, name, answer, shape)


def _are_floats(answer: Any, shape: tuple[int, ...]) -> bool:
    """Whether an answer is an array of floats of a shape, on whatever device."""
    if isinstance(answer, np.ndarray):
        return answer.dtype.kind == "f" and answer.shape == shape
    right = is_tensor(answer) and tuple(answer.shape) == shape
    return right and answer.is_floating_point()


def _numbers(owner: str, parameter: str, answer: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers of a shape; they need not be finite, which is for others to say."""
    found = _check.numbers(owner, parameter, answer)
    if found.shape != shape:
        _check.fail(owner, parameter, f"must have shape {shape}", found.shape)
    return found


def _summands(problem: Problem, weights: np.ndarray) -> str:
    used = np.flatnonzero(weights)
    return problem.label(int(used[0])) if used.size == 1 else "a weighted sum"
