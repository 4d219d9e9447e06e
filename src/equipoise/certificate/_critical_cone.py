"""The critical cone of a KKT point, between a subspace that holds it and directions that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, like, norm, to_numpy
from equipoise._problem import Point, Problem
from equipoise.sets import Set

# A constraint or a bound is weakly active where its share in the Lagrangian's gradient is so small that it
# may as well have the multiplier 0: this part of all shares, or the least share, which are rounding, or
# some residuals. Chosen.
WEAK_SHARE, LEAST_SHARE = 1e-8, 1e-12

# Gradients of length 1 count as dependent within this; fewer independent ones make the subspace larger,
# so that nothing is claimed wrongly. Chosen.
DEPENDENT = 1e-7

# Gradients that are shorter count as 0: the squares of such numbers are not normal ones. Derived.
SHORTEST = 1e-150

# Random moves of the gradient by which weakly active parts of the domain are found: one of them stays
# unseen with probability ``2 ** -MOVES``. Chosen.
MOVES = 20

# With more variables, weakly active parts of the domain are not resolved: a matrix of that size would be
# decomposed. Chosen.
MAX_DIM_OF_PIECES = 200

# Among more active constraints, opposite ones are not looked for: a matrix of that size would be formed.
# Chosen.
MAX_ROWS_OF_PAIRS = 1000

# Rounds of projections on the parts of the cone in turn, and what may be left of their distance. Chosen.
ROUNDS, LEFT = 50, 1e-9

Projection = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class CriticalCone:
    """Directions tangent to the domain that change neither objective nor active constraints for the worse.

    Attributes
    ----------
    project : callable
        The orthogonal projection on a subspace: on the cone itself where nothing is weakly active, else on
        the space that it spans.
    holds : bool
        Whether this subspace is known to hold the cone.
    is_space : bool
        Whether the cone is this subspace: nothing is weakly active.
    project_inside : callable
        The projection on the part of it along which no weakly active constraint changes.
    """

    project: Projection
    project_inside: Projection
    holds: bool
    is_space: bool
    _domain: Set
    _point: Point
    _weak: np.ndarray  # (k, d) gradients of weakly active constraints

    @classmethod
    def at(
        cls, problem: Problem, point: Point, lam: np.ndarray, gradient: Array, doubt: float
    ) -> CriticalCone:
        """Return the cone at an evaluated point, with `gradient` of the Lagrangian.

        Shares in the gradient up to `doubt` count as 0. The larger it is, the larger is the cone.
        """
        positive = np.flatnonzero(lam > 0)
        rows = to_numpy(point.gradients(1 + positive))
        lengths = np.linalg.norm(rows, axis=1)
        shares = lam[positive] * lengths
        weak_share = _weak_share(doubt, float(shares.sum()) + norm(to_numpy(gradient)))
        strong = shares > weak_share
        held = np.zeros(lam.size, dtype=bool)
        held[positive[strong]] = True
        near = max(doubt, WEAK_SHARE)
        loose = np.flatnonzero((point.constraints >= -near) & ~held)
        on_face, holds, weak_bounds = _face(problem.domain, point, gradient, weak_share)
        weak = to_numpy(point.gradients(1 + loose))
        size = np.maximum(np.linalg.norm(weak, axis=1), SHORTEST)
        weak = weak / size[:, None]
        A = rows[strong] / lengths[strong, None]
        paired = _opposite(
            np.vstack((weak, A)),
            np.concatenate(
                (point.constraints[loose] / size, point.constraints[held] / lengths[strong])
            ),
            to_numpy(point.x),
        )[: loose.size]
        A, weak, loose = np.vstack((A, weak[paired])), weak[~paired], loose[~paired]
        return cls(
            project=_without(on_face, A),
            project_inside=_without(on_face, np.vstack((A, weak))),
            holds=holds,
            is_space=not (weak_bounds or loose.size),
            _domain=problem.domain,
            _point=point,
            _weak=weak,
        )

    def nearest(self, v: np.ndarray) -> np.ndarray | None:
        """Return a unit vector of the cone near `v`, by projections on its parts in turn; None without one.

        The parts are the subspace, the domain's tangent cone and one half-space for each weakly
        active constraint. Corrections (Dykstra's) are not needed: any direction of the cone will do.
        """
        w = v
        for _ in range(ROUNDS):
            before = w
            for g in self._weak:
                w = w - max(0.0, float(g @ w)) * g
            w = to_numpy(self._domain.tangent(self._point.x, like(w, self._point.x)))
            w = self.project(w)
            size = norm(w)
            if size <= DEPENDENT:
                return None
            if norm(w - before) <= LEFT * size:
                return w / size
        return None


def _opposite(rows: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return which rows have an opposite among them, with no room between the two.

    Along a critical direction neither function may rise, so both stay: an equality in two inequalities.
    """
    paired = np.zeros(len(rows), dtype=bool)
    if len(rows) > MAX_ROWS_OF_PAIRS:
        return paired
    first, second = np.nonzero(rows @ rows.T < DEPENDENT - 1.0)
    apart = np.linalg.norm(rows[first] + rows[second], axis=1)
    size = np.abs(values) + np.abs(rows) @ np.abs(x)
    room = -(values[first] + values[second])
    none = (apart <= LEAST_SHARE) & (room <= LEAST_SHARE * (size[first] + size[second]))
    paired[first[none]] = True
    return paired


def domain_cone(domain: Set, point: Point, gradient: Array, doubt: float) -> CriticalCone:
    """Return the critical cone of a function with this gradient on the domain, without constraints."""
    weak_share = _weak_share(doubt, norm(to_numpy(gradient)))
    on_face, holds, weak_bounds = _face(domain, point, gradient, weak_share)
    nothing = np.empty((0, point.x.shape[0]))
    return CriticalCone(on_face, on_face, holds, not weak_bounds, domain, point, nothing)


def _weak_share(doubt: float, total: float) -> float:
    """Return up to what share in the gradient a constraint or a bound is weakly active."""
    return max(doubt, WEAK_SHARE * total, LEAST_SHARE)


def _face(
    domain: Set, point: Point, gradient: Array, weak_share: float
) -> tuple[Projection, bool, bool]:
    """Return the projection on the directions that keep to the domain's active parts.

    Also whether these hold all critical directions, and whether some part is weakly active. The linear
    pieces around the gradient tell: where they differ, each frees some weakly active parts, and all of
    them together span the critical directions.
    """
    x, downhill = point.x, -gradient
    piece = domain.tangent_map(x, downhill)

    def on_face(v: np.ndarray) -> np.ndarray:
        return to_numpy(piece(like(v, x)))

    rng = np.random.default_rng(0)
    probe = rng.normal(size=x.shape[0])
    here = on_face(probe)
    others = []
    for _ in range(MOVES):
        move = weak_share * rng.choice([-1.0, 1.0], size=x.shape[0])
        other = domain.tangent_map(x, downhill + like(move, x))
        if norm(to_numpy(other(like(probe, x))) - here) > DEPENDENT * norm(probe):
            others.append(other)
    if not others:
        return on_face, True, False
    if x.shape[0] > MAX_DIM_OF_PIECES:
        return on_face, False, True
    pieces = [to_numpy(p(like(np.eye(x.shape[0]), x))) for p in (piece, *others)]
    basis = _orthonormal(np.vstack(pieces))
    return lambda v: (v @ basis.T) @ basis, True, True


def _without(on_face: Projection, rows: np.ndarray) -> Projection:
    """Return the projection on the part of a subspace that is orthogonal to these rows."""
    B = _orthonormal(on_face(rows))
    return lambda v: (w := on_face(v)) - (B @ w) @ B


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    """Return orthonormal rows with the same span, but for what counts as dependent."""
    if rows.shape[0] == 0:
        return rows
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    return basis[sizes > DEPENDENT * max(1.0, float(sizes[0]))]
