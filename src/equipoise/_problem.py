"""Problem and Point: what every method sees of what is optimised.

A problem is ``min f_0(x)  s.t.  f_i(x) <= 0 (i = 1..m),  x in domain``. A point holds the values of all
functions at one ``x`` and one callable that pulls weights back to a gradient, so a Lagrangian,
a penalty or a single switched constraint all cost one backward pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from equipoise import _check
from equipoise._array import Array, is_tensor, like, namespace, to_numpy
from equipoise._errors import NonFiniteError
from equipoise._facts import Facts
from equipoise.sets import Set

__all__ = ["Facts", "Kinks", "NonFiniteError", "Point", "Problem"]

# Gradients that are formed at a time where only their products with a vector are asked for. Chosen: enough
# for one product of matrices to be quick.
GRADIENTS_AT_ONCE = 64


@dataclass(frozen=True)
class Point:
    """All functions of a problem at one `x`, from one forward pass.

    Attributes
    ----------
    x : array of shape (d,)
    values : ndarray of shape (m + 1,)
        The objective first, then the constraints (feasible: ``<= 0``); always NumPy float64.
    vjp : callable
        Weights ``(m + 1,)`` to the weighted sum of gradients ``(d,)``; one backward pass.
    hvp : callable or None
        ``(weights, v)`` to the weighted sum of Hessians times `v`, where the functions have it.
    curvature : callable or None
        Weights to an estimate of the weighted sum of Hessians, positive semi-definite: a matrix
        (d, d), of which the lower triangle counts, or a diagonal (d,). A new array in every call. To
        precondition with, never to certify.
    jacobian : callable or None
        Indices ``(k,)`` to the gradients of these functions ``(k, d)``, where the problem has a cheaper
        way to form many of them than one backward pass each; `gradients` uses it.
    push : callable or None
        A direction (d,) to the change of every function along it, ``(m + 1,)``, NumPy float64, where the
        problem has a way that forms no gradients; `along` uses it.
    matrix : callable or None
        Weights to the weighted sum of Hessians, all of it, (d, d) in double precision, where that costs no
        more than a few products.
    """

    x: Array
    values: np.ndarray
    vjp: Callable[[np.ndarray], Array]
    hvp: Callable[[np.ndarray, Array], Array] | None = None
    curvature: Callable[[np.ndarray], np.ndarray] | None = None
    jacobian: Callable[[np.ndarray], Array] | None = None
    push: Callable[[Array], np.ndarray] | None = None
    matrix: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def objective(self) -> float:
        """The value of the objective."""
        return float(self.values[0])

    @property
    def constraints(self) -> np.ndarray:
        """The values of the constraints, shape (m,)."""
        return self.values[1:]

    @property
    def excess(self) -> float:
        """The largest constraint value ``g = max_i f_i``; -inf without constraints."""
        return float(self.values[1:].max()) if self.values.size > 1 else -np.inf

    @property
    def violation(self) -> float:
        """The largest violation ``max(0, g)``."""
        return max(0.0, self.excess)

    @property
    def worst(self) -> int:
        """The index (1..m) of the largest constraint; the lowest one on ties."""
        return 1 + int(self.values[1:].argmax())

    def gradient(self, index: int) -> Array:
        """Return the gradient of one function (0: the objective)."""
        weights = np.zeros(self.values.size)
        weights[index] = 1.0
        return self.vjp(weights)

    def gradients(self, indices: Sequence[int] | np.ndarray) -> Array:
        """Return the gradients of several functions (0: the objective), one row each, shape (k, d)."""
        if len(indices) == 0:
            return like(np.empty((0, self.x.shape[0])), self.x)
        if self.jacobian is not None:
            return self.jacobian(np.asarray(indices, dtype=np.intp))
        rows = [self.gradient(int(i)) for i in indices]
        return np.array(rows) if isinstance(rows[0], np.ndarray) else namespace(rows[0]).stack(rows)

    def along(self, v: Array, indices: np.ndarray) -> np.ndarray:
        """Return ``<grad f_i, v>`` of several functions (0: the objective), NumPy float64, shape (k,).

        However many these are, no more than 64 of their gradients are kept at a time.
        """
        if self.push is not None and len(indices) > 0:
            return self.push(v)[indices]
        pieces = np.split(indices, range(GRADIENTS_AT_ONCE, len(indices), GRADIENTS_AT_ONCE))
        return np.concatenate([to_numpy(self.gradients(piece) @ v) for piece in pieces])

    def lagrangian_gradient(self, multipliers: np.ndarray) -> Array:
        """Return ``grad f_0 + sum_i multipliers_i grad f_i`` in one backward pass."""
        return self.vjp(np.concatenate(([1.0], multipliers)))


@dataclass(frozen=True)
class Kinks:
    """A point on kinks: the gradient of ``f_i`` may have any ``share_j masses_ji jumps_j``, shares in [0, 1].

    Attributes
    ----------
    x : ndarray of shape (d,)
    jumps : ndarray of shape (K, d)
    masses : ndarray of shape (K, m + 1)
        How much of each jump every function has; none is negative.
    used : ndarray of shape (K,)
        The shares in the gradients that `Problem.at` gives at `x`.
    """

    x: np.ndarray
    jumps: np.ndarray
    masses: np.ndarray
    used: np.ndarray


@dataclass(frozen=True)
class Saddle:
    """The min-max form of a problem, for methods that never form what is minimised and maximised over.

    ``f_i(w)`` is the minimum over auxiliary variables `z` and the maximum over `alpha` of ``offsets_i + sum_j
    (F_j(x) + alpha_j G_j(x) - bowl alpha_j^2)``, over all j with ``blocks_j = i``; ``x = (w, z)``.

    Attributes
    ----------
    functions : Problem
        Its values are ``(F_1, .., F_J, G_1, .., G_J)`` at x, and its domain is that of x. Its `sample` draws
        unbiased estimates.
    blocks : integer array of shape (J,)
    offsets : ndarray of shape (m + 1,)
    bowl : float
    interval : float
        Every ``|alpha_j|`` is at most this.
    lift : callable
        `w` to ``(w, z)``, with the `z` that is minimised over.
    rho_hat : float
        ``rho_hat/2 |w - center|^2`` is added to every function.
    center : array of shape (d,) or None
    """

    functions: Problem
    blocks: np.ndarray
    offsets: np.ndarray
    bowl: float
    interval: float
    lift: Callable[[np.ndarray], np.ndarray]
    rho_hat: float = 0.0
    center: np.ndarray | None = None


class Problem(ABC):
    """``min f_0(x)  s.t.  f_i(x) <= 0, x in domain``.

    A concrete problem sets the attributes below and implements `at`; a stochastic one also
    `sample`. Counting, and watching for NaN, is done by `solve`.
    """

    dim: int
    n_constraints: int
    domain: Set
    names: tuple[str, ...]  # of the constraints, for messages
    facts: Facts = Facts()
    sketched: bool = False  # whether its points estimate their `curvature`
    bound: np.ndarray | None = None  # where constraint i is |c_i| - bound_i: the bounds
    start: np.ndarray | None = None  # where a run starts if it is not told; by default at 0
    solved_on_host: bool = (
        False  # also from a tensor: points are small beside the data, which stay on a device
    )

    @abstractmethod
    def at(self, x: Array) -> Point:
        """Evaluate every function at `x`."""

    def sample(self, rng: np.random.Generator) -> Problem:
        """Return a mini-batch, itself a problem; a deterministic problem returns itself."""
        return self

    @final
    @property
    def stochastic(self) -> bool:
        """Whether `sample` draws mini-batches: the facts say so, or one is drawn to see."""
        return self.facts.stochastic or self.sample(np.random.default_rng(0)) is not self

    def true_values(self, point: Point) -> np.ndarray:
        """Return the constraints that are meant, (m,), at an evaluated point: themselves by default.

        A problem whose constraints are surrogates returns what they stand for.
        """
        return point.constraints

    def smoothed(self, width: float) -> Problem | None:
        """Return smooth functions within `width` of these; None if none are known.

        A smooth problem returns itself.
        """
        return self if self.facts.smooth else None

    def kinks(self, x: np.ndarray, width: float) -> Kinks | None:
        """Return the nearest point on all kinks that are about `width` from `x`; None if unknown."""
        return None

    def saddle(self) -> Saddle | None:
        """Return the problem's min-max form; None if it has none."""
        return None

    @final
    def _argument(self, x: Array) -> Array:
        """Return `x` if it is a floating-point vector of the right length, else what it stands for."""
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.shape == (self.dim,):
            return x
        if is_tensor(x) and tuple(x.shape) == (self.dim,) and x.is_floating_point():
            return x  # a tensor stays on its device
        return _check.point(type(self).__name__, "x", x, self.dim)

    @final
    def label(self, i: int) -> str:
        """Return what messages call function `i`: 0 is the objective, 1..m the constraints."""
        return "the objective" if i == 0 else f"constraint {i} ({self.names[i - 1]!r})"
