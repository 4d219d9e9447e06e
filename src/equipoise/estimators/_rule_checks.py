"""What a fit cannot work with: many classes, rules without a threshold or not finite, rows in blocks."""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.constraints import Binding
from equipoise.constraints._pair_rate import PairRate
from equipoise.problems import LearningProblem
from equipoise.rows import Table


def require_two_classes(owner: str, table: Table) -> None:
    """Raise where there are more than two classes, in words that scikit-learn's checks look for."""
    if len(table.classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. {owner} got {len(table.classes)} classes; for "
            "class-wise bounds see NeymanPearsonClassifier."
        )


def require_ranks(binding: Binding, owner: str) -> None:
    """Raise where a rule is on anything but AUCs."""
    for row in binding.inequalities:
        sides = [side for side in (row.expression, row.denominator) if side is not None]
        if not all(isinstance(rate, PairRate) for side in sides for _, rate in side.parts):
            reason = (
                f"`constraints` must be rules on AUCs, but {row.name!r} is on predictions or losses, and "
                "this estimator has no threshold while it is trained; use ConstrainedClassifier."
            )
            raise _check.InputError(owner, reason, "constraints")


def is_finite(problem: LearningProblem, binding: Binding, x: np.ndarray) -> bool:
    """Whether users' functions and their slopes are finite at `x`; rates always are."""
    return _culprit(problem, binding, x) is None


def require_finite(problem: LearningProblem, binding: Binding, owner: str) -> None:
    """Raise unless users' functions are finite where all scores are 0."""
    found = _culprit(problem, binding, np.zeros(problem.dim))
    if found is not None:
        reason = (
            f"the constraint {found[0]!r} {found[1]}, at the model without constraints and where "
            "all scores are 0; training must start where it is finite."
        )
        raise _check.InputError(owner, reason, "constraints")


def _culprit(problem: LearningProblem, binding: Binding, x: np.ndarray) -> tuple[str, str] | None:
    """Return the first user's function that is not finite at `x`, and what it is."""
    calls = [i for i, row in enumerate(binding.inequalities) if row.expression is None]
    if not calls:
        return None
    point = problem.at(x)
    for i in calls:
        value, name = point.constraints[i], binding.inequalities[i].name
        if not np.isfinite(value):
            return name, f"is {value}"
        if not np.isfinite(point.gradient(1 + i)).all():
            return name, "has a slope that is not finite"
    return None


def require_parts(owner: str, table: Table, parameter: str) -> None:
    """Raise where the rows cannot be divided, and `parameter` holds some out."""
    if not table.divisible:
        reason = f"`{parameter}` is for rows that can be divided, not for blocks: leave it out."
        raise _check.InputError(owner, reason, parameter)
