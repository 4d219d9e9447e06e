"""What every problem says of itself, checked in one place."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise import _check
from equipoise._problem import Facts, Problem
from equipoise.sets import Set, WholeSpace


def set_attributes(
    problem: Problem,
    dim: int | None,
    n_constraints: int,
    domain: Set | None,
    names: Sequence[str] | None,
    facts: Facts | None,
) -> None:
    """Set the attributes of `problem`: by default the whole space, the names f_1.., no facts."""
    owner = type(problem).__name__
    if domain is not None:
        _check.kind(owner, "domain", domain, Set)
    problem.domain = domain if domain is not None else WholeSpace()
    known = problem.domain.dim
    if dim is None and known is None:
        raise ValueError(f"{owner}: `dim` must be given: {problem.domain!r} has no dimension.")
    problem.dim = _check.count(owner, "dim", dim if dim is not None else known, least=1)
    if known is not None and known != problem.dim:
        _check.fail(owner, "dim", f"must equal the domain's dimension {known}", problem.dim)
    problem.n_constraints = _check.count(owner, "n_constraints", n_constraints)
    if names is None:
        names = [f"f_{i}" for i in range(1, n_constraints + 1)]
    problem.names = _check.names(owner, "names", names, problem.n_constraints)
    if facts is not None:
        _check.kind(owner, "facts", facts, Facts)
    problem.facts = facts if facts is not None else Facts()
