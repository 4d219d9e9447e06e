"""A report for programs, as plain data, and for notebooks, as a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np

# Pixels of a table before it scrolls: about twenty lines. Chosen.
TABLE_HEIGHT = 480
NUMBER_STYLE = "text-align:right;padding:0 0.6em;font-variant-numeric:tabular-nums"
TEXT_STYLE = "text-align:left;padding:0 0.6em"

RULES = ("constraint", "bound", "surrogate", "true", "plain", "holds", "price")
PROMISE = ("constraint", "promised", "training", "held out", "p")
GROUPS = ("group", "rows", "base", "positive (95 %)", "TPR", "FPR", "accuracy", "plain positive")


def as_dict(report: Any) -> dict[str, Any]:
    """Return a report as plain data that JSON can hold: what is not finite is None."""
    found = {name: _plain(value) for name, value in asdict(report).items()}
    for line, made in zip(report.constraints, found["constraints"]):
        made["price"] = line.price
    return found


def as_html(report: Any) -> str:
    """Return a report as a piece of HTML; all text in it is escaped."""
    first, *rest = str(report).split("\n\n", 1)[0].splitlines()
    parts = [f"<p><b>{escape(first)}</b></p>", *(f"<p>{escape(line)}</p>" for line in rest)]
    if report.promise is not None:
        parts.append(f"<p><b>{escape(report.promise.sentence)}</b></p>")
        parts.append(_table(PROMISE, map(_promised, report.promise.worst)))
    if report.constraints:
        parts.append(f"<p>{escape(report.scope)}</p>")
        parts.append(_table(RULES, map(_constraint, report.constraints)))
    if report.groups:
        parts.append(_table(GROUPS, map(_group, report.groups)))
    parts += [f"<p>{escape(remark)}</p>" for remark in report.remarks]
    return f"<div>{''.join(parts)}</div>"


def _promised(line: Any) -> list[str]:
    values = [f"{line.training:.4f}", f"{line.held_out:.4f}", f"{line.p_value:.2g}"]
    return [escape(line.name), escape(f"{line.sense} {line.promised:.4g}"), *values]


def _constraint(line: Any) -> list[str]:
    values = [f"{value:.4f}" for value in (line.surrogate, line.true, line.unconstrained)]
    holds = "yes" if line.holds else "<b>NO</b>"
    return [
        escape(line.name),
        escape(f"{line.sense} {line.bound:.4g}"),
        *values,
        holds,
        escape(line.price),
    ]


def _group(line: Any) -> list[str]:
    interval = f"{line.positive_rate:.3f} [{line.interval[0]:.3f}, {line.interval[1]:.3f}]"
    rates = [f"{rate:.3f}" for rate in (line.true_positive_rate, line.false_positive_rate)]
    ends = [f"{line.accuracy:.4f}", f"{line.plain_positive_rate:.3f}"]
    return [escape(line.group), str(line.rows), f"{line.base_rate:.3f}", interval, *rates, *ends]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already; it scrolls where it is long."""
    top = "".join(_cell("th", i, escape(name)) for i, name in enumerate(head))
    body = "".join(
        f"<tr>{''.join(_cell('td', i, cell) for i, cell in enumerate(row))}</tr>" for row in rows
    )
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="max-height:{TABLE_HEIGHT}px;overflow:auto">{table}</div>'


def _cell(tag: str, place: int, content: str) -> str:
    return f'<{tag} style="{NUMBER_STYLE if place else TEXT_STYLE}">{content}</{tag}>'


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)
