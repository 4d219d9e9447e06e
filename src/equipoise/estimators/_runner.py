"""Runner: solves the problems of one fit, with the estimator's settings and within one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from equipoise._problem import Problem
from equipoise.run import Budget, Result, solve
from equipoise.solvers import Solver, choose

# The residual to reach where a problem is only a step on the way to another one. Of 1e-4, 3e-4 and 1e-3 the
# last takes a tenth less time; the first gives the more accurate models in the cases of `make peers`.
ROUGH_TOL = 1e-4


@dataclass(frozen=True)
class Runner:
    """How an estimator solves its problems.

    Attributes
    ----------
    budget : Budget
        Shared by all problems of the fit.
    solver : str or Solver
    tol : float
        The KKT residual to reach.
    max_steps : int
        For each problem.
    seed : int
    aim : float
        The share of `tol` that the automatic choice of a solver aims for.
    """

    budget: Budget
    solver: str | Solver = "auto"
    tol: float = 1e-6
    max_steps: int = 1000
    seed: int = 0
    aim: float = 1.0

    def solve(
        self,
        problem: Problem,
        x0: np.ndarray,
        previous: Result | None = None,
        *,
        rough: bool | float = False,
        max_steps: int | None = None,
    ) -> Result:
        """Solve a problem; `previous` is the result of a similar one, whose multipliers help.

        `rough` says that it is only a step on the way to another problem, or which residual will do there.
        """
        on_the_way = ROUGH_TOL if rough is True else float(rough)
        tol = max(self.tol, reachable_residual(problem.facts.rounding), on_the_way)
        solver = choose(problem, self.aim * tol) if self.solver == "auto" else self.solver
        if previous is not None and previous.success and isinstance(solver, Solver):
            solver = solver.warm_started(previous)
        steps = min(self.max_steps, max_steps or self.max_steps)
        options: dict[str, Any] = {"max_steps": steps, "tol": tol, "seed": self.seed}
        options["second_order"] = False  # what counts is the model's report
        options["diagnose"] = not rough  # an answer on the way is not explained
        result = solve(problem, solver, x0, density=1, budget=self.budget, **options)
        if rough or tol == self.tol:
            return result
        detail = f"`tol` is taken as {tol:.1g}: less is below the rounding errors of the features."
        return result.judged(result.verdict.with_detail(detail))


def reachable_residual(rounding: float) -> float:
    """Return the least residual worth aiming for: with float32 features, about 1e-4."""
    return 1e3 * rounding


def seed_of(random_state: Any) -> int:
    """Return an integer seed; None is the same as 0."""
    seed = random_state or 0
    if isinstance(seed, int | np.integer):
        return int(seed)
    return int(check_random_state(seed).randint(2**31))
