"""What every problem says of itself, checked in one place."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise import _check
from equipoise._problem import Facts, Problem
from equipoise.sets._set import Set
from equipoise.sets._whole_space import WholeSpace


def describe(
    problem: Problem,
    dim: int | None,
    n_constraints: int,
    domain: Set | None,
    names: Sequence[str] | None,
    facts: Facts | None,
) -> None:
    """Set the attributes of `problem`: by default the whole space, the names f_1.., no facts."""
    owner = type(problem).__name__
    if domain is not None and not isinstance(domain, Set):
        _check.fail(owner, "domain", "must be a Set", domain)
    problem.domain = domain if domain is not None else WholeSpace()
    known = problem.domain.dim
    if dim is None and known is None:
        raise ValueError(f"{owner}: `dim` must be given: {problem.domain!r} has no dimension.")
    problem.dim = _check.count(owner, "dim", dim if dim is not None else known, least=1)
    if known is not None and known != problem.dim:
        _check.fail(owner, "dim", f"must equal the domain's dimension {known}", problem.dim)
    problem.n_constraints = _check.count(owner, "n_constraints", n_constraints)
    numbered = tuple(f"f_{i}" for i in range(1, n_constraints + 1))
    problem.names = tuple(names) if names is not None else numbered
    if isinstance(names, str) or len(problem.names) != n_constraints:
        _check.fail(owner, "names", f"must have {n_constraints} entries", names)
    if facts is not None and not isinstance(facts, Facts):
        _check.fail(owner, "facts", "must be a Facts", facts)
    problem.facts = facts if facts is not None else Facts()
