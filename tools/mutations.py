"""Small changes of a source file, each of which a test should notice.

Changed are comparisons, arithmetic, signs, numbers, ``and`` and ``or``, minima and maxima; statements and
early exits are dropped. Left alone are docstrings, annotations, error messages, and numbers that have a
name of their own or are defaults: those are tuned, and `docs/constants.md` says what doubling them does.
"""

from __future__ import annotations

import ast
import copy
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


@dataclass(frozen=True)
class Mutation:
    """One change: `before` at a place of a file becomes `after`."""

    path: str
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
    lines = source.encode().splitlines(keepends=True)
    for node in _changeable(ast.parse(source)):
        for other in _others(node):
            after = ast.unparse(other)
            if isinstance(node, ast.expr):
                after = f"({after})"
            start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
            end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
            old = source.encode()
            changed = (old[:start] + after.encode() + old[end:]).decode()
            before = ast.unparse(node).splitlines()[0]
            text = lines[node.lineno - 1].decode().strip()
            yield Mutation(path, node.lineno, node.col_offset, before, after, text, changed)


def _changeable(node: ast.AST, inside: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes that may be changed: those within functions, except what only speaks."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        body = node.body if isinstance(node.body, list) else [node.body]
        for child in body:
            yield from _changeable(child, True)
        return
    if inside:
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changeable(child, inside)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may become."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            for kind in COMPARISONS[type(op)]:
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
            yield ast.Constant(2 * value if value else 1.0)
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield _with(node, func=ast.Name(SWAPPED[name]))
        case ast.Call(func=ast.Attribute(attr=name)) if name in SWAPPED:
            yield _with(node, func=_with(node.func, attr=SWAPPED[name]))
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.If(orelse=[], body=[ast.Return() | ast.Continue() | ast.Break()]):
            yield ast.Pass()


def _with(node: ast.AST, **changes: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in changes.items():
        setattr(changed, name, value)
    return changed
