"""Parameters that a method chooses itself where they are not given."""

from __future__ import annotations

from equipoise import _check
from equipoise.solvers._solver import Solver


def check_positive_if_given(solver: Solver, *parameters: str) -> None:
    """Raise unless each of these parameters is positive, or None."""
    for parameter in parameters:
        value = getattr(solver, parameter)
        if value is not None:
            _check.positive(type(solver).__name__, parameter, value)
