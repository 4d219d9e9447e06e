"""One or more examples of every registered set; a new set adds its line here."""

import cvxpy as cp
import numpy as np
import pytest

from equipoise import sets

PYRAMID = (  # five faces and a redundant row through the apex (0, 0, 1)
    np.array([[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1], [0, 0, -1], [0, 0, 2]], dtype=float),
    np.array([1, 1, 1, 1, 0, 2], dtype=float),
)
SEGMENT = (  # the equality x + y = 1 as two rows, and x >= 0, y >= 0
    np.array([[1, 1], [-1, -1], [-1, 0], [0, -1]], dtype=float),
    np.array([1, -1, 0, 0], dtype=float),
)

EXAMPLES = {
    "whole_space": [(sets.WholeSpace(), 4)],
    "box": [
        (sets.Box(-1, 1, dim=5), 5),
        (sets.Box([0, -np.inf, 2, 1], [1, 3, np.inf, 1]), 4),
        (sets.Box(1e-12, 3e-12, dim=3), 3),
    ],
    "l2_ball": [(sets.L2Ball(2.0), 4), (sets.L2Ball(0.5, center=[1.0, -2.0, 3.0]), 3)],
    "l1_ball": [(sets.L1Ball(1.0), 6), (sets.L1Ball(25.0), 4), (sets.L1Ball(1e-11), 5)],
    "simplex": [(sets.Simplex(), 6), (sets.Simplex(0.3), 3), (sets.Simplex(7), 1)],
    "product": [
        (sets.Product([(sets.L1Ball(1.0), 3), (sets.WholeSpace(), 1), (sets.Simplex(), 2)]), 6),
        (sets.Product([(sets.L2Ball(1.0), 2), (sets.Box(0, 1, dim=2), 2)]), 4),
    ],
    "polytope": [
        (sets.Polytope(*PYRAMID), 3),
        (sets.Polytope(*SEGMENT), 2),
        (sets.Polytope([[1.0, 2.0, 2.0]], [3.0]), 3),
        (sets.Polytope(np.zeros((0, 2)), []), 2),
    ],
}
CASES = [(case, dim) for cases in EXAMPLES.values() for case, dim in cases]
every_set = pytest.mark.parametrize(("X", "d"), CASES, ids=[repr(case) for case, _ in CASES])


def size(X: sets.Set) -> float:
    """The order of magnitude of a set: what tolerances and random points scale with."""
    if isinstance(X, sets.Product):
        return max(size(block) for block, _ in X.blocks)
    return min(1.0, X.diameter / 2) if X.diameter > 0 else 1.0


def far(X: sets.Set, d: int, rng: np.random.Generator) -> np.ndarray:
    """A random point, on any of several scales: inside, near or far outside."""
    return rng.normal(size=d) * size(X) * rng.choice([0.05, 0.5, 2.0, 20.0])


def member(X: sets.Set, d: int, rng: np.random.Generator) -> np.ndarray:
    """A random point of the set: in the interior, on a face, an edge or a vertex."""
    return X.project(far(X, d, rng))


def twin(X: sets.Set, x: np.ndarray) -> np.ndarray:
    """The projection by a general convex solver."""
    y = cp.Variable(x.size)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(y - x)), membership(X, y))
    precise = dict.fromkeys(["tol_gap_abs", "tol_gap_rel", "tol_feas"], 1e-9)
    problem.solve(solver=cp.CLARABEL, **precise)
    return y.value


def membership(X: sets.Set, y: cp.Expression) -> list[cp.Constraint]:
    """The definition of the set, written out."""
    match X:
        case sets.WholeSpace():
            return []
        case sets.Box():
            low, high = np.isfinite(X.lower), np.isfinite(X.upper)
            return [y[low] >= X.lower[low], y[high] <= X.upper[high]]
        case sets.L2Ball():
            return [cp.norm(y - (0.0 if X.center is None else X.center), 2) <= X.radius]
        case sets.L1Ball():
            return [cp.norm(y, 1) <= X.radius]
        case sets.Simplex():
            return [y >= 0, cp.sum(y) == X.total]
        case sets.Polytope():
            return [X.A @ y <= X.b] if X.b.size else []
        case sets.Product():
            ends = np.cumsum([n for _, n in X.blocks])
            parts = [(B, y[end - n : end]) for (B, n), end in zip(X.blocks, ends)]
            return [line for B, part in parts for line in membership(B, part)]
    raise NotImplementedError(f"write the definition of {type(X).__name__} here")
