"""The problems of the race as a researcher would write them: a `Problem` that says no more than it must."""

from __future__ import annotations

from equipoise import Facts, Point, Problem


class PlainProblem(Problem):
    """Another problem's values and gradients, with Hessian products or without, and nothing else.

    It has the same evaluations, but no estimate of its curvature, no quick Jacobian and no facts.
    """

    def __init__(self, problem: Problem, products: bool) -> None:
        self.problem, self.products = problem, products
        self.dim, self.n_constraints = problem.dim, problem.n_constraints
        self.domain, self.names, self.facts = problem.domain, problem.names, Facts()

    def at(self, x):
        point = self.problem.at(x)
        return Point(point.x, point.values, point.vjp, point.hvp if self.products else None)
