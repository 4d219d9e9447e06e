"""A learning problem at one point: functions of sums over rows as functions of the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise._array import Array, dot, like, namespace, square, to_numpy
from equipoise._problem import Point
from equipoise.rows import Sums
from equipoise.terms import CombinationPoint

# Up to this many gradients are formed one by one, by a backward pass each: forming many at once has a fixed
# cost. Chosen.
FEW_GRADIENTS = 2


@dataclass(frozen=True, eq=False)
class Penalty:
    """``l2/2 |weights|^2``, a part of the objective.

    Attributes
    ----------
    l2 : float
    penalised : ndarray of shape (d,)
        1 for a weight, 0 for an intercept.
    """

    l2: float
    penalised: np.ndarray

    def weights(self, x: Array) -> Array:
        """Return the parameters with 0 for every intercept."""
        return x * like(self.penalised, x)

    def add_product(self, weights: np.ndarray, gradient: Array, v: Array) -> Array:
        """Return a gradient or Hessian product with the penalty's Hessian times `v` added."""
        total = self.weights(v)  # changed in place: parameters can be many
        total *= self.l2 * float(weights[0])
        total += gradient
        return total

    def add_diagonal(self, weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Add the second derivatives of the penalty to a matrix or a diagonal, in place."""
        diagonal = matrix if matrix.ndim == 1 else np.einsum("ii->i", matrix)  # a view
        diagonal += self.l2 * float(weights[0]) * self.penalised
        return matrix


def learning_point(x: Array, sums: Sums, functions: CombinationPoint, penalty: Penalty) -> Point:
    """Return objective and constraints at `x`, from the sums there and from what F makes of them.

    With F' and F'' the derivatives of F, a gradient is ``pull(F' w)``, a Hessian product
    ``product(F' w, v) + pull(F''[w] push(v))``.
    """
    values, pull, bend, l2 = functions.values, functions.pull, functions.bend, penalty.l2
    if l2 > 0.0:
        values[0] += 0.5 * l2 * square(penalty.weights(x))

    def penalised(weights: np.ndarray, gradient: Array, v: Array) -> Array:
        gradient = _as(gradient, x)
        if l2 == 0.0 or weights[0] == 0.0:
            return gradient
        return penalty.add_product(weights, gradient, _as(v, x))

    def vjp(weights: np.ndarray) -> Array:
        return penalised(weights, sums.pull(pull(weights)), x)

    def jacobian(index: np.ndarray) -> Array:
        if len(index) <= FEW_GRADIENTS or not isinstance(x, np.ndarray):
            each = [vjp(np.eye(1, values.size, i)[0]) for i in index]
            return namespace(each[0]).stack(each)
        used, rows = functions.rows(index)
        found = _as(rows @ to_numpy(sums.jacobian(used)), x)
        if l2 > 0.0 and (first := np.asarray(index) == 0).any():
            found[first] += l2 * penalty.weights(x)
        return found

    def push(v: Array) -> np.ndarray:
        found = functions.push(sums.push(v))  # type: ignore[misc]
        if l2 > 0.0:
            found[0] += l2 * dot(penalty.weights(x), v)
        return found

    def hvp(weights: np.ndarray, v: Array) -> Array:
        product = sums.product(pull(weights), v)  # type: ignore[misc]
        if bend is not None:
            change = bend(weights, sums.push(v))  # type: ignore[misc]
            product = product + sums.pull(change)
        return penalised(weights, product, v)

    def curvature(weights: np.ndarray) -> np.ndarray:
        estimate = sums.curvature(pull(weights))  # type: ignore[misc]
        return penalty.add_diagonal(weights, estimate)  # how F bends is left out

    def matrix(weights: np.ndarray) -> np.ndarray:
        whole = sums.matrix(pull(weights))  # type: ignore[misc]
        return penalty.add_diagonal(weights, whole)

    return Point(
        x,
        values,
        vjp,
        hvp if sums.product is not None else None,
        curvature if sums.curvature is not None else None,
        jacobian,
        push if sums.push is not None else None,
        matrix if sums.matrix is not None and bend is None else None,
    )


def _as(gradient: Array, x: Array) -> Array:
    """Return `gradient` in the kind and dtype of `x`: the data may be of another precision."""
    if isinstance(x, np.ndarray):
        if not isinstance(gradient, np.ndarray):
            gradient = to_numpy(gradient)
        return gradient.astype(x.dtype, copy=False)
    return like(gradient, x)
