"""A problem made of plain functions that return ``(value, gradient)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equipoise import _check
from equipoise._array import Array, copied, is_tensor, like
from equipoise._problem import Facts, Point, Problem
from equipoise.problems._describe import set_attributes
from equipoise.sets import Set

Function = Callable[[Array], tuple[float, Any]]


class FunctionProblem(Problem):
    """A problem from callables, each mapping ``x`` to ``(value, gradient)``.

    Parameters
    ----------
    objective : callable
        ``x -> (value, gradient)``; any subgradient where the function has a kink.
    constraints : sequence of callables
        Feasible where the value is ``<= 0``.
    domain : Set, default whole space
    dim : int
        May be left out where the domain knows it.
    names : sequence of str, optional
        Names of the constraints for messages; by default those of the callables.
    facts : Facts, optional
        What you know about the functions; some methods need it.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise import FunctionProblem, sets
    >>> problem = FunctionProblem(
    ...     objective=lambda x: ((x[0] - 2) ** 2 + x[1] ** 2, np.array([2 * x[0] - 4, 2 * x[1]])),
    ...     constraints=[lambda x: (x @ x - 1, 2 * x)],
    ...     domain=sets.Box(-3, 3, dim=2),
    ... )
    >>> problem.at(np.array([1.0, 0.0])).values
    array([1., 0.])
    """

    def __init__(
        self,
        objective: Function,
        constraints: Sequence[Function] | Function = (),
        *,
        domain: Set | None = None,
        dim: int | None = None,
        names: Sequence[str] | None = None,
        facts: Facts | None = None,
    ) -> None:
        owner = "FunctionProblem"
        if callable(constraints):
            constraints = (constraints,)
        constraints = _check.sequence(owner, "constraints", constraints)
        for label, function in zip(
            ("objective", *_numbered(constraints)), (objective, *constraints)
        ):
            if not callable(function):
                _check.fail(owner, label, "must be callable", function)
        names = names if names is not None else _names(constraints)
        set_attributes(self, dim, len(constraints), domain, names, facts)
        self._functions = (objective, *constraints)

    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""
        x = self._argument(x)
        values = np.empty(len(self._functions))
        gradients = []
        for i, function in enumerate(self._functions):
            values[i], gradient = self._call(i, function, x)
            gradients.append(gradient)

        def vjp(weights: np.ndarray) -> Array:
            total = 0.0 * x
            for weight, gradient in zip(weights, gradients):
                if weight != 0.0:  # NaN elsewhere is no fault of this sum
                    total = total + gradient * float(weight)
            return total

        return Point(x, values, vjp)

    def _call(self, i: int, function: Function, x: Array) -> tuple[float, Array]:
        """Call one function; say which one misbehaves, and how.

        It may write to what it is given, and use one array for all its gradients: both are copies.
        """
        label = self.label(i)
        answer = function(copied(x))
        if not (isinstance(answer, tuple) and len(answer) == 2):
            kind = type(answer).__name__
            kind += f" of {len(answer)}" if isinstance(answer, tuple) else ""
            reason = f"{label} must return (value, gradient), got one {kind}."
            raise _check.WrongKindError("FunctionProblem", reason)
        value, gradient = answer
        if isinstance(x, np.ndarray):
            gradient = self._array(label, gradient).copy()
        elif not is_tensor(gradient):  # a tensor at x needs one here
            gradient = like(self._array(label, gradient), x)
        else:
            gradient = copied(gradient)
        if tuple(gradient.shape) != (self.dim,):
            reason = (
                f"{label} returned a gradient of shape {tuple(gradient.shape)}, expected "
                f"({self.dim},)."
            )
            raise _check.InputError("FunctionProblem", reason)
        if type(value) is float:
            return value, gradient
        if not _check.is_number(value):
            reason = f"{label} must return a number as its value, got {_described(value)}."
            raise _check.WrongKindError("FunctionProblem", reason)
        return float(value), gradient

    def _array(self, label: str, gradient: Any) -> np.ndarray:
        """Return a gradient as an array of real numbers."""
        if isinstance(gradient, np.ndarray) and gradient.dtype.kind == "f":
            return gradient
        try:
            return _check.numbers("FunctionProblem", "gradient", gradient)
        except _check.InputError as error:
            reason = f"{label} returned a gradient that is none: {error.reason}"
            raise _check.InputError("FunctionProblem", reason) from None


def _described(value: Any) -> str:
    shape = np.shape(value) if isinstance(value, np.ndarray | list | tuple) else ()
    return f"an array of shape {shape}" if shape else f"a {type(value).__name__}"


def _numbered(constraints: Sequence[Any]) -> list[str]:
    return [f"constraints[{i}]" for i in range(len(constraints))]


def _names(constraints: Sequence[Function]) -> tuple[str, ...]:
    given = [getattr(function, "__name__", "") for function in constraints]
    return tuple(
        name if name and name != "<lambda>" and given.count(name) == 1 else f"f_{i}"
        for i, name in enumerate(given, start=1)
    )
