"""Second order: the least curvature of a Lagrangian on the critical cone.

A critical direction is tangent to the domain and to the constraints with positive multipliers; the other
active ones may fall along it. A KKT point at which the Lagrangian bends down along such a direction is
a saddle or a maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from equipoise._array import Array, like, norm, square, to_numpy
from equipoise._problem import Point, Problem
from equipoise.certificate._critical_cone import CriticalCone, domain_cone
from equipoise.certificate._curvature_bounds import NO_DIRECTION, NOWHERE_NEGATIVE, Curvature
from equipoise.certificate._lanczos import (
    LeastCurvature,
    ProductWithError,
    least_curvature,
    least_products,
)
from equipoise.certificate._products import HessianProducts
from equipoise.certificate._secants import secant_curvature

# Products at the most. A critical cone of no more dimensions is looked at completely. Chosen.
MAX_PRODUCTS = 50

# Of multipliers and of the domain's normal, as many residuals are in doubt where non-negative curvature is
# claimed. Where negative curvature is, only one: a direction along which the objective rises faster is
# not critical. Chosen.
DOUBTED_RESIDUALS = 10.0


def curvature_at(
    problem: Problem,
    point: Point,
    multipliers: np.ndarray,
    residual: float,
    *,
    most: int = MAX_PRODUCTS,
    earlier: Sequence[Point] = (),
    seed: int = 0,
) -> Curvature | None:
    """Return the least curvature at an evaluated KKT point.

    None where the functions have kinks, and where `most` products cannot tell anything: they are too few for
    a bound on what they miss, and the cone has more dimensions.

    Parameters
    ----------
    problem : Problem
    point : Point
    multipliers : ndarray of shape (m,)
    residual : float
        The KKT residual there: multipliers are known no better.
    most : int
        Hessian products at the most; each is one evaluation where the problem has none, and three
        where the sign is not clear.
    earlier : sequence of Point
        Evaluated points. No more are evaluated where these show that the curvature is positive.
    seed : int
        Of the random vector that the search starts from.
    """
    if problem.facts.smooth is False:
        return None
    if problem.facts.convex:
        return NOWHERE_NEGATIVE
    weights = np.concatenate(([1.0], multipliers))
    gradient = point.vjp(weights)
    if most < least_products(problem.dim) and most < _least_dimension(problem, point, gradient):
        return None

    def cone(doubt: float) -> CriticalCone:
        return CriticalCone.at(problem, point, multipliers, gradient, doubt)

    outer = cone(DOUBTED_RESIDUALS * residual)
    bend, rounding = _bending(problem, point, gradient), problem.facts.rounding
    shown = secant_curvature(point, weights, outer.project, bend, earlier, rounding)
    if shown is not None:
        return _on_cone(shown, outer, exact=False)
    for central in (False, True):
        products = HessianProducts(problem, point, weights, central)
        product = _bent(products, problem, point, gradient)
        found = least_curvature(product, outer.project, problem.dim, most, seed=seed)
        needed = found.error if found.missing == 0.0 else 0.0  # a part of the space proves nothing
        if products.exact or found.value > needed:
            break  # rough differences suffice, as they do at most minima
    added = multipliers.any() or bend.any()
    if added and found.value - found.error <= 0.0:  # what is added may be inexact
        found = _doubted(
            found, HessianProducts(problem, point, _one(weights.size)), point, residual
        )
    bounds = _on_cone(found, outer, products.exact)
    if bounds is None or outer.is_space or not bounds.negative:
        return bounds
    return _within(bounds, cone(residual), product, seed)


def violation_curvature(problem: Problem, point: Point) -> Curvature | None:
    """Return the least curvature of ``sum_i [f_i]_+^2 / 2`` at a point that is stationary for it.

    Where it is negative, the violation can be lowered from there.
    """
    if problem.facts.smooth is False:
        return None
    if problem.facts.convex_constraints or problem.facts.convex:
        return NOWHERE_NEGATIVE
    over = np.maximum(point.constraints, 0.0)
    weights = np.concatenate(([0.0], over))
    gradient = point.vjp(weights)
    residual = problem.domain.normal_distance(point.x, -gradient)

    def cone(doubt: float) -> CriticalCone:
        return domain_cone(problem.domain, point, gradient, doubt)

    products = HessianProducts(problem, point, weights)
    bent = _bent(products, problem, point, gradient)
    rows = to_numpy(point.gradients(1 + np.flatnonzero(over > 0)))

    def product(v: np.ndarray) -> tuple[np.ndarray, float]:
        z, error = bent(v)
        return z + (rows @ v) @ rows, error

    outer = cone(DOUBTED_RESIDUALS * residual)
    found = least_curvature(product, outer.project, problem.dim, MAX_PRODUCTS)
    bounds = _on_cone(found, outer, products.exact)
    if bounds is None or outer.is_space or not bounds.negative:
        return bounds
    return _within(bounds, cone(residual), product)


def _least_dimension(problem: Problem, point: Point, gradient: Array) -> float:
    """Estimate how many dimensions the critical cone has at the least.

    The squared length of a projected normal vector has the dimension of the subspace as its mean.
    """
    probe = like(np.random.default_rng(0).normal(size=problem.dim), point.x)
    return square(problem.domain.tangent_map(point.x, -gradient)(probe)) - problem.n_constraints


def _bent(
    products: HessianProducts, problem: Problem, point: Point, gradient: Array
) -> ProductWithError:
    """Return products that count how the domain's boundary bends."""
    bend = _bending(problem, point, gradient)

    def product(v: np.ndarray) -> tuple[np.ndarray, float]:
        z, error = products(v)
        return z + bend * v, error

    return product


