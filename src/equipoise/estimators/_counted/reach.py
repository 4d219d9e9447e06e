"""Bounds on AUCs that are out of reach: a verdict before long attempts to meet them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from equipoise._status import Status
from equipoise.estimators._counted.candidate import Candidate, counted_at, measure
from equipoise.estimators._counted.search import Search, Stage
from equipoise.estimators._counted.shifting import sharpened, sharpness_for
from equipoise.problems import LearningProblem
from equipoise.run import Result, Verdict

# The share of the penalty that is left where one AUC is trained for alone. Chosen.
LITTLE_PENALTY = 0.01

# How much sharper steps are then than those of the first shift. Chosen: with little penalty scores are large,
# and steps as sharp as they need be.
SHARPER = 1.0, 3.0

ALONE = (
    "No model that keeps all bounds was found; the one returned comes closest to {name!r}, which training "
    "for nothing else did not reach. Whether there is such a model is not known."
)
NO_BETTER_NEARBY = (
    "No model that keeps all bounds was found; the one returned comes closest. Whether there is one is not "
    "known. Training ended where no model nearby breaks the bounds less."
)


@dataclass(frozen=True)
class Reach(Stage):
    """Train for each bound alone that asks for a ranking, and that the model without constraints breaks.

    1. minimise what breaks the bound, with sharper steps, until the bound is kept or broken by far
    2. where it is still broken, and by more than may be left of a bound, give a verdict

    Bounds that equal scores keep, such as those on gaps, are never out of reach.
    """

    name: ClassVar[str] = "looking for what is in reach"

    def run(self, search: Search) -> Candidate | None:
        """Return the model that comes closest to a bound out of reach; None where there is no such bound."""
        problem, known = search.problem, search.unconstrained
        if problem.rows.uses_threshold or known is None:
            return None
        ranking = counted_at(problem, np.zeros(problem.dim)) > search.allowed
        if not ranking.any():
            return None
        broken = search.counted_free
        asked = np.flatnonzero(ranking & (broken > search.spare))
        for i in asked[np.argsort(-broken[asked], kind="stable")]:
            closest = self._closest(search, int(i))
            if counted_at(problem, closest.x)[i] > search.spare[i]:
                name = problem.names[i]
                verdict = Verdict(
                    Status.NOT_FOUND, claim=ALONE.format(name=name), blocking={name: 1.0}
                )
                return measure(problem, closest.judged(verdict), search.allowed)
        return None

    def _closest(self, search: Search, i: int) -> Result:
        """Return what training for one bound alone leads to."""
        problem, known = search.problem, search.unconstrained
        assert known is not None
        best = known.result
        for factor in SHARPER:
            sharp = sharpened(problem, factor * sharpness_for(search))
            alone = LearningProblem(
                sharp.rows,
                sharp.combination.selected([1 + i]),
                domain=problem.domain,
                l2=LITTLE_PENALTY * problem.l2,
            )
            best = search.runner.solve(alone, best.x, rough=True)
            search.check_budget()
            counted = counted_at(problem, best.x)
            if counted[i] <= 0 or search.far(counted)[i]:
                break
        return best


@dataclass(frozen=True)
class OutOfReach(Stage):
    """Give a verdict where training on smooth AUCs breaks bounds by far: shifts would not mend that."""

    name: ClassVar[str] = "judging"

    def run(self, search: Search) -> Candidate | None:
        """Return the closest model, or None where more may help."""
        last, closest = search.tried[-1], search.best
        far = search.far(closest.counted).any()
        if search.problem.rows.uses_threshold or last.result.success or not far:
            return None
        blocking = last.result.blocking
        verdict = Verdict(Status.NOT_FOUND, claim=NO_BETTER_NEARBY, blocking=blocking)
        return replace(closest, result=closest.result.judged(verdict))
