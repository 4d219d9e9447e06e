"""What a hunt looks at: a problem in the judge's own terms, and how the library is given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.hunt.functions import Function
from benchmarks.hunt.regions import Region

HABITS = "one array", "one array for all", "writes"
"""What careless functions do: they return an array again and again, or halve what they are given."""


@dataclass(eq=False)
class Case:
    """``min f_0  s.t.  f_i <= 0 (i >= 1),  x in region``, and what is known of it.

    Attributes
    ----------
    functions : the objective first.
    start : where the run starts; None leaves that to the library.
    feasible : True where a feasible point exists by construction, False where none does, None if unknown.
    planted : that point, or an optimum where `optimal` is set.
    optimal : the multipliers that make `planted` an optimum of a convex problem.
    told : how much of what is true of the functions the library is told: "all", "smooth" or "nothing".
    products : whether the library is given products with the Hessians.
    habit : what the functions do with arrays, one of `HABITS`; nothing by default.
    honest : whether the gradients are those of the values, which are continuous.
    """

    functions: list[Function]
    region: Region
    start: np.ndarray | None = None
    feasible: bool | None = None
    planted: np.ndarray | None = None
    optimal: np.ndarray | None = None
    told: str = "all"
    products: bool = False
    habit: str = ""
    honest: bool = True

    @property
    def dim(self) -> int:
        return self.region.dim

    @property
    def smooth(self) -> bool:
        return not any(f.maxima for f in self.functions)

    def convex(self, functions: list[Function]) -> bool:
        return self.honest and all(f.bends()[0] >= 0.0 for f in functions)

    def facts(self) -> dict[str, Any]:
        """True statements, as keywords of the library's `Facts`."""
        if self.told == "nothing" or not self.honest:
            return {}
        known: dict[str, Any] = {"smooth": self.smooth}
        if self.told == "smooth":
            return known
        bends = np.array([f.bends() for f in self.functions])
        if self.convex(self.functions):
            known["convex"] = True
        if self.convex(self.functions[1:]):
            known["convex_constraints"] = True
        if np.isfinite(bends).all():
            known["weak_convexity"] = float(max(0.0, -bends[:, 0].min()))
            if self.smooth:
                known["smoothness"] = float(np.abs(bends).max())
        return known


def library_problem(case: Case) -> Any:
    """The case as the library's user would write it."""
    from equipoise import Facts, FunctionProblem, Problem, sets
    from equipoise import Point as Evaluated

    region = case.region.build(sets)
    facts = Facts(**case.facts())
    quiet = {"over": "ignore", "invalid": "ignore", "divide": "ignore", "under": "ignore"}

    shared = np.zeros(case.dim)

    def written(f: Function) -> Any:
        kept = shared if case.habit == "one array for all" else np.zeros(case.dim)

        def function(x):
            with np.errstate(**quiet):
                answer = float(f.value(x)), np.asarray(f.gradient(x), dtype=float)
            if case.habit == "writes":
                x *= 0.5
            elif case.habit:
                kept[:] = answer[1]
                return answer[0], kept
            return answer

        return function

    if not case.products:
        functions = [written(f) for f in case.functions]
        return FunctionProblem(
            functions[0], functions[1:], domain=region, dim=case.dim, facts=facts
        )

    class WithProducts(Problem):
        def __init__(self):
            self.dim, self.domain, self.facts = case.dim, region, facts
            self.n_constraints = len(case.functions) - 1
            self.names = tuple(f"f_{i + 1}" for i in range(self.n_constraints))

        def at(self, x):
            with np.errstate(**quiet):
                values = np.array([float(f.value(x)) for f in case.functions])

            def vjp(weights):
                with np.errstate(**quiet):
                    pairs = [(w, f) for w, f in zip(weights, case.functions) if w != 0]
                    return sum((w * f.gradient(x) for w, f in pairs), np.zeros(x.size))

            def hvp(weights, v):
                with np.errstate(**quiet):
                    pairs = [(w, f) for w, f in zip(weights, case.functions) if w != 0]
                    return sum((w * f.product(x, v) for w, f in pairs), np.zeros(x.size))

            return Evaluated(x, values, vjp, hvp)

    return WithProducts()
