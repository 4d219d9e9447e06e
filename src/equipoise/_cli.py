"""The command line: compare methods, list them and what they promise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from itertools import product
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from equipoise import __version__, _check
from equipoise._compare import COLUMNS, NOT_FOR_IT, compare_methods
from equipoise._status import Status
from equipoise.problems import REFERENCES
from equipoise.solvers import GUARANTEE_COLUMNS, SOLVERS, guarantee_rows

INTERRUPTED = 130  # the exit code of a program that was ended by Ctrl-C
TEXT_COLUMNS = ("problem", "method", "status")  # columns of words

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train models under hard constraints, and prove where the training stopped.",
)


def _checked(check: Callable[..., Any]) -> Callable[[typer.CallbackParam, Any], Any]:
    """Return a callback that judges an option by a check of `equipoise._check`."""

    def callback(option: typer.CallbackParam, value: Any) -> Any:
        try:
            return check("compare", str(option.name), value)
        except _check.InputError as error:
            raise typer.BadParameter(error.reason) from None

    return callback


def _at_least_one(owner: str, parameter: str, value: int) -> int:
    return _check.count(owner, parameter, value, least=1)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"equipoise {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Train models under hard constraints, and prove where the training stopped."""


@app.command()
def compare(
    method: Annotated[
        list[str] | None, typer.Option(help="A method; repeat for several. Default: all.")
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option(help="A reference problem; repeat for several. Default: all."),
    ] = None,
    max_steps: Annotated[
        int, typer.Option(help="Steps at the most.", callback=_checked(_at_least_one))
    ] = 20_000,
    tol: Annotated[
        float, typer.Option(help="KKT residual to reach.", callback=_checked(_check.non_negative))
    ] = 1e-5,
    max_seconds: Annotated[
        float, typer.Option(help="Seconds for each run.", callback=_checked(_check.positive))
    ] = 10.0,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values.")] = False,
) -> None:
    """Run all applicable methods, with all defaults, on the reference problems.

    Each row is printed when its run has ended. Ctrl-C ends the comparison; what was done stays.
    """
    methods = _known("method", method, SOLVERS)
    problems = _known("problem", problem, REFERENCES)
    rows = compare_methods(methods, problems, max_steps=max_steps, tol=tol, max_seconds=max_seconds)
    pairs = list(product(problems, methods))
    layout = ",".join if csv else _aligned(methods, problems)
    done = 0
    bar = _progress()
    task = bar.add_task("", total=len(pairs))
    write = _writer(bar)
    with nullcontext() if bar.disable else bar:
        write(layout(COLUMNS))
        try:
            for here, name in pairs:
                bar.update(task, description=f"{name} on {here}", refresh=True)
                row = next(rows)
                interrupted = row[2] == Status.INTERRUPTED.name.lower()
                done += not interrupted
                write(layout(row))
                if interrupted:
                    break
                bar.advance(task)
        except KeyboardInterrupt:  # between two runs
            pass
    if done < len(pairs):
        typer.echo(f"Interrupted: {done} of {len(pairs)} runs were finished.", err=True)
        raise typer.Exit(INTERRUPTED)


@app.command()
def methods() -> None:
    """List the methods and what theory promises of them."""
    table = Table(*GUARANTEE_COLUMNS)
    table.columns[0].no_wrap = True
    for row in guarantee_rows():
        table.add_row(*map(Text, row))  # plain text: brackets are no markup
    console = Console()
    Console(width=max(console.width, 150)).print(table)


def _progress() -> Progress:
    """Return a bar that is shown on a terminal only, and never among the rows in a file."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=not sys.stdout.isatty())  # not what FORCE_COLOR says is a terminal
    return Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.file.isatty(),
    )


def _writer(bar: Progress) -> Callable[[str], None]:
    """Return what prints a line at once: above the bar if it is on the same terminal."""
    if bar.disable or bar.console.stderr:
        return typer.echo
    return lambda line: bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _aligned(methods: list[str], problems: list[str]) -> Callable[[Iterable[str]], str]:
    """Return what lays out a row in columns whose widths are known before any row is."""
    longest = {
        "problem": problems,
        "method": methods,
        "status": [NOT_FOR_IT, *(status.name for status in Status)],
        "objective": ["-1234.567890"],
        "steps": ["1234567"],
        "values": ["1234567"],
        "seconds": ["1234.567"],
    }
    widths = [max(len(cell) for cell in [name, *longest.get(name, [])]) for name in COLUMNS]

    def layout(row: Iterable[str]) -> str:
        cells = [
            cell.ljust(width) if name in TEXT_COLUMNS else cell.rjust(width)
            for name, width, cell in zip(COLUMNS, widths, row)
        ]
        return "  ".join(cells).rstrip()

    return layout


def _known(option: str, given: list[str] | None, known: Iterable[str]) -> list[str]:
    known = list(known)
    for name in given or []:
        if name not in known:
            listed = f"{name!r} is not a {option}; there are {', '.join(known)}."
            raise typer.BadParameter(listed, param_hint=f"'--{option}'")
    return given or known


def main() -> None:
    """Start the command line."""
    app()
