"""Formulas that are written once: as plain Python for speed, with their exact gradients.

A formula is called with `Expression` variables and thereby recorded. Gradients are formed by the reverse
chain rule, as further expressions, and all of it becomes the source of one Python function, in which
every part is computed once. The same source runs on symbols of another library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Expression:
    """An operation on other expressions; a number or a variable where there is nothing to operate on."""

    operation: str
    parts: tuple[Any, ...]

    def __add__(self, other):
        return _sum(self, expression(other))

    def __sub__(self, other):
        return _sum(self, -expression(other))

    def __mul__(self, other):
        return _product(self, expression(other))

    def __truediv__(self, other):
        return Expression("/", (self, expression(other)))

    def __pow__(self, exponent):
        if exponent == 1:
            return self
        kind = "**" if float(exponent).is_integer() else "pow"
        return Expression(kind, (self, Expression("number", (exponent,))))

    def __neg__(self):
        return _product(Expression("number", (-1.0,)), self)

    def __radd__(self, other):
        return self if other == 0 else _sum(expression(other), self)

    def __rsub__(self, other):
        return _sum(expression(other), -self)

    def __rmul__(self, other):
        return _product(expression(other), self)

    def __rtruediv__(self, other):
        return Expression("/", (expression(other), self))

    def is_number(self, value) -> bool:
        return self.operation == "number" and self.parts[0] == value


def exp(x):
    return Expression("exp", (x,))


def log(x):
    return Expression("log", (x,))


def sqrt(x):
    return Expression("sqrt", (x,))


def sin(x):
    return Expression("sin", (x,))


def cos(x):
    return Expression("cos", (x,))


def erf(x):
    return Expression("erf", (x,))


def _sum(a, b):
    if a.is_number(0):
        return b
    return a if b.is_number(0) else Expression("+", (a, b))


def _product(a, b):
    if a.operation == b.operation == "number":
        return Expression("number", (a.parts[0] * b.parts[0],))
    if a.is_number(1):
        return b
    return a if b.is_number(1) else Expression("*", (a, b))


def expression(value):
    """A number as an expression."""
    return value if isinstance(value, Expression) else Expression("number", (float(value),))


# The derivatives of an operation by its parts; of a power by its base alone.
DERIVATIVES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "+": lambda *_: (1.0, 1.0),
    "*": lambda a, b: (b, a),
    "/": lambda a, b: (1.0 / b, -a / b**2),
    "**": lambda a, n: (n.parts[0] * a ** (n.parts[0] - 1),),
    "pow": lambda a, n: (n.parts[0] * a ** (n.parts[0] - 1),),
    "exp": lambda a: (exp(a),),
    "log": lambda a: (1.0 / a,),
    "sqrt": lambda a: (0.5 / sqrt(a),),
    "sin": lambda a: (cos(a),),
    "cos": lambda a: (-sin(a),),
    "erf": lambda a: (2 / math.sqrt(math.pi) * exp(-(a**2)),),
}


def variables(count: int) -> list[Expression]:
    return [Expression("variable", (i,)) for i in range(count)]


def gradient(value: Expression, by: Sequence[Expression]) -> list[Expression]:
    """The derivatives of `value` by the variables, by the chain rule from the end to the start."""
    slopes = {id(value): Expression("number", (1.0,))}
    for node in reversed(_ordered([value])):
        if node.operation in DERIVATIVES:
            for part, derivative in zip(node.parts, DERIVATIVES[node.operation](*node.parts)):
                term = slopes[id(node)] * derivative
                slopes[id(part)] = slopes[id(part)] + term if id(part) in slopes else term
    return [slopes.get(id(x), Expression("number", (0.0,))) for x in by]


def source(results: Sequence[Expression], dim: int) -> str:
    """A Python function `formula(x)` that returns the results; equal parts are computed once."""
    lines, names, known = [], {}, {}
    for node in _ordered(results):
        if node.operation == "number":
            names[id(node)] = f"({node.parts[0]!r})"
        elif node.operation == "variable":
            names[id(node)] = f"x{node.parts[0]}"
        else:
            parts = [names[id(part)] for part in node.parts]
            infix = not node.operation.isalpha()
            text = (
                f" {node.operation} ".join(parts)
                if infix
                else f"{node.operation}({', '.join(parts)})"
            )
            if text not in known:
                known[text] = f"t{len(known)}"
                lines.append(f"    {known[text]} = {text}")
            names[id(node)] = known[text]
    arguments = ", ".join(f"x{i}" for i in range(dim))
    answer = ", ".join(names[id(result)] for result in results)
    return "\n".join(
        ["def formula(x):", f"    {arguments}, = x", *lines, f"    return ({answer},)"]
    )


def compiled(
    results: Sequence[Expression], dim: int, namespace: Any = math
) -> Callable[[Any], Any]:
    """The function of `source`, on the operations of a module with the names of `math`."""
    names = {name: getattr(namespace, name) for name in DERIVATIVES if name.isalpha()}
    exec(source(results, dim), names)
    return names["formula"]


def _ordered(results):
    """All parts of the results, each after its own parts."""
    order, seen, waiting = [], set(), [(node, False) for node in reversed(results)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            if node.operation in DERIVATIVES:
                waiting.extend((part, False) for part in reversed(node.parts))
    return order
