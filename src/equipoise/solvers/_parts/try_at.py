"""Trial points, where functions need not be finite."""

from __future__ import annotations

from equipoise._array import Array
from equipoise._problem import NonFiniteError, Point, Problem


def try_at(problem: Problem, x: Array) -> Point | None:
    """Evaluate a trial point; None where a function is not finite there, so that a shorter step is tried.

    An objective of minus infinity is no reason for a shorter step: that error is passed on.
    """
    try:
        return problem.at(x)
    except NonFiniteError as error:
        if error.unbounded:
            raise
        return None
