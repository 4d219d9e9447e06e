"""One problem of the collection: its formulas, bounds, start and best known optimum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.hock_schittkowski import expressions
from benchmarks.hock_schittkowski.expressions import Expression
from equipoise import FunctionProblem, sets

Formulas = Callable[..., tuple[Any, Sequence[Any], Sequence[Any]]]

COLLECTION: dict[int, Case] = {}  # by the number in the book


@dataclass(frozen=True, eq=False)
class Case:
    """Minimise an objective where some formulas are at least 0, others equal 0, within bounds.

    Attributes
    ----------
    number : the number in the book.
    formulas : of variables x1, ..., xn to the objective, what is to be at least 0, and what is to be 0.
    start : the start of the book, moved to the nearest point within the bounds.
    best : the best known optimum.
    lower, upper : the bounds.
    degenerate : why no constraint qualification holds at the optimum; empty where one does.
    others : values of the objective at other local optima, where solvers are known to end.
    """

    number: int
    formulas: Formulas
    start: np.ndarray
    best: float
    lower: np.ndarray
    upper: np.ndarray
    degenerate: str
    others: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"HS{self.number}"

    @property
    def dim(self) -> int:
        return self.start.size

    @cached_property
    def variables(self) -> list[Expression]:
        return [Expression("variable", (i,)) for i in range(self.dim)]

    @cached_property
    def objective(self) -> Expression:
        return expressions.expression(self.formulas(*self.variables)[0])

    @cached_property
    def at_least_zero(self) -> list[Expression]:
        return list(self.formulas(*self.variables)[1])

    @cached_property
    def zero(self) -> list[Expression]:
        return list(self.formulas(*self.variables)[2])

    @cached_property
    def values(self) -> Callable[[np.ndarray], np.ndarray]:
        """``x`` to the objective, what is to be at least 0, and what is to be 0."""
        return self.computed([self.objective, *self.at_least_zero, *self.zero])

    def violation(self, x: np.ndarray) -> float:
        """The largest amount by which a constraint or a bound is broken."""
        n = len(self.at_least_zero)
        constraints = self.values(x)[1:]
        broken = [-constraints[:n], abs(constraints[n:]), self.lower - x, x - self.upper]
        return float(np.max(np.concatenate(broken), initial=0.0))

    def problem(self, seen: set[bytes] | None = None) -> FunctionProblem:
        """The problem as a user would write it; an equality is a pair of inequalities.

        The points at which the objective is evaluated are put into `seen`.
        """
        constraints = [-c for c in self.at_least_zero] + [s * e for e in self.zero for s in (1, -1)]
        return FunctionProblem(
            noted(self.with_gradient(self.objective), set() if seen is None else seen),
            [self.with_gradient(constraint) for constraint in constraints],
            domain=sets.Box(self.lower, self.upper),
        )

    def with_gradient(
        self, formula: Expression
    ) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """``x`` to the value and the gradient of one formula."""
        compute = self.computed([formula, *expressions.gradient(formula, self.variables)])

        def function(x):
            numbers = compute(x)
            return float(numbers[0]), numbers[1:]

        return function

    def computed(self, formulas: Sequence[Expression]) -> Callable[[np.ndarray], np.ndarray]:
        """``x`` to the values of formulas; all NaN where one is not defined."""
        compute = expressions.compiled(formulas, self.dim)

        def function(x):
            try:
                return np.array(compute(x.tolist()))
            except (ArithmeticError, ValueError):
                return np.full(len(formulas), math.nan)

        return function


def noted(function: Callable[[np.ndarray], Any], seen: set[bytes]) -> Callable[[np.ndarray], Any]:
    """The function, which puts the points where it is called into `seen`."""

    def noting(x):
        seen.add(x.tobytes())
        return function(x)

    return noting


def case(
    number: int,
    start: Sequence[float],
    best: float,
    lower: float | Sequence[float] = -math.inf,
    upper: float | Sequence[float] = math.inf,
    degenerate: str = "",
    others: Sequence[float] = (),
) -> Callable[[Formulas], Formulas]:
    """Put the formulas that follow into the collection."""

    def collect(formulas):
        x = np.array(start, dtype=float)
        low, high = (np.broadcast_to(np.array(b, dtype=float), x.shape) for b in (lower, upper))
        COLLECTION[number] = Case(
            number, formulas, np.clip(x, low, high), best, low, high, degenerate, tuple(others)
        )
        return formulas

    return collect
