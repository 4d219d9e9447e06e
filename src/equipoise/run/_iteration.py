"""What a callback sees: to look at, not to write to."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from equipoise._array import Array, is_tensor
from equipoise._problem import Problem
from equipoise.certificate import Certificate
from equipoise.solvers import Solver


@dataclass(frozen=True)
class Iteration:
    """What a callback sees after every step; it cannot change the run.

    Attributes
    ----------
    step : int
        Steps taken; of all runs that share a budget.
    stage : str
        What is being done, where a fit has several stages.
    solver : Solver
    seconds : float
        Time the solver has used.
    state : object
        The solver's state; its arrays are read-only (tensors are copies).
    certificate : Certificate
        Of the latest examination, which may be some steps old; read-only too.
    """

    step: int
    solver: Solver
    seconds: float
    _state: Any = field(repr=False)
    _certificate: Certificate = field(repr=False)
    stage: str = ""

    @cached_property
    def state(self) -> Any:
        """The solver's state."""
        return read_only(self._state)

    @cached_property
    def certificate(self) -> Certificate:
        """The latest certificate."""
        return read_only(self._certificate)

    @property
    def x(self) -> Array:
        """What the solver would return now."""
        return read_only(self.solver.output(self._state)[0])


def read_only(value: Any) -> Any:
    """Return the same data in views that nobody can write to; tensors have none and are copied."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if is_tensor(value):
        return value.detach().clone()
    if type(value) in (tuple, list):
        return type(value)(read_only(item) for item in value)
    if type(value) is dict:
        return {key: read_only(item) for key, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type | Problem):
        return value
    twin = copy(value)
    for part in fields(value):
        object.__setattr__(twin, part.name, read_only(getattr(value, part.name)))
    return twin
