"""What a stream says of itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.estimators._stream.stream import Stream

# Classes of groups that are listed, at the most. Chosen.
MAX_CELLS_LISTED = 50


def stream_text(stream: Stream) -> str:
    """Return what was seen, what is remembered, and what is known of the rules."""
    kept = int(stream.cells.kept.sum())
    lines = [
        f"{stream.rows} rows seen, {kept} of them remembered; the model is that of the first "
        f"{stream.known} rows, and was made anew {stream.refreshes} times.",
        "",
        *_cells(stream),
        *_rules(stream),
    ]
    if stream.waiting:
        lines += ["", "cannot be judged yet:"]
        lines += [f"  {name}: {reason}" for name, reason in stream.waiting]
    return "\n".join(lines)


def _cells(stream: Stream) -> list[str]:
    """Return a line for every class of every group: rows, and how long ago the last one came."""
    cells = stream.cells
    named = [
        ", ".join([f"class {stream.classes[code]}", *map(str, values)])
        for code, values in list(cells.place)[:MAX_CELLS_LISTED]
    ]
    width = max(12, *map(len, named))
    head = f"{'seen':{width}}  {'rows':>9}  {'remembered':>10}  {'rows since the last':>19}"
    return [head] + [
        f"{name:{width}}  {cells.rows[i]:9d}  {cells.kept[i]:10d}  {stream.rows - cells.last[i]:19d}"
        for i, name in enumerate(named)
    ]


def _rules(stream: Stream) -> list[str]:
    """Return a line for every rule that was counted."""
    if not stream.rules:
        return []
    width = max(12, *(len(rule.name) for rule in stream.rules))
    head = f"{'rule':{width}}  {'bound':>9}  {'counted':>8}  {'error':>7}  holds"
    lines = ["", head]
    for rule in stream.rules:
        error = "unknown" if math.isnan(rule.error) else f"{rule.error:.4f}"
        lines.append(
            f"{rule.name:{width}}  {rule.sense:>2}{rule.bound:7.4g}  {rule.counted:8.4f}  "
            f"{error:>7}  {'yes' if rule.holds else 'NO':>5}"
        )
    return lines
