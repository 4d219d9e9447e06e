"""The command line: compare methods, list them and what they promise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from equipoise.compare import COLUMNS, compare_methods
from equipoise.problems import REFERENCES
from equipoise.solvers import GUARANTEE_COLUMNS, SOLVERS, guarantee_rows

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train models under hard constraints, and prove where the training stopped.",
)


@app.command()
def compare(
    method: Annotated[
        list[str] | None, typer.Option(help="A method; repeat for several. Default: all.")
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(help="A reference problem; repeat for several. Default: all."),
    ] = None,
    max_steps: Annotated[int, typer.Option(help="Steps at the most.")] = 20_000,
    tol: Annotated[float, typer.Option(help="KKT residual to reach.")] = 1e-5,
    max_seconds: Annotated[float, typer.Option(help="Seconds for each run.")] = 10.0,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values.")] = False,
) -> None:
    """Run all applicable methods, with all defaults, on the reference problems."""
    methods = _known("method", method, SOLVERS)
    problems = _known("problem", problem, REFERENCES)
    rows = compare_methods(methods, problems, max_steps=max_steps, tol=tol, max_seconds=max_seconds)
    if csv:
        typer.echo(",".join(COLUMNS))
        for row in rows:
            typer.echo(",".join(row))
        return
    table = Table(title=f"tol {tol:g}, at most {max_steps} steps and {max_seconds:g} s")
    for column in COLUMNS:
        left = column in ("problem", "method", "status")
        table.add_column(column, justify="left" if left else "right", no_wrap=left)
    last = None
    for row in rows:
        if last is not None and row[0] != last:
            table.add_section()
        table.add_row(*row)
        last = row[0]
    console = Console()
    Console(width=max(console.width, 150)).print(table)


@app.command()
def methods() -> None:
    """List the methods and what theory promises of them."""
    table = Table(*GUARANTEE_COLUMNS)
    for row in guarantee_rows():
        table.add_row(*row)
    console = Console()
    Console(width=max(console.width, 150)).print(table)


def _known(option: str, given: list[str] | None, known: Iterable[str]) -> list[str]:
    known = list(known)
    for name in given or []:
        if name not in known:
            raise typer.BadParameter(f"{name!r} is not a {option}; there are {', '.join(known)}.")
    return given or known


def main() -> None:
    """Start the command line."""
    app()
