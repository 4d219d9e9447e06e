"""Small changes of a source file, each of which a test should notice.

Changed are comparisons, arithmetic, signs, numbers, ``and`` and ``or``, minima and maxima; statements and
early exits are dropped. Left alone are docstrings, annotations, error messages, and numbers that have a
name of their own or are defaults: those are tuned, and `docs/constants.md` says what doubling them does. So
it is not changed either whether equality with them counts.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "any": "all"}
SWAPPED |= {there: here for here, there in SWAPPED.items()}
# A smaller number is a tolerance, of which twice as much is a matter of taste: 1e-12 becomes 1e-6. Chosen.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Mutation:
    """One change: `before` at a place of a file becomes `after`."""

    path: str
    function: str  # the outermost function it is in, with its class
    line: int
    column: int
    before: str
    after: str
    text: str  # the line, without its indentation
    source: str  # the whole file, changed

    @property
    def key(self) -> str:
        """What tells this change from others, also after lines have moved."""
        return f"{self.path} | {self.text} | {self.before} -> {self.after}"


def mutations(path: str, source: str) -> Iterator[Mutation]:
    """Yield every change of a file."""
    old = source.encode()
    lines = old.splitlines(keepends=True)
    for function, body in functions(ast.parse(source)):
        for node in _changeable(body):
            for other in _others(node):
                after = ast.unparse(other)
                if isinstance(node, ast.expr):
                    after = f"({after})"
                start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
                end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
                changed = (old[:start] + after.encode() + old[end:]).decode()
                before = ast.unparse(node).splitlines()[0]
                text = lines[node.lineno - 1].decode().strip()
                place = path, function, node.lineno, node.col_offset
                yield Mutation(*place, before, after, text, changed)


def functions(node: ast.AST, place: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.Lambda]]:
    """Yield the outermost functions, each with its name and that of its class."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Lambda):
        place += ("." if place else "") + getattr(node, "name", "<lambda>")
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        yield place, node
        return
    for child in ast.iter_child_nodes(node):
        yield from functions(child, place)


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that may be changed: all, except what only speaks."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        for child in node.body if isinstance(node.body, list) else [node.body]:
            yield from _changeable(child)
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changeable(child)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may become."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            turned = COMPARISONS[type(op)]
            for kind in turned[-1:] if _is_tuned(node) else turned:
                yield _with(node, ops=[kind()])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield _with(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(_other_number(value))
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield _with(node, func=ast.Name(SWAPPED[name]))
        case ast.Call(func=ast.Attribute(attr=name)) if name in SWAPPED:
            yield _with(node, func=_with(node.func, attr=SWAPPED[name]))
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.If(orelse=[], body=[ast.Return() | ast.Continue() | ast.Break()]):
            yield ast.Pass()


def _is_tuned(comparison: ast.Compare) -> bool:
    """Whether a tolerance or a constant with a name of its own decides, so that equality does not matter."""
    parts = list(ast.walk(comparison))
    return any(
        (isinstance(part, ast.Name) and part.id.isupper())
        or (isinstance(part, ast.Constant) and isinstance(part.value, float) and part.value != 0)
        for part in parts
    )


def _other_number(value: float) -> float:
    """Return twice a number, 1 for 0, and half the digits of a tolerance."""
    if abs(value) < TOLERANCE:
        return math.sqrt(value) if value else 1.0
    return 2 * value


def _with(node: ast.AST, **changes: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed
