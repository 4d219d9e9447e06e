"""All applicable methods on the reference problems: residuals, evaluations, seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equipoise._status import Status
from equipoise.problems import REFERENCES, Reference
from equipoise.run import Result, solve
from equipoise.solvers import SOLVERS, UnsuitableSolverError

COLUMNS = (
    "problem",
    "method",
    "status",
    "objective",
    "violation",
    "stationarity",
    "complementarity",
    "to solution",
    "steps",
    "values",
    "gradients",
    "seconds",
)
NOT_FOR_IT = "not for it"  # the status of a method that needs what the problem lacks


def compare_methods(
    methods: Iterable[str] = SOLVERS,
    problems: Iterable[str] = REFERENCES,
    *,
    max_steps: int = 20_000,
    tol: float = 1e-5,
    max_seconds: float | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield one row of `COLUMNS`, as text, as soon as a method has run on a problem.

    Every method runs with all its defaults from the problem's own start. Where the problem lacks
    what a method needs, the row says so. A run that is interrupted from the keyboard is the last.
    """
    methods = list(methods)
    for name in problems:
        reference = REFERENCES[name]()
        for method in methods:
            try:
                result = solve(
                    reference.problem,
                    method,
                    reference.start,
                    max_steps=max_steps,
                    tol=tol,
                    max_seconds=max_seconds,
                )
            except UnsuitableSolverError:
                yield (name, method, NOT_FOR_IT, *["-"] * (len(COLUMNS) - 3))
                continue
            yield (name, method, *_cells(result, reference))
            if result.status is Status.INTERRUPTED:
                return


def _cells(result: Result, reference: Reference) -> tuple[str, ...]:
    """Return the columns from the status on."""
    certificate = result.certificate
    return (
        result.status.name.lower(),
        f"{result.fun:.6f}",
        f"{result.maxcv:.1e}",
        f"{certificate.stationarity:.1e}",
        f"{certificate.complementarity:.1e}",
        f"{reference.distance(result.x):.1e}",
        str(result.nit),
        str(result.nfev),
        str(result.njev),
        f"{result.seconds:.3f}",
    )
