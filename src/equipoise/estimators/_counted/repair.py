"""The last stage: from models that break a bound to one that keeps all, or a verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import Candidate, measure
from equipoise.estimators._counted.fixed import MAX_PATTERNS, best_with, can_fix, turned_over
from equipoise.estimators._counted.proof import (
    Cells,
    excluded_by_ranges,
    proved_by_counts,
    proved_by_shares,
)
from equipoise.estimators._counted.search import Search, Stage
from equipoise.estimators._counted.sweep import swept
from equipoise.estimators._counted.threshold import move_threshold
from equipoise.estimators._runner import Runner
from equipoise.problems import LearningProblem
from equipoise.run import Verdict
from equipoise.sets import L2Ball

# The radius of the ball in which the violation is minimised where the domain has no bounds. Chosen: in
# units of standardised features, sigmoids at its boundary are nearly steps.
RADIUS = 50.0

ROUGHLY = (
    "The bounds hold on the counted rates. The certificate says how far the model is from optimal."
)
NOT_FOUND = (
    "No model that keeps all bounds was found; the one returned comes closest. Whether there is one is not "
    "known. Tried: {problems} training problems with shifted bounds, predictions turned over, all thresholds "
    "of the closest models, and the two constants."
)
RANGES = (
    "Infeasible, proved: the bounds contradict each other, or the range of an AUC, whatever the model. No "
    "values of the bounded AUCs within their ranges keep all of them."
)
ONE_FEATURE = (
    "Infeasible, proved: no linear model keeps these bounds. All thresholds of the only feature were "
    "tried, in both directions."
)


@dataclass(frozen=True)
class Prove(Stage):
    """Look for a proof that no predictions at all keep the bounds: a small linear program."""

    name: ClassVar[str] = "proving"

    def run(self, search: Search) -> Candidate | None:
        """Return the closest model with the proof, or None where there is none."""
        if any(fit.keeps_bounds for fit in search.tried) or _kept_by_a_constant(search):
            return None
        cells = Cells.of(search.problem, search.allowed)
        verdict = None if cells is None else proved_by_shares(cells)
        if verdict is None:
            return None
        least = least_violation(search.problem, search.best, search.runner)
        closest = min((least, *search.tried), key=Candidate.rank)
        return replace(closest, result=closest.result.judged(verdict))


@dataclass(frozen=True)
class Contradiction(Stage):
    """Look for bounds on AUCs that exclude each other, or every AUC: a linear program over their ranges."""

    name: ClassVar[str] = "looking for contradictions"

    def run(self, search: Search) -> Candidate | None:
        """Return the model without constraints, or the start, with the proof; None where there is none."""
        problem, known = search.problem, search.unconstrained
        if problem.rows.uses_threshold or problem.n_constraints == 0 or known is None:
            return None
        if not excluded_by_ranges(problem, search.allowed):
            return None
        verdict = Verdict(Status.INFEASIBLE, claim=RANGES)
        return measure(problem, known.result.judged(verdict), search.allowed)


@dataclass(frozen=True)
class Repair(Stage):
    """Repair the predictions of the models tried, or give a verdict.

    1. minimise the violation of the smooth bounds in a large ball, from the closest model
    2. for this model and those tried, the least objective first: turn predictions over so that all
       bounds hold, and take the best model that makes them
    3. if none is certified: move the thresholds of the closest models, and do 2 for them
    4. where a model without constraints is known: do the same for predictions that are all alike
    5. return the best model that keeps its bounds; if there is none, that of 1 if it does, or else the
       closest one, with a proof that there is none or without
    """

    name: ClassVar[str] = "repairing predictions"

    def run(self, search: Search) -> Candidate:
        """Return the best model there is."""
        problem, tried, runner = search.problem, search.tried, search.runner
        closest = sorted(tried, key=Candidate.rank)
        least = least_violation(problem, closest[0], runner)  # 1
        search.check_interrupt()
        by_objective = sorted([least, *tried], key=lambda fit: fit.objective)
        solved = turned_over(problem, by_objective, runner)  # 2
        search.check_interrupt()
        kept = [_without_claims(fit, least.result.tol) for fit in (*tried, *solved)]
        kept = [fit for fit in kept if fit.keeps_bounds]
        if not any(fit.certified for fit in kept):  # 3
            moved = [move_threshold(problem, fit) for fit in (least, *closest[:MAX_PATTERNS])]
            kept += [fit for fit in moved if fit is not None]
            again = turned_over(problem, kept, runner)
            search.check_interrupt()
            solved, kept = solved + again, kept + [fit for fit in again if fit.keeps_bounds]
        if search.unconstrained is not None:  # 4
            same = _all_alike(problem, closest[0], runner)
            solved, kept = solved + same, kept + [fit for fit in same if fit.keeps_bounds]
        else:
            kept = [fit for fit in kept if not problem.rows.is_constant(fit.x)] or kept
        if not kept and least.keeps_bounds:
            kept = [_roughly(least)]
        count = len(tried) + 1 + len(solved)
        found = min(kept, key=Candidate.rank) if kept else _closest(search, least, count)  # 5
        return replace(found, problems_solved=count)


def _kept_by_a_constant(search: Search) -> bool:
    """Whether predicting one class of all rows keeps the bounds, as it does most of those on gaps."""
    if not search.problem.rows.additive:
        return False
    ends = search.problem.rows.above(search.tried[-1].x, np.array([-np.inf, np.inf]))
    values = [search.problem.values_of(sums)[1:] for sums in ends]
    return any((own <= search.allowed).all() for own in values)  # NaN: not counted


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
    return _roughly(fit)


def _roughly(fit: Candidate) -> Candidate:
    """Return the fit with the claim that it keeps the bounds, and no other."""
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


def _closest(search: Search, least: Candidate, count: int) -> Candidate:
    """Return the model that breaks the bounds least, with what is known of them."""
    closest = min((least, *search.tried), key=Candidate.rank)
    cells = Cells.of(search.problem, search.allowed)
    verdict = None
    if cells is not None:
        verdict = proved_by_counts(cells, search.runner.budget.remaining)
    if verdict is None and _exhausted(search):
        verdict = Verdict(Status.INFEASIBLE, claim=ONE_FEATURE, blocking=least.result.blocking)
    if verdict is None:
        blocking = least.result.blocking
        claim = NOT_FOUND.format(problems=count)
        verdict = Verdict(Status.NOT_FOUND, claim=claim, blocking=blocking)
    return replace(closest, result=closest.result.judged(verdict))


def _exhausted(search: Search) -> bool:
    """Whether there is one feature, and no threshold of it keeps the bounds."""
    problem = search.problem
    if problem.dim != 2 or problem.rows.penalised[-1] != 0:
        return False
    both = [np.array([sign, 0.0]) for sign in (1.0, -1.0)]
    sweeps = [swept(problem, x, search.allowed, search.class_factors) for x in both]
    return all(sweep.complete and not sweep.keeps.any() for sweep in sweeps)
