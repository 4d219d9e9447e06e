"""One run of the library on one case, and what the judge says of it."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hunt.cases import Case, library_problem
from benchmarks.hunt.judge import Claim, better_nearby, findings
from benchmarks.hunt.kinds import draw

# Of the runs, this share leaves the choice of the method to the library.
AUTO = 0.6
TOLERANCES = 1e-1, 1e-2, 1e-4, 1e-6
STEPS, SECONDS = 400, 1.5
# A success whose objective is lower by this much at a feasible point nearby is no minimum.
LOWER = 1e-3
# Errors that name what is wrong with the input: a parameter that the facts do not tell, a start where a
# function is not finite.
RULES = "must be given", "must be a point where all is finite"


@dataclass(frozen=True)
class Outcome:
    kind: str
    seed: int
    method: str
    tol: float
    status: str  # of the run; "refused" where the method does not take the problem
    success: bool
    no_minimum: bool
    wrong: tuple[str, ...]
    seconds: float

    @property
    def reproducer(self) -> str:
        return (
            f"python -m benchmarks.hunt --kind {self.kind} --seed {self.seed} --count 1 "
            f"--method {self.method} --tol {self.tol:g}"
        )


def settings(kind: str, seed: int) -> tuple[str, float]:
    """The method and the tolerance of a run, drawn apart from the case."""
    from equipoise.solvers import SOLVERS

    rng = np.random.default_rng([seed, *kind.encode(), 1])
    method = "auto" if rng.random() < AUTO else str(rng.choice(sorted(SOLVERS)))
    return method, float(rng.choice(TOLERANCES))


def hunt_one(kind: str, seed: int, method: str = "", tol: float = 0.0) -> Outcome:
    """Draw the case, run, and judge."""
    drawn = settings(kind, seed)
    method, tol = method or drawn[0], tol or drawn[1]
    case = draw(kind, seed)
    began = time.perf_counter()
    result, wrong = _run(case, method, tol)
    seconds = time.perf_counter() - began
    if isinstance(result, str):
        return Outcome(kind, seed, method, tol, result, False, False, tuple(wrong), seconds)
    wrong += findings(case, _claim(result, tol))
    no_minimum = bool(
        result.success
        and result.status.name == "CONVERGED"
        and case.honest
        and better_nearby(case, result.x) > LOWER + 10 * tol
    )
    name = result.status.name
    return Outcome(kind, seed, method, tol, name, result.success, no_minimum, tuple(wrong), seconds)


def _claim(result: Any, tol: float) -> Claim:
    return Claim(
        success=bool(result.success),
        proved_infeasible=result.status.name == "INFEASIBLE",
        only_feasible=result.status.name == "FEASIBLE",
        x=np.asarray(result.x, dtype=float),
        multipliers=np.asarray(result.multipliers, dtype=float),
        violation=float(result.maxcv),
        objective=float(result.fun),
        tol=tol,
    )


def _run(case: Case, method: str, tol: float) -> tuple[Any, list[str]]:
    """The result, or a word for why there is none; and the errors and warnings of the library."""
    from equipoise import solve
    from equipoise.solvers import UnsuitableSolverError

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            problem = library_problem(case)
            result: Any = solve(
                problem, method, case.start, tol=tol, max_steps=STEPS, max_seconds=SECONDS
            )
        except UnsuitableSolverError:
            return "refused", []
        except Exception as error:
            if isinstance(error, ValueError) and any(rule in str(error) for rule in RULES):
                return "refused", []
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            return "error", [f"traceback: {type(error).__name__} at {place}: {error}"]
    return result, sorted(
        {f"warning: {w.message} ({Path(w.filename).name}:{w.lineno})" for w in caught}
    )
