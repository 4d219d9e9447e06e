"""Bounds on ranks that training meets by shrinking the scores, which leaves the ranks as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from equipoise.estimators._counted.candidate import Candidate
from equipoise.estimators._counted.search import LITTLE_GAIN, Search, Stage
from equipoise.problems import LearningProblem
from equipoise.run import Verdict
from equipoise.sets import Polytope

# Scores have shrunk where their standard deviation is below this share of that without constraints. Chosen.
SHRUNK = 0.5

# The share of that standard deviation that is kept. Chosen: of 1, 1/2 and 1/4 the one with which all of 24
# caps on census and COMPAS were met within seconds; caps of single groups cost less AUC than with 1.
KEPT = 0.5

# A model lies on the plane where its distance, relative to the spread, is at most this. Chosen, well above
# rounding.
ON_PLANE = 1e-6

SPREAD_HELD = (
    "Converged: scores were kept from shrinking, which no ranking needs. Of all models whose scores vary as "
    "much, along those that training started from, the one returned meets the optimality conditions. All "
    "bounds hold as counted."
)


@dataclass(frozen=True)
class HoldSpread(Stage):
    """Where scores shrank, and the bounds are broken by far or hardly used, keep scores from shrinking.

    Where all scores are nearly the same, so are smooth steps, and an AUC seems to be 1/2, but by ranks it is
    what it was. With `a` the slope of the spread of the scores at `u`, the scores of all `x` with
    ``a.x >= spread(u) / 2`` vary at least half as much as those of `u`, and every ranking that is
    correlated with that of `u` is the ranking of such an `x`.

    1. u <- the model without constraints; where the last model ranks the other way round, that one, with
       scores as widespread as those without constraints
    2. confine the models to this half-space
    3. run the given stages from `u`; those that follow stay in the half-space

    Attributes
    ----------
    stages : tuple of Stage
    """

    stages: tuple[Stage, ...]
    name: ClassVar[str] = "holding the spread of scores"

    def run(self, search: Search) -> Candidate | None:
        """Return the model that one of the stages finds."""
        problem, known, last = search.problem, search.unconstrained, search.tried[-1]
        if problem.rows.uses_threshold or known is None:
            return None
        unused = last.keeps_bounds and last.unused > LITTLE_GAIN
        x, spread = last.x, problem.rows.spread(last.x)
        if spread >= SHRUNK * known.spread or not (unused or search.far(last.counted).any()):
            return None
        u = known.x
        if problem.rows.spread_slope(u) @ x < 0:  # 1
            u = (known.spread / spread) * x
        slope, least = problem.rows.spread_slope(u), KEPT * known.spread
        domain = Polytope(-slope[None], [-least])  # 2
        search.problem = LearningProblem(
            problem.rows, problem.combination, domain=domain, l2=problem.l2
        )
        search.start, shrunk = u, search.tried
        search.tried = []  # the ranks of shrunk scores are no start
        try:
            found = self._first(search)  # 3
        finally:
            search.tried = shrunk + search.tried
        if found is None or found.result.verdict.claim is not None:
            return found
        if slope @ found.x <= (1.0 + ON_PLANE) * least:
            verdict = Verdict(found.result.status, near=found.result.near, claim=SPREAD_HELD)
            found = replace(found, result=found.result.judged(verdict))
        return found

    def _first(self, search: Search) -> Candidate | None:
        found = (stage.run(search) for stage in self.stages)
        return next((fit for fit in found if fit is not None), None)
