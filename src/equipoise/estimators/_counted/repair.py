"""The last stage: from models that break a bound to one that keeps all, or a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import Candidate, measure
from equipoise.estimators._counted.fixed import MOST_MODELS, best_with, can_fix, turned_over
from equipoise.estimators._counted.search import Search, Stage
from equipoise.estimators._counted.threshold import move_threshold
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.run import Verdict
from equipoise.sets import L2Ball

RADIUS = 50.0  # of the ball in which the violation is minimised: sigmoids there are nearly steps
ROUGHLY = (
    "The bounds hold on the counted rates. The certificate says how far the model is from optimal."
)
SMOOTH_ONLY = (
    "The bounds can be met on smooth rates, but no model was found that meets them on counted ones; "
    "the one returned comes closest."
)


@dataclass(frozen=True)
class Repair(Stage):
    """Repair the predictions of the models tried, or give a verdict.

    1. minimise the violation of the smooth bounds in a large ball, from the closest model
    2. for this model and those tried, the least objective first: turn predictions over so that all
       bounds hold, and take the best model that makes them
    3. if none is certified: move the thresholds of the closest models, and do 2 for them
    4. where a model without constraints is known: do the same for predictions that are all alike
    5. return the best model that keeps its bounds; if there is none, the model of line 1 with its
       verdict if it breaks a smooth bound, else the closest one
    """

    name: ClassVar[str] = "repairing predictions"

    def run(self, search: Search) -> Candidate:
        """Return the best model there is."""
        problem, tried, runner = search.problem, search.tried, search.runner
        closest = sorted(tried, key=Candidate.rank)
        least = least_violation(problem, closest[0], runner)  # 1
        by_objective = sorted([least, *tried], key=lambda fit: fit.objective)
        solved = turned_over(problem, by_objective, runner)  # 2
        kept = [_without_claims(fit, least.result.tol) for fit in (*tried, *solved)]
        kept = [fit for fit in kept if fit.keeps_bounds]
        if not any(fit.certified for fit in kept):  # 3
            moved = [move_threshold(problem, fit) for fit in (least, *closest[:MOST_MODELS])]
            kept += [fit for fit in moved if fit is not None]
            again = turned_over(problem, kept, runner)
            solved, kept = solved + again, kept + [fit for fit in again if fit.keeps_bounds]
        if search.unconstrained is not None:  # 4
            same = _all_alike(problem, closest[0], runner)
            solved, kept = solved + same, kept + [fit for fit in same if fit.keeps_bounds]
        else:
            kept = [fit for fit in kept if not problem.rows.is_constant(fit.x)] or kept
        found = min(kept, key=Candidate.rank) if kept else _closest(closest[0], least)  # 5
        return replace(found, problems_solved=len(tried) + 1 + len(solved))


def least_violation(problem: LearningProblem, fit: Candidate, runner: Runner) -> Candidate:
    """Solve in a ball: there penalties outgrow the objective before the weights do."""
    domain = problem.domain if np.isfinite(problem.domain.diameter) else L2Ball(RADIUS)
    ball = LearningProblem(problem.rows, problem.combination, domain=domain, l2=problem.l2)
    result = runner.solve(ball, domain.project(fit.x))
    return measure(problem, result, fit.allowed, ball)


def _without_claims(fit: Candidate, tol: float) -> Candidate:
    """Return the fit without a claim it does not bear out: optimal if solved only roughly, or infeasible."""
    if fit.result.tol <= tol and not fit.result.status.infeasible:
        return fit
    return replace(fit, result=fit.result.judged(Verdict(Status.FEASIBLE, claim=ROUGHLY)))


def _all_alike(problem: LearningProblem, fit: Candidate, runner: Runner) -> list[Candidate]:
    """Return the best model that predicts the more frequent class of all rows, if that meets the bounds."""
    if not can_fix(problem, fit.allowed) or problem.rows.penalised[-1] != 0:
        return []
    intercepts = [sign * np.eye(problem.dim)[-1] for sign in (-1.0, 1.0)]
    for x in sorted(intercepts, key=lambda x: problem.at(x).objective):
        if (problem.thresholded(x)[1:] <= fit.allowed).all():
            alike = np.full(problem.rows.n_rows, x[-1] > 0)
            return [best_with(problem, alike, fit, runner)]
    return []


def _closest(closest: Candidate, least: Candidate) -> Candidate:
    """Return the model that breaks the bounds least, with what is known of them."""
    if not least.result.success:
        return least
    verdict = Verdict(Status.STALLED, claim=SMOOTH_ONLY)
    return replace(closest, result=closest.result.judged(verdict))
