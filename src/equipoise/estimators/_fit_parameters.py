"""The parameters that the estimators share, and what they may be.

Estimators are dataclasses, so that every parameter stands in one place. Their `__init__` stores what it is
given and checks nothing, as scikit-learn asks; `fit` checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from equipoise.estimators._sklearn import Interval, StrOptions
from equipoise.solvers import Solver


@dataclass(eq=False, repr=False, kw_only=True)
class FitParameters:
    """The parameters that all fits share; `ConstrainedClassifier` says what they mean."""

    C: float = 1.0
    on_infeasible: str = "warn"
    tol: float = 1e-6
    max_steps: int = 1000
    max_seconds: float | None = None
    verbose: bool | int = False
    callback: Any = None
    random_state: Any = None
    confidence: float | None = None
    held_out: float = 0.5
    ordered: bool = False

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 1e-20, 1e20, closed="both")],
        "on_infeasible": [StrOptions({"warn", "raise", "ignore"})],
        "solver": [str, Solver],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0, None, closed="left"), None],
        "verbose": ["boolean", Interval(Integral, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state"],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "ordered": ["boolean"],
    }