def _bending(problem: Problem, point: Point, gradient: Array) -> np.ndarray:
    return to_numpy(problem.domain.bending(point.x, -gradient) + 0.0 * point.x)


def _doubted(
    found: LeastCurvature, of_objective: HessianProducts, point: Point, residual: float
) -> LeastCurvature:
    """Count the error of the multipliers, and compare with the parts that the curvature consists of.

    Multipliers and the normal of the domain balance the objective's gradient but for the residual, so
    relative to it they are wrong by that share, and so is the curvature that they add.
    """
    v = found.direction
    assert v is not None  # its curvature is finite
    own = float(v @ of_objective(v)[0])
    added = abs(found.value - own)
    slope = norm(to_numpy(point.gradient(0)))
    doubt = added * min(1.0, DOUBTED_RESIDUALS * residual / slope) if slope > 0.0 else 0.0
    largest = max(found.largest, abs(own), added)
    return replace(found, error=found.error + doubt, largest=largest)


def _on_cone(found: LeastCurvature, cone: CriticalCone, exact: bool) -> Curvature | None:
    """Turn what was found on the subspace around the cone into bounds; None where nothing was."""
    if found.direction is None:
        return NO_DIRECTION if cone.holds and not math.isnan(found.value) else None
    lower = float(found.value - found.error - found.missing) if cone.holds else -math.inf
    upper, along = float(found.value + found.error), float(found.value)
    by_part = found.missing > 0.0 and upper >= 0.0  # one direction that bends down is proof enough
    worth = "in probability" if by_part else "proved" if exact else "by differences"
    return Curvature(lower, upper, found.largest, found.direction, along, worth)


def _within(
    bounds: Curvature, cone: CriticalCone, product: ProductWithError, seed: int = 0
) -> Curvature:
    """Look for a direction of the cone itself that bends down, where the subspace around it has one.

    Those tried are the nearest ones to what bends the least on the subspace around the cone, and on the
    one inside.
    """
    assert bounds.direction is not None
    error = bounds.upper - bounds.along
    inside = least_curvature(
        product, cone.project_inside, bounds.direction.size, MAX_PRODUCTS, seed=seed
    )
    best = replace(bounds, upper=math.inf)
    for v in (bounds.direction, inside.direction):
        for w in () if v is None else map(cone.nearest, (v, -v)):
            if w is not None:
                z, own_error = product(w)
                along = float(w @ z)
                upper = along + max(error, own_error)
                if upper < min(0.0, best.upper):
                    best = replace(bounds, upper=upper, direction=w, along=along)
    return best


def _one(size: int) -> np.ndarray:
    """Return the weights of the objective alone."""
    return np.eye(1, size)[0]
