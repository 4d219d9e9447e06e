"""A report as text: what `print` shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.auditing._lines import classes_named

# Bounds that the report shows, at the most: where there are more, the worst ones, each pair of groups once.
# Chosen.
MAX_BOUNDS_LISTED = 10


def as_text(report: Any) -> str:
    """Return a report as text, its tables in columns of equal width."""
    parts = [_head(report)]
    if report.constraints:
        parts += [] if report.promise is None else [[str(report.promise)]]
        parts += [[report.scope], _bounds(report.constraints)]
    if report.groups:
        parts.append(_groups(report.groups))
    parts += [[remark] for remark in report.remarks]
    return "\n\n".join("\n".join(part) for part in parts)


def _head(report: Any) -> list[str]:
    near = "" if report.near is None else f" ({report.near:.1e} next to it, on kinks)"
    lines = [
        report.status,
        f"{report.quality}; KKT residual {report.residual:.1e}{near}; "
        f"{report.problems_solved} problems solved",
    ]
    lines += classes_named(report.classes)
    if report.choice is not None:
        lines.append(str(report.choice))
    return lines


def _bounds(constraints: Sequence[Any]) -> list[str]:
    shown = _worst(constraints)
    width = max(12, *(len(line.name) for line in shown))
    lines = [
        f"{'constraint':{width}}  {'bound':>9}  {'surrogate':>9}  {'true':>8}  {'plain':>8}  holds  price"
    ]
    lines += [
        f"{line.name:{width}}  {line.sense:>2}{_bound(line.bound):>7}  {line.surrogate:9.4f}  "
        f"{line.true:8.4f}  {line.unconstrained:8.4f}  {'yes' if line.holds else 'NO':>5}  "
        f"{line.price}"
        for line in shown
    ]
    if len(shown) < len(constraints):
        more = len(_once(constraints)) - len(shown)
        left = f"{more} more, farther from their bounds" if more else "the other side of each"
        lines.append(f"... and {left} (`to_frame` has all)")
    return lines


def _groups(groups: Sequence[Any]) -> list[str]:
    width = max(8, *(len(line.group) for line in groups))
    head = (
        f"{'group':{width}}  {'rows':>7}  {'base':>6}  {'positive (95 %)':>22}  {'TPR':>6}  "
        f"{'FPR':>6}  {'accuracy':>8}  {'plain positive':>14}"
    )
    return [head] + [
        f"{line.group:{width}}  {line.rows:7d}  {line.base_rate:6.3f}  "
        f"{line.positive_rate:6.3f} [{line.interval[0]:.3f}, {line.interval[1]:.3f}]  "
        f"{line.true_positive_rate:6.3f}  {line.false_positive_rate:6.3f}  "
        f"{line.accuracy:8.4f}  {line.plain_positive_rate:14.3f}"
        for line in groups
    ]


def _worst(lines: Sequence[Any]) -> list[Any]:
    """Return all bounds if they are few; else the worst ones, of each pair of groups the larger side."""
    if len(lines) <= MAX_BOUNDS_LISTED:
        return list(lines)
    return sorted(_once(lines), key=lambda line: -line.excess)[:MAX_BOUNDS_LISTED]


def _once(lines: Sequence[Any]) -> list[Any]:
    """Return the side of each pair of groups that is nearer to its bound, and all other bounds."""
    found: dict[Any, Any] = {}
    for line in lines:
        pair = len(line.groups) == 2
        key = (line.name.split(":")[0], frozenset(line.groups)) if pair else line.name
        if key not in found or line.excess > found[key].excess:
            found[key] = line
    return list(found.values())


def _bound(value: float) -> str:
    """Three decimals, or as many digits as it takes."""
    return f"{value:.3f}" if round(value, 3) == value else f"{value:.4g}"
