"""Small problems whose KKT points are known, for tests, comparisons and first steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise._problem import Problem
from equipoise.problems._quadratic import QuadraticProblem
from equipoise.sets import Box, L1Ball, L2Ball


@dataclass(frozen=True)
class KKTPoint:
    """A point that satisfies the optimality conditions, with its multipliers."""

    x: np.ndarray
    multipliers: np.ndarray
    kind: str = "minimum"  # or "saddle"


@dataclass(frozen=True)
class Reference:
    """A problem, where to start it, and where it can end."""

    name: str
    problem: Problem
    start: np.ndarray
    kkt: tuple[KKTPoint, ...]

    def distance(self, x: np.ndarray) -> float:
        """Return the distance of `x` to the nearest known minimum."""
        minima = [point.x for point in self.kkt if point.kind == "minimum"]
        return float(min(np.linalg.norm(x - minimum) for minimum in minima))


def simple() -> Reference:
    """Two non-convex functions, the constraint inactive at the solution (Ma, Lin & Yang 2019).

    ``min (10 x1^2 - x2^2)/2  s.t.  (50 x1^2 - 5 x2^2)/2 <= 10, |x|_1 <= 1``; rho = 5.
    """
    problem = QuadraticProblem(
        P=[np.diag([10.0, -1.0]), np.diag([50.0, -5.0])],
        q=np.zeros((2, 2)),
        c=[0.0, -10.0],
        domain=L1Ball(1.0),
        names=["g"],
    )
    ends = (_kkt([0, 1], [0]), _kkt([0, -1], [0]), _kkt([0, 0], [0], "saddle"))
    return Reference("simple", problem, np.array([0.0, 0.5]), ends)


def active() -> Reference:
    """A non-convex constraint, active at the solution on the edge of a box; rho = 2.

    ``min x1  s.t.  x1^2 + x2^2 >= 1, x in [0, 3] x [-0.5, 0.5]``.
    """
    problem = QuadraticProblem(
        P=[np.zeros((2, 2)), -2 * np.eye(2)],
        q=[[1.0, 0.0], [0.0, 0.0]],
        c=[0.0, 1.0],
        domain=Box([0.0, -0.5], [3.0, 0.5]),
        names=["outside the disc"],
    )
    a, lam = np.sqrt(0.75), 1 / np.sqrt(3)
    ends = (_kkt([a, 0.5], [lam]), _kkt([a, -0.5], [lam]), _kkt([1, 0], [0.5], "saddle"))
    return Reference("active", problem, np.array([2.0, 0.2]), ends)


def bilinear(radius: float = 2.0) -> Reference:
    """A smooth non-convex objective under a convex constraint.

    ``min -x1 x2  s.t.  |x|^2 <= 1, |x|_1 <= radius``; for ``radius = 1`` the domain is what binds.
    """
    problem = QuadraticProblem(
        P=[[[0.0, -1.0], [-1.0, 0.0]], 2 * np.eye(2)],
        q=np.zeros((2, 2)),
        c=[0.0, -1.0],
        domain=L1Ball(radius),
        names=["disc"],
    )
    a, lam = (0.5, 0.0) if radius == 1 else (np.sqrt(0.5), 0.5)
    ends = (_kkt([a, a], [lam]), _kkt([-a, -a], [lam]), _kkt([0, 0], [0], "saddle"))
    return Reference("bilinear", problem, np.array([0.9, 0.1]), ends)


def bilinear_small() -> Reference:
    """The bilinear problem on the L1 ball of radius 1: the domain binds, not the constraint."""
    reference = bilinear(1.0)
    return Reference("bilinear_small", reference.problem, reference.start, reference.kkt)


def convex() -> Reference:
    """The convex problem that every method must solve.

    ``min (x1 - 2)^2 + x2^2  s.t.  |x|^2 <= 1, x in [-3, 3]^2``.
    """
    problem = QuadraticProblem(
        P=[2 * np.eye(2), 2 * np.eye(2)],
        q=[[-4.0, 0.0], [0.0, 0.0]],
        c=[4.0, -1.0],
        domain=Box(-3.0, 3.0, dim=2),
        names=["disc"],
    )
    return Reference("convex", problem, np.array([0.0, 2.0]), (_kkt([1, 0], [1]),))


def auc_fairness() -> Reference:
    """A random AUC problem under group-AUC fairness, in moment form (Yao, Lin & Yang 2023, Example 1).

    A linear score with ``|w| <= 2``, surrogate ``(t - 1)^2 / 2``, both constraints at most 0.05. A pair
    of groups contributes ``w'(S + S')w / 2 + (w'(m - m') - 1)^2 / 2`` with covariances S, means m.
    """
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    group = np.where(rng.random(200) < 0.4, 1, -1)
    label = np.where(X @ [1, -0.5, 0.3] + 0.6 * group + rng.normal(size=200) > 0, 1, -1)
    X[:, 2] += 0.5 * group

    def pair(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gap = X[first].mean(axis=0) - X[second].mean(axis=0)
        spread = np.cov(X[first].T, bias=True) + np.cov(X[second].T, bias=True)
        return spread + np.outer(gap, gap), -gap

    everyone = np.ones(200, dtype=bool)
    pairs = [
        pair(label == 1, label == -1),
        pair(group == -1, group == 1),
        pair(everyone, everyone),
        pair(group == 1, group == -1),
    ]
    P = [pairs[0][0], pairs[1][0] + pairs[2][0], pairs[2][0] + pairs[3][0]]
    q = [pairs[0][1], pairs[1][1] + pairs[2][1], pairs[2][1] + pairs[3][1]]
    problem = QuadraticProblem(
        P, q, [0.5, 1 - 1.05, 1 - 1.05], L2Ball(2.0), names=["group 1 above", "group 2 above"]
    )
    solution = _kkt(AUC_SOLUTION, AUC_MULTIPLIERS)
    return Reference("auc", problem, np.zeros(3), (solution,))


# The solution of the problem above and its multipliers, to machine precision: found by Newton's method on
# the KKT system, in which both constraints are active.
AUC_SOLUTION = (0.14294930864468036, -0.0907468397211438, -0.017757349927560506)
AUC_MULTIPLIERS = (0.7378959225538697, 0.27786292130029083)


def _kkt(x: object, multipliers: object, kind: str = "minimum") -> KKTPoint:
    return KKTPoint(np.array(x, dtype=np.float64), np.array(multipliers, dtype=np.float64), kind)


REFERENCES: dict[str, Callable[[], Reference]] = {
    "simple": simple,
    "active": active,
    "bilinear": bilinear,
    "bilinear_small": bilinear_small,
    "convex": convex,
    "auc": auc_fairness,
}
"""Every reference problem: a function that builds it, by name."""
