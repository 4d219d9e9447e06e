"""Constraints drawn at random, a few in every step."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from equipoise import _check
from equipoise._array import Array
from equipoise._problem import Point, Problem


class DrawnConstraints(Problem):
    """A problem of which every mini-batch has a few constraints only, drawn at random.

    With k of m constraints drawn, a mini-batch has ``m / k`` times their values, and 0 in the places of the
    others, so values and gradients are unbiased. Methods for mini-batches take it as they take batches of
    rows, and have a multiplier for each constraint. `at` gives all constraints.

    It pays where one constraint costs less than all. In learning problems all rates together cost one
    forward pass: there it does no more than make steps random.

    Parameters
    ----------
    base : Problem
        Where it draws mini-batches of rows, constraints are drawn on top of it.
    count : int
        How many are drawn, without replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.problems import REFERENCES, DrawnConstraints
    >>> problem = DrawnConstraints(REFERENCES["convex"]().problem, count=1)
    >>> problem.stochastic
    True
    """

    def __init__(self, base: Problem, count: int = 1) -> None:
        owner = "DrawnConstraints"
        self.base = _check.kind(owner, "base", base, Problem)
        self.count = _check.count(owner, "count", count, least=1)
        if self.count > base.n_constraints:
            rule = f"must be at most the number of constraints, {base.n_constraints}"
            _check.fail(owner, "count", rule, count)
        self.dim, self.n_constraints, self.names = base.dim, base.n_constraints, base.names
        self.domain, self.start, self.sketched = base.domain, base.start, base.sketched
        self.facts = replace(base.facts, stochastic=True)
        self._factor: np.ndarray | None = (
            None  # of a mini-batch, what each function is multiplied by
        )

    def at(self, x: Array) -> Point:
        """Evaluate every function; of a mini-batch those that were drawn."""
        point, factor = self.base.at(x), self._factor
        if factor is None:
            return point
        return Point(x, factor * point.values, lambda weights: point.vjp(factor * weights))

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch of the base with some of its constraints; a mini-batch returns itself."""
        if self._factor is not None:
            return self
        drawn = copy(self)
        drawn.base = self.base.sample(rng)
        drawn._factor = np.eye(1, self.n_constraints + 1)[0]
        places = rng.choice(self.n_constraints, self.count, replace=False)
        drawn._factor[1 + places] = self.n_constraints / self.count
        return drawn

    def smoothed(self, width: float) -> Problem | None:
        """Return the same draws from the base with kinks rounded."""
        base = self.base.smoothed(width)
        if base is None:
            return None
        changed = copy(self)
        changed.base, changed.facts = base, replace(base.facts, stochastic=True)
        return changed
