"""The guarantee table, computed from the registry."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.solvers._registry import SOLVERS

GUARANTEE_COLUMNS = (
    "method",
    "problems",
    "driven to eps",
    "(sub)gradients",
    "needs",
    "reference",
)
"""The columns of the guarantee table."""


def guarantee_rows() -> Iterator[tuple[str, ...]]:
    """Yield one row of `GUARANTEE_COLUMNS` for every registered method."""
    for name, make in SOLVERS.items():
        solver = make()
        promise = solver.guarantee
        needs = ", ".join(need.sentence for need in solver.needs) or "-"
        yield name, promise.problems, promise.quantity, promise.rate, needs, promise.reference


def guarantee_page() -> str:
    """Return the table as a Markdown page."""
    rows = [GUARANTEE_COLUMNS, tuple("---" for _ in GUARANTEE_COLUMNS), *guarantee_rows()]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    note = (
        "What theory promises of each method with the settings its paper needs. The works are listed in "
        "[references.md](references.md). Computed from the registry by "
        "`python -m equipoise.solvers docs/guarantees.md`."
    )
    return "\n".join(["# Guarantees", "", note, "", *lines, ""])
